"""The calls of a program as actions: one for each way to make a call, and one for each way in which it can fail.

A derived action is the machine's action with its parameters fixed, the condition that the agent is at that place, and
the step to the next place.  A call *fails* where the first of its conditions that does not hold is a refusal or a
fault.  Parameters that hardware or driver choose (frame, epoch, ...) do not save it: it fails only if it fails
for every choice that the conditions before leave open, and such a choice exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from shmem_model.language import TRUE, Action, Machine, Parameter, Term, Update, conj
from shmem_model.language import terms as t
from shmem_model.language.actions import WAITS, Part, assemble, becomes, waits

from .calls import Call, Way
from .flow import Code
from .values import with_sums

AT = "the agent is at this statement"
Refine = Callable[[Way], Iterable[tuple[Mapping[str, Term], Term]]]
"""How a way is split: further fixed parameters, and when they are the ones to take."""


class CallActions:
    """Makes the actions of one agent's calls."""

    def __init__(self, machine: Machine, code: Code, dies: bool) -> None:
        self.machine = machine
        self.code = code
        self.dies = dies
        self.used: set[str] = set()

    def of(self, place: int, refine: Refine) -> Iterator[Action]:
        """The actions of the call at a place; `refine` splits each way by further fixed parameters."""
        call = self.code.calls[place]
        suffix = self._suffix(call)
        failures: list[tuple[str, list[Term]]] = []
        for number, way in enumerate(call.ways):
            base = self.machine.actions[way.action]
            for more, condition in refine(way):
                name = f"{suffix}{'abcdefghijklmnopqrstuvwxyz'[number % 26] if len(call.ways) > 1 else ''}"
                yield self._step(base, place, way, more, condition, self._unique(base.name, name))
            _gather(failures, base, way)
        for name, formulas in failures:
            failed = conj(*formulas) if call.joint else t.disj(*formulas)
            yield from self._failure(call, place, suffix, name, failed)
        yield from self._failure(call, place, suffix, "InvalidArgument", call.bad)

    def _suffix(self, call: Call) -> str:
        return f"{self.code.agent}:{call.statement.pos.line}"

    def _unique(self, base: str, suffix: str) -> str:
        name, number = suffix, 1
        while f"{base}@{name}" in self.used:
            number += 1
            name = f"{suffix}.{number}"
        self.used.add(f"{base}@{name}")
        return name

    def _step(
        self, base: Action, place: int, way: Way, more: Mapping[str, Term], condition: Term, suffix: str
    ) -> Action:
        code, call = self.code, self.code.calls[place]
        values = _fitting(base, {**way.values, **more})
        registers = {name: function() for name, function in code.registers.items()}
        old = dict(registers)
        if call.register is not None:
            registers[call.register] = _answer(base, way, values)
        tree = code.after(place, registers)
        extra: list[Part] = [waits(AT, code.at(place)), waits("this way", conj(way.when, condition))]
        extra.append(becomes(code.counter, to=code.next_place(tree)))
        for name, function in code.registers.items():
            new = code.next_value(tree, name)
            if new is not old[name]:
                extra.append(becomes(function, to=new))
        bound = base.bind(values, suffix, extra)
        if base.name != "atomic_add":
            return bound
        sums = {f: Update(f, with_sums(u.body, code.values)) for f, u in bound.updates.items()}
        return replace(bound, updates=sums)

    def _failure(self, call: Call, place: int, suffix: str, name: str, formula: Term) -> Iterator[Action]:
        if formula is t.FALSE:
            return
        code = self.code
        group = self.machine.actions[call.action].group
        parts: list[Part] = [waits(AT, code.at(place)), waits(f"{name}", formula)]
        parts.append(becomes(code.counter, to=code.place(code.failed)))
        full = f"{call.action}@{self._unique(call.action, f'{suffix}!{name}')}"
        yield assemble(full, group, (), parts, f"The call answers {name}, and the agent ends.")


def _answer(base: Action, way: Way, values: Mapping[str, Term]) -> Term:
    if way.result is not None:
        return way.result
    assert base.returns is not None
    return t.replace(base.returns, {p: values[p.name] for p in base.parameters if p.name in values})


def _fitting(base: Action, values: Mapping[str, Term]) -> dict[str, Term]:
    names = {p.name for p in base.parameters}
    return {name: term for name, term in values.items() if name in names}


def _gather(failures: list[tuple[str, list[Term]]], base: Action, way: Way) -> None:
    """Add the ways of this action to fail, by name."""
    table = dict(failures)
    for name, formula in failures_of(base, way.values):
        found = table.get(name)
        if found is None:
            found = table[name] = []
            failures.append((name, found))
        found.append(conj(way.when, formula))


def failures_of(base: Action, given: Mapping[str, Term]) -> Iterator[tuple[str, Term]]:
    """For each refusal and fault of an action: when a call with these arguments fails so."""
    values = _fitting(base, given)
    mapping: dict[Term, Term] = {p: values[p.name] for p in base.parameters if p.name in values}
    free = [p for p in base.parameters if p.name not in values]
    before: list[Term] = []
    passed: list[Term] = []
    for condition in base.conditions:
        holds = t.replace(condition.holds, mapping)
        if condition.kind == WAITS:
            before.append(holds)
            continue
        if holds is not TRUE:
            yield condition.name, _fails(free, before, passed, holds)
        passed.append(holds)


def _fails(free: list[Parameter], before: list[Term], passed: list[Term], holds: Term) -> Term:
    open_ = conj(*before)
    used = {node for term in (*before, *passed, holds) for node in t.walk(term)}
    variables = tuple(p for p in free if p in used)
    if not variables:
        return conj(open_, *passed, ~holds)
    possible = t.close(t.Exists, tuple(p for p in variables if p in set(t.walk(open_))), open_)
    return conj(possible, t.close(t.Forall, variables, open_.implies(conj(*passed, ~holds))))
