"""The page docs/reference/differential.md: its tables are written by what they describe."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from shmem_suite.differential import coverage
from shmem_suite.differential.lockstep import EXPLAINED
from shmem_suite.differential.projection import TABLE

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "differential.md"


def tables(seen: Counter[tuple[str, str]]) -> dict[str, str]:
    """The generated parts by the name in their marks."""
    explained = [
        f"| {'any' if call == 'access' else f'`{call}`'} | {said} | {', '.join(sorted(e.answers))} | {e.reason} |"
        for (call, said), e in EXPLAINED.items()
    ]
    return {
        "compared": "\n".join(
            ["| function | form |", "| --- | --- |", *(f"| `{name}` | {form} |" for name, form in TABLE.items())]
        ),
        "not compared": "\n".join(f"- `{name}`: {why}" for name, why in coverage.NOT_COMPARED.items()),
        "explained": "\n".join(
            ["| call | the machine says | the implementation | why |", "| --- | --- | --- | --- |", *explained]
        ),
        "coverage": coverage.table(seen),
    }


def rewritten(text: str, parts: dict[str, str]) -> str:
    """The page with these parts between its marks."""
    for name, part in parts.items():
        mark = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", re.DOTALL)
        text, count = mark.subn(lambda found, part=part: found[1] + part + found[2], text)
        assert count == 1, f"the page has no place for {name}"
    return text
