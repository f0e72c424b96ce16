"""The verification suite: it asks every question about the machine and tells whether the answers are as
expected.

Read `checks` first (what a question and an answer are), then `manifest` (which questions there are: data),
then `runner` (how they are asked in parallel).  `cli` is the command `shmem`.
"""
