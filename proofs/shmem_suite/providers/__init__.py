"""Providers: each turns the entries of one manifest file into checks, and names what must be covered.

A provider `NAME` is a module with `checks(entries, pins)` and `universe()`; it is found by the name of its
manifest file, `manifest/NAME.json`.  The functions that its tasks call run in other processes, so they take
plain arguments.
"""
