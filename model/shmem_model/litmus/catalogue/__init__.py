"""The catalogue: small protocols, wrong ones and right ones, each with the answers that are expected.

Start with `hand-over/`: the one right hand-over, and what each step in it is for. Then read pairs:
`NAME.buggy` is a public bug report in our words, `NAME.fixed` its repair. The folders:

* `hand-over`, `message-passing`: publishing a value, complete and with a step missing or misplaced
* `buffers`, `false-sharing`: when to clean and when to invalidate; words of different owners in one line
* `ordering`, `ownership`: what may overtake what; who may touch a word now, and when a reader is done
* `notifications`, `barriers`, `atomics`, `copies`: the ways to tell others, and what each completes
* `isolation`, `life`, `death`: old contents; alloc, map, free, reuse, compaction, rights; agents that die
* `classic`, `coherence`, `persistency`: the shapes of the literature (SB, LB, IRIW, CoRR, commit marks)

`race` means *not guaranteed by the custody rules*: some programs have a race and right outcomes only.

A file says in comments before its `litmus` line where it comes from: `# case: NAME` (a public case; bug
reports have a role behind their id: `buggy`, `fixed` or `variant`), `# pitfall: P-n`, `# litmus: L-n`.
`index.json` is made of these comments by `python -m shmem_model.litmus.catalogue`, and a test compares the
two. `not_expressed.json` names what has no file, with the reason.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
INDEX = FOLDER / "index.json"
NOT_EXPRESSED = FOLDER / "not_expressed.json"

_ORIGIN = re.compile(r"^# (?:case|pitfall|litmus): (.+)$")


def files() -> list[Path]:
    """Every file of the catalogue, in the order of its path."""
    return sorted(FOLDER.rglob("*.litmus"))


def origins(text: str) -> list[str]:
    """What the comments in the head of a file name: cases, pitfalls, litmus ids."""
    head = text.partition("\nlitmus ")[0]
    return [found[1].strip() for line in head.splitlines() if (found := _ORIGIN.match(line))]


def index() -> dict[str, Any]:
    """File to ids, id to files, and the ids that no file expresses with the reason."""
    by_file = {path.relative_to(FOLDER).as_posix(): origins(path.read_text("utf-8")) for path in files()}
    by_id: dict[str, list[str]] = {}
    for name, ids in by_file.items():
        for origin in ids:
            by_id.setdefault(origin, []).append(name)
    reasons = json.loads(NOT_EXPRESSED.read_text("utf-8"))
    return {"files": by_file, "ids": dict(sorted(by_id.items())), "not_expressed": reasons}


def index_text() -> str:
    """The content of `index.json`."""
    return json.dumps(index(), indent=2, ensure_ascii=False) + "\n"
