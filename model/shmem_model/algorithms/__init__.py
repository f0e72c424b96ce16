"""The implementation's own algorithms, at the level of atomic steps."""
