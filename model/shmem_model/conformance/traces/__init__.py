"""Traces: what a running system did, checked by custody in one pass.

`events` reads the lines and says which are malformed, `custody` is the monitor with vector clocks, `checker` brings
the agents' streams into an order that their edges allow and tells what was found.
"""

from shmem_model.conformance.traces.checker import Answer, check_file, check_lines

__all__ = ["Answer", "check_file", "check_lines"]
