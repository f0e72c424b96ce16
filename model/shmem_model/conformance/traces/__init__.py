"""Traces: what a running system did, checked by custody in one pass.

`events` reads the lines and says which are malformed; `columns` makes rows of numbers of them; `streams` brings the
agents' events into an order that their edges allow, and asks `custody`, the monitor with vector clocks, of each; both
work on the `tables`, which `state` keeps in memory; `checker` tells in words what was found.  `compiled` runs the same
text through numba for long traces, whose lines `scan` reads.
"""

from shmem_model.conformance.traces.checker import Answer, check_file, check_lines

__all__ = ["Answer", "check_file", "check_lines"]
