"""Malformed litmus texts as data: where the caret must stand (`¦` in the text) and what must be said."""

from __future__ import annotations

from dataclasses import dataclass

MARK = "¦"
HEAD = """litmus t
platform weakest
region x: 2 lines of 2 words, broadcast host dev0
team g {host dev0}
"""
TAIL = """dev0:
    wait 7
    r0 = x[0]
ask dev0.r0 == 0
expect allowed
"""


@dataclass(frozen=True)
class Malformed:
    """A text with one mark, and a part of the message (with the hint) that it must get."""

    name: str
    marked: str
    fragment: str

    @property
    def text(self) -> str:
        """Without the mark."""
        return self.marked.replace(MARK, "")

    @property
    def place(self) -> tuple[int, int]:
        """Line and column of the mark, from 1."""
        before = self.marked[: self.marked.index(MARK)]
        return before.count("\n") + 1, len(before) - before.rfind("\n")


def head(line: str) -> str:
    """A file with an extra declaration."""
    return f"{HEAD}{line}\nhost:\n    send dev0 7\n{TAIL}"


def body(statements: str) -> str:
    """A file in which `host` does this."""
    return f"{HEAD}host:\n    {statements}\n{TAIL}"


def tail(questions: str) -> str:
    """A file with these questions instead."""
    return f"{HEAD}host:\n    send dev0 7\n{TAIL.split('ask')[0]}{questions}"


DEEP = "".join("    " * depth + ("¦" if depth == 16 else "") + "repeat 1:\n" for depth in range(1, 21))

