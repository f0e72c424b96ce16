"""The custody view: the machine without hardware, for questions about custody alone.

By the visibility theorem every run is sequentially consistent up to its first broken rule, so whether some run breaks
a rule can be asked of a machine without caches, buffers and translation caches, in which a read returns the last
write.  The view is computed from the machine, not written again: hardware functions, what waits for them, and steps
that change nothing else fall away.  Sound as long as no step takes memory over as the last write (`reclaim`) and no
access depends on a stale translation (`unmap`, `freeze`): those actions must be absent, and are refused here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shmem_model.language import (
    FALSE,
    Action,
    Condition,
    LanguageError,
    Machine,
    Parameter,
    Term,
    Update,
    conj,
)
from shmem_model.language import terms as t
from shmem_model.language.actions import WAITS
from shmem_model.machine import vocabulary as m

NOT_IN_VIEW = (
    "unmap",
    "shootdown",
    "freeze",
    "migrate",
    "unfreeze",
    "reclaim",
    "lose",
    "scrub",
    "free",
    "die",
)
"""Actions after which custody depends on what hardware holds; programs that use them are explored in full."""


def custody_view(machine: Machine) -> Machine:
    """The machine without hardware; LanguageError if it has actions that the view cannot carry."""
    alien = sorted({action.base for action in machine.actions.values()} & set(NOT_IN_VIEW))
    if alien:
        raise LanguageError(f"the custody view of {machine.name} is not sound with the actions {alien}")
    actions = [_project(action) for action in machine.actions.values()]
    kept = [action for action in actions if action.updates]
    functions = tuple(f for f in machine.functions if f.layer != "hardware")
    initial = {f: value for f, value in machine.initial.items() if f.layer != "hardware"}
    viewed = replace(machine, name=f"{machine.name} custody", functions=functions, initial=initial, properties=())
    return viewed.with_actions(kept)


def _hardware(term: Term) -> bool:
    return any(function.layer == "hardware" for function in t.functions_of(term))


def _project(action: Action) -> Action:
    conditions = tuple(_conditions(action))
    updates = {f: u for f, u in action.updates.items() if f.layer != "hardware"}
    for function, update in updates.items():
        if _hardware(update.body):
            raise LanguageError(f"{action.name} sets {function.name} by what hardware holds; it has no custody view")
    returns = action.returns
    if returns is not None and _hardware(returns):
        returns = m.last(Parameter("b", m.Block), Parameter("w", m.Word))
        returns = _bound_like(action, returns)
    return _tidy(replace(action, conditions=conditions, updates=updates, returns=returns))


def _bound_like(action: Action, returns: Term) -> Term:
    """`last` at the word that the action reads, also where the action's parameters were bound to elements."""
    for update in action.updates.values():
        if update.function is m.readby or update.function is m.last:
            places = _place(update)
            if places is not None:
                return m.last(*places)
    return returns


def _place(update: Update) -> tuple[Term, Term] | None:
    """The block and word that an update of `readby` or `last` singles out."""
    formals = update.function.formals[-2:]
    found: dict[Term, Term] = {}
    for node in t.walk(update.body):
        if isinstance(node, t.Same) and node.fields[0] in formals:
            found.setdefault(node.fields[0], node.fields[1])
    return (found[formals[0]], found[formals[1]]) if len(found) == 2 else None


def _conditions(action: Action) -> Iterator[Condition]:
    for condition in action.conditions:
        if not _hardware(condition.holds):
            yield condition
        elif condition.kind != WAITS:
            yield replace(condition, holds=_without_hardware(condition.holds))


def _without_hardware(term: Term) -> Term:
    """The condition in a machine whose translation caches are empty."""
    if isinstance(term, t.Apply) and term.function.layer == "hardware":
        if term.function.result is not t.BOOL:
            raise LanguageError(f"a refusal depends on a value in hardware: {term}")
        return FALSE
    match term:
        case t.And():
            return conj(*(_without_hardware(part) for part in term.fields))
        case t.Or():
            return t.disj(*(_without_hardware(part) for part in term.fields))
        case t.Not():
            return ~_without_hardware(term.fields[0])
        case t.Implies():
            return _without_hardware(term.fields[0]).implies(_without_hardware(term.fields[1]))
        case t.Exists():
            return FALSE if _without_hardware(term.body) is FALSE else term
    return term


def _tidy(action: Action) -> Action:
    """Drop parameters that nothing mentions any more."""
    terms = [c.holds for c in action.conditions] + [u.body for u in action.updates.values()]
    if action.returns is not None:
        terms.append(action.returns)
    used = {node for term in terms for node in t.walk(term)}
    return replace(action, parameters=tuple(p for p in action.parameters if p in used))
