"""What the lock-step test has found, as files with explicit steps that are taken again in every run.

A file is JSON: `story` (what was wrong, in a sentence or two), `world`, and `steps`, each an action with its
arguments.  `python -m shmem_suite.differential.regressions SEED STEPS` searches and prints such a file.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from shmem_model.conformance.adapter import World
from shmem_suite.differential.lockstep import Divergence, Factory, Step, follow, run, shrunk
from shmem_suite.differential.reference import make
from shmem_suite.differential.worlds import WORLDS
from shmem_suite.errors import SuiteError


def saved(found: Divergence, story: str) -> str:
    """A divergence as the text of a regression file."""
    steps = ",\n  ".join(json.dumps([name, dict(kw)]) for name, kw in found.steps)
    head = json.dumps({"story": story, "world": found.world.as_json()}, indent=1)
    return f'{head[:-2]},\n "steps": [\n  {steps}\n ]\n}}\n'


def load(path: Path) -> tuple[str, World, list[Step]]:
    """Story, world and steps of a file.

    Raises `SuiteError` where the file is none of ours.
    """
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        steps: list[Step] = [(name, kw) for name, kw in data["steps"]]
        return data["story"], World.from_json(data["world"]), steps
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SuiteError(f"{path} is no regression file of the lock-step test: {error}") from error


def again(path: Path, factory: Factory = make) -> Divergence | None:
    """Take a file's steps; the divergence if it is back."""
    _, world, steps = load(path)
    return follow(world, steps, factory)


def main() -> int:
    """Search with a seed; print the shortest form of the first divergence as a regression file."""
    parser = argparse.ArgumentParser(prog="python -m shmem_suite.differential.regressions", description=main.__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("steps", type=int, help="how many steps in each world")
    chosen = parser.parse_args()
    for world in WORLDS.values():
        found = run(chosen.steps, chosen.seed, world).divergence
        if found is not None:
            short = shrunk(found)
            print(short, file=sys.stderr)
            print(saved(short, "What was wrong, in a sentence."), end="")
            return 1
    print(f"no divergence in {chosen.steps} steps in each of {len(WORLDS)} worlds", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
