"""The sort graph: do the proof obligations lie in a fragment that solvers decide?

A proof instantiates universally quantified variables.  Instantiating one of sort A can make a new term of sort
B, by a function that is applied to it or by an existential variable that depends on it; if variables range over
B, too, that term is a further instance of those.  So there is an edge from A to B.  As long as the edges form
no cycle, the instances come to an end: every obligation has finitely many, and if it can fail at all it fails
for finitely many elements.

The edges are read off the formulas that are really asserted, in negation normal form: axioms, invariants,
guards, and negated claims with updates put in.  Sorts over which no variable ranges are no nodes: `total:
Value, Value -> Value` makes new values for ever, but nobody instantiates anything with them.  Bool has two
elements and is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from shmem_model.language import terms as t
from shmem_model.language.actions import Action, Update
from shmem_model.language.machines import Machine, Property

Depends = Mapping[t.Term, frozenset[t.Sort]]
"""For each variable in scope, the sorts of the universal variables on which its value depends."""


@dataclass(frozen=True)
class Edge:
    """Instances of sort `source` make terms of sort `target`."""

    source: t.Sort
    target: t.Sort
    reason: str

    def __str__(self) -> str:
        return f"{self.source} -> {self.target} ({self.reason})"


class SortGraph:
    """The sorts over which universal variables range, and the edges between them."""

    def __init__(self) -> None:
        self.nodes: set[t.Sort] = set()
        self._edges: dict[tuple[t.Sort, t.Sort], Edge] = {}
        self._where = ""
        self._seen: set[tuple[t.Term, bool]] = set()

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges between nodes."""
        return tuple(e for e in self._edges.values() if e.source in self.nodes and e.target in self.nodes)

    def add(self, formula: t.Term, where: str, holds: bool = True) -> None:
        """Look at a formula that is asserted (or, with `holds=False`, whose negation is)."""
        if (formula, holds) not in self._seen:
            self._seen.add((formula, holds))
            self._where = where
            self._formula(formula, holds, {})

    def cycle(self) -> tuple[Edge, ...] | None:
        """A cycle, if there is one."""
        following: dict[t.Sort, list[Edge]] = {}
        for edge in self.edges:
            following.setdefault(edge.source, []).append(edge)
        done: set[t.Sort] = set()
        for start in sorted(following, key=lambda sort: sort.name):
            found = _search(start, following, [], done)
            if found is not None:
                return found
        return None

    def _formula(self, term: t.Term, holds: bool, scope: Depends) -> None:
        """Walk in negation normal form."""
        match term:
            case t.Not():
                self._formula(term.fields[0], not holds, scope)
            case t.And() | t.Or():
                for part in term.fields:
                    self._formula(part, holds, scope)
            case t.Implies():
                self._formula(term.fields[0], not holds, scope)
                self._formula(term.fields[1], holds, scope)
            case t.Forall() | t.Exists():
                self._quantified(term, holds, scope)
            case t.After():
                self._formula(term.fields[0], holds, scope)
            case t.Ite() if term.sort is t.BOOL:
                self._value(term.fields[0], scope)
                self._formula(term.fields[1], holds, scope)
                self._formula(term.fields[2], holds, scope)
            case _:
                for part in term.parts:
                    self._value(part, scope)

    def _value(self, term: t.Term, scope: Depends) -> frozenset[t.Sort]:
        """Walk in a term; the sorts of the universal variables on which its value depends."""
        if term in scope:
            return scope[term]
        if isinstance(term, t.Not | t.And | t.Or | t.Implies | t.Forall | t.Exists):
            self._formula(term, True, scope)
            self._formula(term, False, scope)
            return _free(term, scope)
        depends: frozenset[t.Sort] = frozenset().union(*(self._value(part, scope) for part in term.parts))
        if isinstance(term, t.Apply):
            self._connect(depends, term.sort, f"{term.function.name} in {self._where}")
        return depends

    def _quantified(self, term: t.Forall | t.Exists, holds: bool, scope: Depends) -> None:
        sort = term.variable.sort
        if isinstance(term, t.Forall) == holds:
            self.nodes |= {sort} - {t.BOOL}
            depends = frozenset({sort}) - {t.BOOL}
        else:
            depends = _free(term, scope)
            word = "some" if holds else "not every"
            self._connect(depends, sort, f"{word} {term.variable.name} in {self._where}")
        self._formula(term.body, holds, {**scope, term.variable: depends})

    def _connect(self, sources: frozenset[t.Sort], target: t.Sort, reason: str) -> None:
        if target is not t.BOOL:
            for source in sorted(sources, key=lambda sort: sort.name):
                self._edges.setdefault((source, target), Edge(source, target, reason))


