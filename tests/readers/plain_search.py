"""A second way to run a scope: a naive evaluator and breadth-first search, written for the tests of the
printers.

It shares no code with the readers.  A state is a dictionary from (function, indices) to an index.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import product

from shmem_model.language import Function, Term
from shmem_model.language import terms as t
from shmem_model.readers.scope import Scope, look_up


@dataclass
class Found:
    """What a search counted: states, transitions per action, and states that break an invariant."""

    states: int
    fired: Counter
    broken: Counter

    @property
    def rules(self):
        return sum(self.fired.values())


class Search:
    """One scope, run naively."""

    def __init__(self, scope: Scope):
        self.scope = scope

    def value(self, term: Term, state, env):
        """The index that a term stands for."""
        go = lambda part: self.value(part, state, env)  # noqa: E731
        match term:
            case t.Truth():
                return int(term.value)
            case t.Element():
                return term.index
            case t.Parameter() | t.Formal() | t.Bound():
                return env[term]
            case t.Apply():
                place = tuple(go(part) for part in term.parts)
                if term.function.layer == "platform":
                    return look_up(self.scope.platform[term.function], place)
                return state[term.function, place]
            case t.Not():
                return 1 - go(term.fields[0])
            case t.And():
                return int(all(go(part) for part in term.fields))
            case t.Or():
                return int(any(go(part) for part in term.fields))
            case t.Implies():
                return int(not go(term.fields[0]) or bool(go(term.fields[1])))
            case t.Same():
                return int(go(term.fields[0]) == go(term.fields[1]))
            case t.Ite():
                return go(term.fields[1] if go(term.fields[0]) else term.fields[2])
            case t.Forall() | t.Exists():
                over = range(self.scope.size(term.variable.sort))
                every = (self.value(term.body, state, {**env, term.variable: i}) for i in over)
                return int(all(every) if isinstance(term, t.Forall) else any(every))
        raise AssertionError(f"unknown term {term}")

    def table(self, function: Function, body: Term, state, env):
        """All cells of a function whose body is given in terms of its formals."""
        for place in self.scope.places(function):
            here = dict(zip(function.formals, place, strict=True))
            yield (function, place), self.value(body, state, {**env, **here})

    def start(self):
        state = {}
        for function in self.scope.machine.state:
            if function in self.scope.start:
                table = self.scope.start[function]
                state |= {(function, p): look_up(table, p) for p in self.scope.places(function)}
            else:
                state |= dict(self.table(function, self.scope.machine.initial[function], {}, {}))
        return state

    def steps(self, state):
        """Every transition of a state: (action name, arguments, next state)."""
        for action in self.scope.machine.actions.values():
            for arguments in product(*(range(self.scope.size(p.sort)) for p in action.parameters)):
                env = dict(zip(action.parameters, arguments, strict=True))
                if all(self.value(c.holds, state, env) for c in action.conditions):
                    after = dict(state)
                    for update in action.updates.values():
                        after |= dict(self.table(update.function, update.body, state, env))
                    yield action.name, arguments, after

    def some_states(self, count):
        """The first reachable states, at most so many."""
        seen, todo = set(), [self.start()]
        while todo and len(seen) < count:
            state = todo.pop(0)
            if tuple(state.items()) not in seen:
                seen.add(tuple(state.items()))
                yield state
                todo += [after for _, _, after in self.steps(state)]

    def run(self, limit: int = 5000, invariants=()) -> Found:
        """Explore everything; more than `limit` states is an error of the test."""
        first = self.start()
        keys = list(first)
        seen = {tuple(first[k] for k in keys)}
        todo, fired, broken = [first], Counter(), Counter()
        while todo:
            state = todo.pop()
            broken.update(p.name for p in invariants if not self.value(p.closed, state, {}))
            for name, _, after in self.steps(state):
                fired[name] += 1
                packed = tuple(after[k] for k in keys)
                if packed not in seen:
                    seen.add(packed)
                    todo.append(after)
            assert len(seen) <= limit, f"{self.scope.name} is too large for the naive search"
        return Found(len(seen), fired, broken)
