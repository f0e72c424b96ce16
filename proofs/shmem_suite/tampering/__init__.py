"""The trace checker against an independent judge, on recorded runs that have been tampered with.

`record` makes the runs, `tamper` changes them in four ways, `judge` searches the machine for every order in which a
changed trace could have happened, `compare` holds the two answers against each other.
"""