def _free(term: t.Term, scope: Depends) -> frozenset[t.Sort]:
    """What the variables that occur free in the term depend on."""
    return frozenset().union(*(scope[v] for v in _free_variables(term) if v in scope))


def _free_variables(term: t.Term) -> frozenset[t.Term]:
    if isinstance(term, t.Bound):
        return frozenset({term})
    inside: frozenset[t.Term] = frozenset().union(*(_free_variables(part) for part in term.parts))
    return inside - {term.variable} if isinstance(term, t.Forall | t.Exists) else inside


def _search(
    sort: t.Sort, following: Mapping[t.Sort, list[Edge]], path: list[Edge], done: set[t.Sort]
) -> tuple[Edge, ...] | None:
    """Depth first from a sort; the cycle that is found."""
    for start, edge in enumerate(path):
        if edge.source is sort:
            return tuple(path[start:])
    if sort in done:
        return None
    for edge in following.get(sort, ()):
        found = _search(edge.target, following, [*path, edge], done)
        if found is not None:
            return found
    done.add(sort)
    return None


def after_step(term: t.Term, action: Action, inside: bool = True) -> t.Term:
    """The value after the step in terms of the state before (`inside=False`: only what is under `after`)."""
    if isinstance(term, t.After):
        return after_step(term.fields[0], action)
    if isinstance(term, t.Forall | t.Exists):
        hole = t.Parameter(f"<{term.variable.name} {term.height}>", term.variable.sort)
        body = after_step(t.replace(term.body, {term.variable: hole}), action, inside)
        return t.close(type(term), (hole,), body)
    if not term.parts:
        return term
    parts = [after_step(part, action, inside) for part in term.parts]
    if isinstance(term, t.Apply):
        return action.new(term.function, *parts) if inside else term.function(*parts)
    return _rebuilt(term, parts)


def _rebuilt(term: t.Term, parts: list[t.Term]) -> t.Term:
    """The same connective of other parts, with constants folded."""
    match term:
        case t.Not():
            return t.negation(parts[0])
        case t.And():
            return t.conj(*parts)
        case t.Or():
            return t.disj(*parts)
        case t.Implies():
            return parts[0].implies(parts[1])
        case t.Same():
            return parts[0].same(parts[1])
        case t.Ite():
            return t.ite(*parts)
    raise t.LanguageError(f"the sort graph does not know {type(term).__name__}: {term}")


def initially(term: t.Term, machine: Machine) -> t.Term:
    """The value of the term in the initial state, in terms of the platform."""
    values = {function: Update(function, body) for function, body in machine.initial.items()}
    return after_step(term, Action("start", "driver", (), (), values, "The start."))


def hypotheses(machine: Machine) -> Iterator[tuple[t.Term, str]]:
    """What every obligation assumes."""
    for claim in (*machine.axioms, *machine.invariants):
        yield claim.closed, claim.name
    for action in machine.actions.values():
        yield action.guard, f"the guard of {action.name}"


def goals(machine: Machine) -> Iterator[tuple[t.Term, str]]:
    """What is to be shown: each claim after each action, in terms of the state before."""
    for claim in machine.properties:
        if claim.kind == "invariant":
            yield initially(claim.body, machine), f"{claim.name} at the start"
        for action in machine.actions.values():
            if claim.kind == "invariant":
                yield after_step(claim.body, action), f"{claim.name} after {action.name}"
            elif claim.kind == "step" and (not claim.actions or action.base in claim.actions):
                yield after_step(claim.body, action, inside=False), f"{claim.name} of {action.name}"


def sort_graph(machine: Machine, pairs: Iterable[Property] = ()) -> SortGraph:
    """The sort graph of all proof obligations of a machine (`pairs`: relations between two runs)."""
    graph = SortGraph()
    for formula, where in hypotheses(machine):
        graph.add(formula, where)
    for formula, where in goals(machine):
        graph.add(formula, where, holds=False)
    for claim in pairs:
        graph.add(claim.closed, claim.name)
        graph.add(initially(claim.body, machine), f"{claim.name} at the start", holds=False)
        for action in machine.actions.values():
            graph.add(action.guard, f"the guard of {action.name} in the other run", holds=False)
            graph.add(after_step(claim.body, action), f"{claim.name} after {action.name}", holds=False)
    return graph


def cycle(machine: Machine, pairs: Iterable[Property] = ()) -> tuple[Edge, ...] | None:
    """A cycle in the sort graph of a machine's proof obligations, None if they are in the decidable fragment."""
    return sort_graph(machine, pairs).cycle()