HEADS = [
    ("platform unknown", "platform ¦weekest", "unknown platform 'weekest'; did you mean 'weakest'?"),
    ("platform twice", "¦platform soc", "the platform is declared twice"),
    ("pool twice", "pool 1 line\n¦pool 2 lines", "the pool is declared twice"),
    ("pool of nothing", "pool ¦0 lines", "0 is out of range; use a number from 1 to 64"),
    ("pool without unit", "pool 2¦", "the line ends too early; expected 'line' or 'lines'"),
    (
        "region twice",
        "region ¦x: 1 line of 1 word, exclusive host",
        "region 'x' is declared twice; the first is in line 3",
    ),
    (
        "agent named like a region",
        "region z: 1 line of 1 word, exclusive ¦z",
        "'z' names an agent, but is the name of a",
    ),
    ("region without lines", "region y: ¦0 lines of 1 word, exclusive host", "0 is out of range"),
    ("region too large", "region y: 1 line of ¦65 words, exclusive host", "use a number from 1 to 64"),
    (
        "region with a huge number",
        f"region y: ¦{'9' * 400} lines of 1 word, exclusive host",
        "99... is out of range",
    ),
    (
        "too much memory",
        "region y: 64 lines of 63 words, exclusive host\nregion ¦z: 1 line of 64 words, exclusive host",
        "with region 'z' there are 4100 words of memory; the limit is 4096",
    ),
    ("region without sharing", "region y: 1 line of 1 word¦", "the line ends too early; expected ','"),
    ("region of unknown sharing", "region y: 1 line of 1 word, ¦shared host", "unexpected 'shared'"),
    (
        "region exclusive to two",
        "region y: 1 line of 1 word, exclusive host ¦dev0",
        "unexpected 'dev0'; expected end of line",
    ),
    (
        "region for an agent twice",
        "region y: 1 line of 1 word, broadcast host ¦host",
        "agent 'host' is named twice",
    ),
    (
        "right unknown",
        "region y: 1 line of 1 word, rights host rw dev0 ¦w",
        "unknown right 'w'; a right is r or rw",
    ),
    (
        "right missing",
        "region y: 1 line of 1 word, rights host rw dev0¦",
        "the line ends too early; expected a name",
    ),
    ("right twice", "region y: 1 line of 1 word, rights host rw ¦host r", "agent 'host' is named twice"),
    ("region reserved", "region ¦flush: 1 line of 1 word, exclusive host", "'flush' is a reserved word"),
    ("declaration unknown", "¦regoin y: 1 line of 1 word, exclusive host", "did you mean 'region'?"),
    (
        "init of unknown region",
        "init ¦xx[0] = 1",
        "region 'xx' is not declared in the head; did you mean 'x'?",
    ),
    ("init outside", "init x[¦4] = 1", "word 4 lies outside region 'x'; it has the words 0..3"),
    ("init negative", "init x[0] = ¦-1", "negative numbers are not allowed"),
    ("init twice", "init x[0] = 1\n¦init x[0] = 1", "'x[0]' has two start values"),
    ("init of a large value", "init x[0] = ¦65536", "65536 is out of range; use a number from 0 to 65535"),
    ("team twice", "team ¦g {host}", "team 'g' is declared twice"),
    ("team like a region", "team ¦x {host}", "'x' names a team, but is the name of a region already"),
    ("team with a member twice", "team h {host ¦host}", "agent 'host' is named twice"),
    ("team empty", "team h {¦}", "unexpected '}'; expected a name"),
    ("team open", "team h {host dev0¦", "the line ends too early"),
    ("slot twice", "slot dev0 7 from host\nslot dev0 ¦7 from dev0", "slot 7 of 'dev0' is declared twice"),
    ("slot from nobody", "slot dev0 7¦", "the line ends too early; expected 'from'"),
    ("mortal unknown", "mortal ¦dev9", "agent 'dev9' is not declared; did you mean 'dev0'?"),
    ("mortal twice", "mortal dev0\nmortal ¦dev0", "agent 'dev0' is named twice"),
    ("name twice", "¦litmus again", "a second 'litmus' line"),
    ("statement outside a block", "¦send dev0 7", "'send' outside an agent block; indent it under 'dev0:'"),
    ("write outside a block", "¦x[0] = 1", "a statement outside an agent block"),
    ("indented head", "¦    mortal dev0".replace("¦    ", "    ¦"), "unexpected indentation"),
    (
        "question before blocks",
        "ask dev0.r0 == 0\nexpect allowed\n¦host2:\n    fence",
        "an agent block after a question",
    ),
]
PLATFORMS = [
    ("option unknown", "with ¦writeback=line", "did you mean 'write_back'?"),
    ("value unknown", "with write_back=¦lines", "unknown value 'lines' of option 'write_back'"),
    ("option twice", "with slots=sticky, ¦slots=counting", "option 'slots' is given twice"),
    ("option without value", "with slots¦", "the line ends too early; expected '='"),
    ("set for an option", "with ¦slots={host}", "option 'slots' takes no set"),
    (
        "cached unknown agent",
        "with cached={host ¦dve0}",
        "agent 'dve0' is not declared; did you mean 'dev0'?",
    ),
    ("with nothing", "with¦", "the line ends too early; expected a name"),
]
BODIES = [
    ("statement unknown", "¦flsh x", "unknown statement 'flsh'; did you mean 'flush'?"),
    ("statement unknown alone", "¦fense", "unknown statement 'fense'; did you mean 'fence'?"),
    (
        "statement of another language",
        "¦while r0 == 1:",
        "unknown statement 'while'; write a loop as 'until r0 == 1:'",
    ),
    ("statement in capitals", "¦FLUSH x", "did you mean 'flush'?"),
    ("store as a word", "¦store x 1", "write a write as 'x[0] = 1'"),
    ("send to nobody", "send ¦dev1 7", "agent 'dev1' is not declared; did you mean 'dev0'?"),
    ("send without slot", "send dev0¦", "the line ends too early; expected a name or a number"),
    ("send to a slot that is a register", "r1 = 7; send dev0 ¦r1", "'r1' is a register, not a slot"),
    ("broadcast to nobody", "broadcast {dev0 ¦dev1} 7", "agent 'dev1' is not declared"),
    ("broadcast without braces", "broadcast ¦dev0 7", "unexpected 'dev0'; expected '{'"),
    ("batch with a slot twice", "send_batch dev0 7 ¦7", "slot 7 is named twice"),
    ("mixed slots", "wait_any r1 7 ¦ready", "numbers and names of slots are mixed"),
    ("region unknown", "flush ¦xx", "region 'xx' is not declared; did you mean 'x'?"),
    ("range outside", "flush x[2..¦4]", "word 4 lies outside region 'x'; it has the words 0..3"),
    ("range reversed", "flush x[¦3..1]", "the range 3..1 runs backwards; write 1..3"),
    ("range of another language", "flush x[0¦:1]", "a range is written x[0..3]"),
    ("range by register", "flush x[¦r0]", "unexpected 'r0'; expected a number"),
    ("range open", "flush x[0..1¦", "the line ends too early; expected ']'"),
    ("word outside", "x[¦4] = 1", "word 4 lies outside region 'x'"),
    ("word read outside", "r0 = x[¦99]", "word 99 lies outside region 'x'"),
    ("atomic outside", "r0 = atomic_add x[¦4] 1", "word 4 lies outside region 'x'"),
    ("index negative", "x[¦-1] = 1", "negative numbers are not allowed"),
    ("index computed", "x[¦r0 + 1] = 1", "an index is a number or a register"),
    ("value negative", "x[0] = ¦-1", "negative numbers are not allowed; numbers are 0..65535"),
    ("value huge", f"x[0] = ¦{'1' * 900}", "is out of range"),
    ("number with letters", "x[0] = ¦7up", "bad number '7up'"),
    ("memory to memory", "x[0] = ¦x[1]", "memory cannot be read here; read it first: r0 = x[1]"),
    ("memory in arithmetic", "r0 = 1 + ¦x[1]", "memory cannot be read here"),
    (
        "memory by register in arithmetic",
        "r0 = 1 + ¦x[r1]",
        "memory at an index in a register cannot stand here",
    ),
    ("memory in a condition", "if ¦x[0] == 1: fence", "memory cannot be read here"),
    ("register of another agent", "r0 = ¦dev0.r0", "an agent sees its own registers only"),
    ("region as register", "¦x = 1", "'x' is a region, not a register; name a word: x[0]"),
    ("region in an expression", "r0 = ¦x + 1", "'x' is a region, not a register"),
    ("agent as register", "¦dev0 = 1", "'dev0' is an agent, not a register"),
    ("team as register", "r0 = ¦g", "'g' is a team, not a register"),
    ("reserved register", "¦wait = 1", "'wait' is a reserved word"),
    ("reserved in an expression", "r0 = 1 + ¦fence", "'fence' is a reserved word"),
    ("condition as a number", "x[0] = (¦r0 == 1)", "a number is needed here, this is a condition"),
    ("number as a condition", "assert ¦r0", "a condition is needed here, this is a number"),
    ("comparison with =", "if r0 ¦= 1: fence", "'=' compares nothing; write '=='"),
    ("comparison chained", "assert 1 < r0 ¦< 3", "compare two numbers at a time"),
    ("operator of another language", "assert r0 == 1 ¦&& r1 == 1", "unexpected character '&'; write 'and'"),
    ("comment of another language", "fence ¦// done", "a comment starts with '#'"),
    ("assert of nothing", "assert¦", "the line ends too early"),
    ("leave of an unknown team", "leave ¦h", "team 'h' is not declared; known teams: g"),
    ("barrier on an unknown region", "barrier g ¦y", "region 'y' is not declared"),
    ("barrier on a region twice", "barrier g x ¦x", "region 'x' is named twice"),
    ("barrier without team", "barrier¦", "the line ends too early; expected a name"),
    ("global barrier with a stranger", "global_barrier x {dev0 ¦dev2}", "agent 'dev2' is not declared"),
    ("atomic without register", "¦atomic_add x[0] 1", "its result needs a register"),
    ("compare_swap without new", "r0 = compare_swap x[0] 1¦", "the line ends too early"),
    ("alloc of a known name", "alloc ¦x: 1 line of 1 word, exclusive host", "region 'x' is declared twice"),
    ("alloc for a stranger", "alloc y: 1 line of 1 word, exclusive ¦dev5", "agent 'dev5' is not declared"),
    ("shootdown of nobody", "shootdown x¦", "the line ends too early; expected a name"),
    ("unmap for a stranger", "unmap x ¦dev5", "agent 'dev5' is not declared"),
    ("copy of unequal ranges", "copy c x[0..1] ¦x[2..2]", "a copy of 2 words to 1 words"),
    ("copy_wait for no copy", "copy_wait ¦c", "agent 'host' starts no copy 'c'"),
    ("fence of something", "fence ¦x", "unexpected 'x'; expected ';' or end of line"),
    ("else alone", "fence\n    ¦else: fence", "'else' without an 'if' above it"),
    ("block missing", "if r0 == 1:¦", "an indented block is missing here"),
    ("block in one line", "repeat 2: ¦repeat 2: fence", "'repeat' behind ':' or ';' on the same line"),
    ("repeat of nothing", "repeat ¦0: fence", "0 is out of range; use a number from 1 to 100"),
    ("repeat too often", "repeat ¦101: fence", "101 is out of range"),
    (
        "repeat multiplied",
        "¦repeat 100:\n        repeat 100: fence",
        "takes 10101 statements; the limit is 2000",
    ),
    ("colon missing", "if r0 == 1¦\n        fence", "the line ends too early"),
    ("indentation in excess", "fence\n        ¦fence", "unexpected indentation"),
    (
        "indentation between",
        "if r0 == 1:\n            fence\n       ¦ fence".replace("¦ ", " ¦"),
        "this indentation matches no block",
    ),
    ("tabs and spaces", "fence\n¦\tfence", "tabs and spaces are mixed in the indentation"),
    ("nested too deep", "fence\n" + DEEP + "    fence", "nested too deep; the limit is 16"),
    ("expression too deep", "assert " + "not " * 40 + "¦not r0 == 1", "nested too deep"),
    ("question in a block", "fence\n    ¦ask dev0.r0 == 0", "'ask' inside a block"),
    ("block in a block", "fence\n    ¦dev1:\n    fence", "'dev1:' inside a block"),
    ("character not ASCII", "x[0] ¦＝ 1", "unexpected character '＝' U+FF1D (FULLWIDTH EQUALS SIGN)"),
    ("space not ASCII", "x[0]¦\u00a0= 1", "unexpected character U+00A0 (NO-BREAK SPACE)"),
    ("control character", "fence ¦\x1b[31m", "unexpected character U+001B"),
    ("line too long", "x[0] = 1 " + " " * 987 + "¦  ; fence", "the limit is 1000"),
    ("name too long", f"¦{'r' * 65} = 1", "a name of 65 characters; the limit is 64"),
    (
        "two statements without separator",
        "fence ¦send dev0 7",
        "unexpected 'send'; expected ';' or end of line",
    ),
    ("drop in the wrong place", "flush drop ¦x", "unexpected 'x'"),
    ("pipe through", "assert r0 == 1 ¦| r1 == 1", "write 'or'"),
    ("quotes", 'send ¦"dev0" 7', "names and values need no quotes"),
]
QUESTIONS = [
    ("no question", "¦", "no question"),
    ("ask without expect", "¦ask dev0.r0 == 0", "this 'ask' has no answer"),
    ("ask with race only", "¦ask dev0.r0 == 0\nexpect race", "this 'ask' has no answer"),
    (
        "expect without ask",
        "expect ¦allowed".replace("expect ¦", "¦expect "),
        "'expect allowed' without 'ask'",
    ),
    (
        "expect unknown",
        "ask dev0.r0 == 0\nexpect ¦alowed",
        "unknown answer 'alowed'; did you mean 'allowed'?",
    ),
    ("expect nothing", "ask dev0.r0 == 0\nexpect¦", "the line ends too early; expected an answer"),
    ("two answers", "ask dev0.r0 == 0\nexpect allowed\n¦expect forbidden", "this 'ask' has two answers"),
    ("race and race-free", "expect race\n¦expect race-free", "'race-free' is expected here, 'race' above"),
    ("race twice", "expect race\n¦expect race", "'race' is expected here, 'race' above"),
    ("race behind a condition", "ask dev0.r0 == 0 ¦expect race", "'race' answers no condition"),
    (
        "register never set",
        "ask dev0.¦r1 == 0\nexpect allowed",
        "never sets a register 'r1'; did you mean 'r0'?",
    ),
    ("agent never sets any", "ask host.¦r0 == 0\nexpect allowed", "agent 'host' never sets a register 'r0'"),
    ("register of nobody", "ask ¦r0 == 0\nexpect allowed", "'r0' is a register of nobody; write dev0.r0"),
    (
        "agent unknown",
        "ask ¦dev1.r0 == 0\nexpect allowed",
        "agent 'dev1' is not declared; did you mean 'dev0'?",
    ),
    ("memory unknown", "ask ¦y[0] == 0\nexpect allowed", "region 'y' is not declared"),
    ("memory outside", "ask ¦x[4] == 0\nexpect allowed", "word 4 lies outside region 'x'"),
    (
        "memory without word",
        "ask ¦x == 0\nexpect allowed",
        "'x' is a region, not a register; name a word: x[0]",
    ),
    ("memory of an agent", "ask dev0.x¦[0] == 0\nexpect allowed", "memory belongs to no agent"),
    ("parenthesis open", "ask (dev0.r0 == 0¦\nexpect allowed", "the line ends too early"),
    ("parenthesis closed", "ask dev0.r0 == 0¦)\nexpect allowed", "unexpected ')'"),
    ("condition missing", "ask¦\nexpect allowed", "the line ends too early"),
    ("only a register", "ask ¦dev0.r0\nexpect allowed", "a condition is needed here, this is a number"),
    ("and without right side", "ask dev0.r0 == 0 and¦\nexpect allowed", "the line ends too early"),
    (
        "declaration at the end",
        "ask dev0.r0 == 0\nexpect allowed\n¦mortal dev0",
        "a declaration after a question",
    ),
]
FILES = [
    ("empty", "¦", "the file is empty"),
    ("only comments", "¦# nothing\n\n   # here\n", "the file is empty"),
    (
        "no name",
        "¦region x: 1 line of 1 word, exclusive host\nhost:\n    fence\nexpect race\n",
        "the file has no name",
    ),
    ("name empty", "litmus¦\nhost:\n    fence\nexpect race\n", "the line ends too early; expected a name"),
    ("name of two words", "litmus two ¦words\n", "unexpected 'words'; expected end of line"),
    ("name too long", f"litmus ¦{'a' * 121}\n", "a name of 121 characters"),
    ("no block", f"{HEAD}expect race¦", "no agent block"),
    ("only a name", "litmus t¦", "no agent block"),
    (
        "block twice",
        f"{HEAD}host:\n    fence\n¦host:\n    fence\nexpect race\n",
        "has two blocks; the first is in line 5",
    ),
    ("block empty", f"{HEAD}host:¦\ndev0:\n    fence\nexpect race\n", "an indented block is missing here"),
    ("block of a reserved name", f"{HEAD}¦free:\n    fence\nexpect race\n", "'free' is a reserved word"),
    (
        "block like a region",
        f"{HEAD}¦x:\n    fence\nexpect race\n",
        "'x' names an agent, but is the name of a region already",
    ),
    ("indented first line", "¦  litmus t\nhost:\n    fence\nexpect race\n", "unexpected indentation"),
    ("a NUL", "litmus t\nho¦\0st:\n", "NUL byte"),
    ("too many lines", HEAD + "# x\n" * 4996 + "¦# y\n" * 1 + "# z\n" * 95000, "the limit is 5000"),
    ("prose", "¦Dear colleague,\nplease find attached the protocol.\n", "unknown declaration 'Dear'"),
    ("a shell script", "#!/bin/sh\n¦set -e\n", "unknown declaration 'set'"),
    ("JSON", '¦{"agents": ["a"]}\n', "unexpected '{'"),
    ("lone surrogate", "litmus t¦\ud800\n", "unexpected character U+D800"),
]

ALL = (
    [Malformed(f"head: {name}", head(line), said) for name, line, said in HEADS]
    + [
        Malformed(f"platform: {name}", head("").replace("weakest", f"pcie {line}"), said)
        for name, line, said in PLATFORMS
    ]
    + [Malformed(f"body: {name}", body(line), said) for name, line, said in BODIES]
    + [Malformed(f"question: {name}", tail(line), said) for name, line, said in QUESTIONS]
    + [Malformed(f"file: {name}", text, said) for name, text, said in FILES]
)
