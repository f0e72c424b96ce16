"""Emulated memory: every agent has a private cache in front of the shared memory, and hardware does what it
may.

The same programs run here as on coherent memory; a missing flush or invalidate fails here, and replays from
its seed. One agent runs at a time and the agent changes only inside calls, so a run is a function of program
and seed, whether the agents are threads or processes.  `hardware` commands every hazard, `turns` decides who
goes on.
"""
