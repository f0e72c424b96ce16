"""Test YOUR implementation against the machine: adapters, stateful tests, test vectors, a pytest plugin."""
