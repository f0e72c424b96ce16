"""What solvers are asked about the machine: induction for any size, bounded search, two runs side by side."""
