"""T9, placement: the allocator's own code, run on all inputs at once.

`numbers` and `runs` let code run on terms, `rounding` proves what they take for granted, `laws` says what must be
true of a call, `whole` compares long runs with an account of its own, `twins` are wrong allocators, and `cases` asks.
"""
