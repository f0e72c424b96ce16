"""The words of the language and the limits of a file: plain data, used by messages and checks alike."""

from __future__ import annotations

HEAD = ("litmus", "platform", "pool", "slot", "mortal", "region", "init", "team")
QUESTION = ("ask", "expect")
CONTROL = ("if", "else", "repeat", "until", "assert")
ATOMICS = ("atomic_add", "atomic_swap", "compare_swap")
STATEMENTS = (
    *("flush", "invalidate", "fence"),
    *("send", "send_batch", "broadcast", "wait", "wait_any", "poll", "clear"),
    *("global_barrier", "arrive", "leave", "barrier"),
    *("map", "unmap", "shootdown", "alloc", "free", "compact", "die", "copy", "copy_wait"),
)
RESERVED = frozenset((*HEAD, *QUESTION, *CONTROL, *ATOMICS, *STATEMENTS, "and", "or", "not"))

PROFILES = ("weakest", "pcie", "soc", "coherent")
OPTIONS = {
    "write_back": ("line", "masked"),
    "invalidate": ("discard", "write_back", "either"),
    "slots": ("sticky", "counting"),
    "multicast": ("yes", "no"),
    "cached": ("all", "none"),
}
RIGHTS = ("r", "rw")
ANSWERS = {
    "allowed": "outcome",
    "forbidden": "outcome",
    "race": "race",
    "race-free": "race",
    "deadlock": "deadlock",
    "no-deadlock": "deadlock",
    "fault": "fault",
    "no-fault": "fault",
}

ALIASES = {
    "while": "write a loop as 'until r0 == 1:'",
    "for": "write a loop as 'repeat 3:'",
    "loop": "write a loop as 'repeat 3:'",
    "elif": "write 'else:' with an 'if' inside",
    "pass": "leave the block out: agents that the head names exist without one",
    "read": "write a read as 'r0 = x[0]'",
    "load": "write a read as 'r0 = x[0]'",
    "write": "write a write as 'x[0] = 1'",
    "store": "write a write as 'x[0] = 1'",
    "notify": "notify with 'send dev0 7'",
    "signal": "notify with 'send dev0 7'",
    "await": "wait for a notification with 'wait 7'",
    "clean": "write lines back with 'flush x'",
    "exists": "a question is 'ask dev0.r0 == 0' and 'expect allowed'",
    "forall": "a question is 'ask not (...)' and 'expect forbidden'",
    **{word: f"its result needs a register: 'r0 = {word} x[0] 1'" for word in ATOMICS},
}

# A litmus test is one small protocol: the limits are far above any real one and keep every answer quick.
MAX_BYTES = 256 * 1024
MAX_LINES = 5000
MAX_COLUMNS = 1000
MAX_INDENTS = 16
MAX_EXPRESSION_DEPTH = 40
MAX_NAME = 64
MAX_TITLE = 120
MAX_VALUE = 65535
MAX_LINES_OF_REGION = 64
MAX_WORDS_OF_LINE = 64
MAX_WORDS = 4096
MAX_POOL = 64
MAX_REPEAT = 100
MAX_AGENTS = 16
MAX_STEPS = 2000
