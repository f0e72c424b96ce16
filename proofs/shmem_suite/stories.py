"""Runs that the explorer found, as stories: what goes without saying in the scope is left out."""

from __future__ import annotations

from shmem_model.language import BOOL, Function, Parameter, Sort
from shmem_model.readers import trace as found
from shmem_model.readers.scope import Scope
from shmem_suite.story import Change, Step, Trace

AGENT = "Agent"


def story(run: found.Trace, scope: Scope, ending: str, guilty: bool) -> Trace:
    """The story of a run in a scope; with `guilty`, its last step is to blame."""
    last = len(run.steps) - 1
    steps = tuple(_step(step, scope, guilty and number == last) for number, step in enumerate(run.steps))
    return Trace(steps, ending, _agents(scope))


def _agents(scope: Scope) -> tuple[str, ...]:
    sort = next((sort for sort in scope.machine.sorts if sort.name == AGENT), None)
    return () if sort is None else tuple(scope.label(sort, n) for n in range(scope.size(sort)))


def _step(step: found.Step, scope: Scope, guilty: bool) -> Step:
    action = scope.machine.actions[step.action]
    actor = acting(action.parameters)
    agent = "" if actor is None else step.shown.get(actor.name, "")
    told = {p.name for p in action.parameters if p is not actor and _says_something(p.sort, scope)}
    arguments = tuple((name, _short(value)) for name, value in step.shown.items() if name in told)
    answer = () if step.answer is None else (("answer", _short(step.answer)),)
    functions = {function.name: function for function in scope.machine.functions}
    changes = tuple(_change(cell, *values, functions, scope) for cell, values in step.changes.items())
    return Step(agent, action.base, arguments + answer, changes, guilty)


def acting(parameters: tuple[Parameter, ...]) -> Parameter | None:
    """The parameter that names the agent taking the step: the first one, if it is an agent."""
    return parameters[0] if parameters and parameters[0].sort.name == AGENT else None


def _says_something(sort: Sort, scope: Scope) -> bool:
    """The only element of a sort goes without saying."""
    return sort is BOOL or sort.name == AGENT or scope.size(sort) > 1


def _change(cell: str, before: str, after: str, functions: dict[str, Function], scope: Scope) -> Change:
    name, _, inside = cell.partition("(")
    function = functions[name]
    labels = inside.removesuffix(")").split(", ") if inside else []
    pairs = zip(labels, function.arguments, strict=True)
    place = tuple(label for label, sort in pairs if _says_something(sort, scope))
    return Change(name, place, _short(before), _short(after), function.layer == "ghost")


def _short(label: str) -> str:
    """A value as the number that it stands for."""
    number = label.removeprefix("Value")
    return number if number.isdigit() else label
