"""Ways to leave something out of a machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from shmem_model.language import Function, Machine, Update, without_condition, without_update

Weaken = Callable[[Machine], Machine]


def no_condition(action: str, *names: str) -> Weaken:
    """The action no longer waits for, or is no longer refused or faulted by, these conditions."""

    def weaken(machine: Machine) -> Machine:
        changed = machine.actions[action]
        for name in names:
            changed = without_condition(changed, name)
        return machine.changed(changed)

    return weaken


def no_update(action: str, *functions: Function) -> Weaken:
    """The action no longer changes these functions."""

    def weaken(machine: Machine) -> Machine:
        changed = machine.actions[action]
        for function in functions:
            changed = without_update(changed, function)
        return machine.changed(changed)

    return weaken


def other_updates(action: str, *updates: Update) -> Weaken:
    """The action changes these functions in another way."""

    def weaken(machine: Machine) -> Machine:
        changed = machine.actions[action]
        new = {**changed.updates, **{update.function: update for update in updates}}
        return machine.changed(replace(changed, updates=new))

    return weaken
