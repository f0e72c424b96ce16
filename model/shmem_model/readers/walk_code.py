"""Python source for single steps: which arguments are enabled, what a step changes, which claims a change can break.

A claim is looked at only where a step changed something: its negation is a conjunction, a changed cell fixes the
variables of one conjunct, and the rest is searched from there.  A conjunct that a change made false needs no look.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shmem_model.language import BOOL, Action, Function, LanguageError, Parameter, Property, Term, Update
from shmem_model.language import terms as t
from shmem_model.readers.effects import change
from shmem_model.readers.walk_terms import FALSE, NOW, OLD, TRUE, Coder, Names, clauses, joined, literals, mentions

Lines = list[str]


@dataclass(frozen=True)
class Look:
    """A generated search: called `name(*places)` when a cell of `function` became `value` (None: any value).

    `positions` are the argument places of the cell that it wants; what it returns are the values of the claim's
    variables for which the claim is broken, or None.
    """

    name: str
    claim: Property
    function: Function
    value: bool | None
    positions: tuple[int, ...]


def parameters_of(action: Action) -> dict[Term, str]:
    """Python names of an action's parameters."""
    return {p: f"p_{p.name}" for p in action.parameters}


def enabled_code(coder: Coder, action: Action, name: str, keep: Function | None = None) -> Lines:
    """A function that lists all arguments with which the action can be taken (and, if it holds, leaves `keep` true)."""
    names = parameters_of(action)
    parts = [part for condition in action.conditions for part in literals(condition.holds)]
    if keep is not None and keep in action.updates:
        parts += literals(keep().implies(action.new(keep)))
    result = "".join(f"{names[p]}, " for p in action.parameters)
    body = _search(coder, action.parameters, parts, names, [f"found.append(({result}))"])
    return [f"def {name}():", "  found = []", *_indented(body), "  return found"]


def allowed_code(coder: Coder, action: Action, name: str) -> Lines:
    """A function that tells whether the action can be taken with these arguments."""
    names = parameters_of(action)
    test = coder.term(action.guard, names)
    return [f"def {name}({', '.join(names.values())}):", f"  return {test}"]


def step_code(coder: Coder, action: Action, name: str) -> Lines:
    """A function that gives the cells that a step changes: (function, cell, new value); and what it returns."""
    names = parameters_of(action)
    lines = [f"def {name}({', '.join(names.values())}):", "  found = []"]
    for function, update in action.updates.items():
        lines += _indented(_update_code(coder, function, update, names))
    answer = "None" if action.returns is None else coder.term(action.returns, names)
    return [*lines, f"  return found, {answer}"]


def _update_code(coder: Coder, function: Function, update: Update, names: Names) -> Lines:
    formals, number = function.formals, coder.number[function]
    lines: Lines = []
    for parts in clauses(change(update.body, function(*formals))):
        pins: dict[Term, Term] = {}
        rest: list[Term] = []
        for part in parts:
            pin = _pin(part, formals)
            if pin is None or pin[0] in pins:
                rest.append(part)
            else:
                pins[pin[0]] = pin[1]
        known = {x: coder.term(place, names) for x, place in pins.items()}
        free = [x for x in formals if x not in pins]
        here: dict[Term, str] = {**names, **known, **{x: f"{x.name}_" for x in free}}
        cell = coder.index(function, [here[x] for x in formals])
        leaf = [f"cell = {cell}", f"new = {coder.term(update.body, here)}"]
        leaf.append(f"if new != now_{number}[cell]: found.append(({number}, cell, new))")
        lines += _search(coder, free, rest, here, leaf)
    return lines


def _pin(part: Term, formals: tuple[t.Formal, ...]) -> tuple[Term, Term] | None:
    """`formal = something without formals`."""
    if isinstance(part, t.Same):
        for this, other in (part.fields, part.fields[::-1]):
            if this in formals and not mentions(other, formals):
                return this, other
    return None


# ---------------------------------------------------------------------- claims


def looks(coder: Coder, claim: Property) -> Iterator[tuple[Look, Lines]]:
    """The searches that together find every way in which a step can break an invariant."""
    number = 0
    seen: set[tuple[int, Function, bool | None, tuple[Term, ...]]] = set()
    for i, parts in enumerate(clauses(claim.body, False)):
        for function, value, places in _occurrences(coder, parts):
            key = i, function, value, tuple(p if p in claim.variables else t.TRUE for p in places)
            if key in seen:
                continue
            seen.add(key)
            number += 1
            name = f"look_{claim.name}_{number}"
            positions = tuple(k for k, place in enumerate(places) if place in claim.variables)
            yield (
                Look(name, claim, function, value, positions),
                _searches(coder, claim, [parts], name, [places[k] for k in positions]),
            )


def whole_code(coder: Coder, claim: Property, name: str) -> Lines:
    """A function that looks for a violation of an invariant anywhere."""
    return _searches(coder, claim, clauses(claim.body, False), name, [])


def _occurrences(coder: Coder, parts: Sequence[Term]) -> Iterator[tuple[Function, bool | None, tuple[Term, ...]]]:
    """Cells on which a conjunction depends, with the new value that can make it true (None: either)."""
    for part in parts:
        literal = part.fields[0] if isinstance(part, t.Not) else part
        for node in t.walk(part):
            if isinstance(node, t.Apply) and node.function in coder.number:
                value = None
                if node is literal and node.function.result is BOOL:
                    value = not isinstance(part, t.Not)
                yield node.function, value, node.parts


