"""The specification: the machine, its readers, litmus files, checks. Needs NumPy only; never a solver."""
