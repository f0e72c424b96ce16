"""Are the tests any good?  Bugs planted into the reference implementation, one at a time, that must be found.

`curated/*.toml` holds mistakes that people make in such code.  A bug is data: a file of `impl/shmem/`, a piece of text
that stands there exactly once, and what a tired engineer might have written instead.  `planting` makes a copy of the
implementation with one bug in it; `finding` lets the lock-step test loose on the copy, in a process of its own.
"""