def _searches(
    coder: Coder, claim: Property, ways: Sequence[Sequence[Term]], name: str, places: Sequence[Term]
) -> Lines:
    """A function of the values of some variables (`places`, in this order) that finds a violation, or None."""
    known: dict[Term, str] = {}
    tests = []
    for k, place in enumerate(places):
        if place in known:
            tests.append(f"{known[place]} == i{k}")
        else:
            known[place] = f"i{k}"
    names: dict[Term, str] = {**{v: f"v_{v.name}" for v in claim.variables}, **known}
    body: Lines = []
    for parts in ways:
        free = [v for v in claim.variables if v not in known and any(mentions(part, [v]) for part in parts)]
        result = "".join(f"{names[v] if v in known or v in free else 0}, " for v in claim.variables)
        body += _search(coder, free, parts, names, [f"return ({result})"])
    guard = [f"if not ({' and '.join(tests)}): return None"] if tests else []
    arguments = ", ".join(f"i{k}" for k in range(len(places)))
    return [f"def {name}({arguments}):", *_indented([*guard, *body]), "  return None"]


def step_claim_code(coder: Coder, claim: Property, action: Action, name: str) -> Lines:
    """A function of (arguments, answer, changed cells) that finds how a step breaks a claim about steps, or None.

    `changed` maps the number of a function to the places of its cells that changed.
    """
    own: dict[Term, str] = {v: f"v_{v.name}" for v in claim.variables}
    names = {**_step_names(claim, action), **own}
    anybody = [v for v, code in names.items() if code == ANYBODY]
    lines: Lines = []
    for parts in clauses(claim.body, False):
        free = [v for v in (*claim.variables, *anybody) if any(mentions(part, [v]) for part in parts)]
        leaf = ["return (" + "".join(f"{own[v] if v in free else 0}, " for v in claim.variables) + ")"]
        cell = _must_change(coder, parts, claim)
        if cell is None:
            lines += _search(coder, free, parts, names, leaf, OLD)
            continue
        places = "".join(f"{own[v]}, " for v in cell.parts)
        left = [v for v in free if v not in cell.parts]
        lines.append(f"for {places}in changed.get({coder.number[cell.function]}, ()):")
        lines += _indented(_search(coder, left, parts, names, leaf, OLD) or ["pass"])
    signature = [*parameters_of(action).values(), "answer", "changed"]
    return [f"def {name}({', '.join(signature)}):", *_indented(lines), "  return None"]


ANYBODY = "v_actor"
"""A step that nobody takes may be anybody's: a claim must hold whoever is meant."""


def _step_names(claim: Property, action: Action) -> dict[Term, str]:
    """Names that a claim about steps may use besides its own variables: parameters, `actor`, `answer`."""
    names = dict(parameters_of(action))
    for node in t.walk(claim.body):
        if isinstance(node, Parameter) and node not in names and node not in claim.variables:
            actor = action.actor(node.sort)
            if node.name == "answer" and action.returns is not None:
                names[node] = "answer"
            elif node.name == "actor":
                names[node] = ANYBODY if actor is None else names[actor]
            else:
                raise LanguageError(f"{claim.name} speaks of {node.name}, which {action.name} does not have")
    return names


def _must_change(coder: Coder, parts: Sequence[Term], claim: Property) -> t.Apply | None:
    """A cell at distinct variables of the claim of which the conjuncts say that it has changed."""
    for part in parts:
        inner = part.fields[0] if isinstance(part, t.Not) else part
        cell: object = None
        if isinstance(part, t.Not) and isinstance(inner, t.Same):  # after(x) differs from x
            one, other = inner.fields
            cell = other if one is t.After(other) else one if other is t.After(one) else None
        elif isinstance(inner, t.After):  # x and not after(x), or the other way round
            opposite = inner.fields[0] if isinstance(part, t.Not) else t.negation(inner.fields[0])
            cell = inner.fields[0] if opposite in parts else None
        if isinstance(cell, t.Apply) and cell.function in coder.number and _distinct(cell.parts, claim.variables):
            return cell
    return None


def _distinct(places: Sequence[Term], variables: Sequence[Term]) -> bool:
    return 0 < len(places) == len(set(places)) and set(places) <= set(variables)


# ---------------------------------------------------------------------- loops


def _search(
    coder: Coder,
    variables: Sequence[Term],
    parts: Sequence[Term],
    names: Names,
    leaf: Lines,
    state: str = NOW,
) -> Lines:
    """Loops over the variables with each conjunct tested as early as possible; `leaf` where all hold."""
    first = [part for part in parts if not mentions(part, variables)]
    rest = [part for part in parts if part not in first]
    lines = leaf
    for variable, tests in reversed(list(coder.plan(variables, rest))):
        lines = _where(joined("and", [coder.term(part, names, state) for part in tests]), lines)
        if lines:
            lines = [f"for {names[variable]} in {coder.elements(variable.sort)}:", *_indented(lines)]
    return _where(joined("and", [coder.term(part, names, state) for part in first]), lines)


def _where(condition: str, lines: Lines) -> Lines:
    """The lines under a condition (none where it is false anyway)."""
    if condition == FALSE or not lines:
        return []
    return lines if condition == TRUE else [f"if {condition}:", *_indented(lines)]


def _indented(lines: Sequence[str]) -> Lines:
    return [f"  {line}" for line in lines]
