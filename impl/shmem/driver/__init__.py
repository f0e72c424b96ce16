"""The driver: the control plane.  It owns memory, mappings, rights, compaction and liveness.

It runs as a thread of the host process by default, and as a daemon (`shmem driver --socket PATH`) for several
host processes.  The data plane never talks to it.
"""
