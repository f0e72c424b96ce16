"""The concrete reader: the oracle.  It runs a machine in a scope one step at a time, exactly as the text says.

A state maps every state function to the tuple of its values, in the order of `scope.places(function)`; Booleans are 0
and 1, elements their index.  Nothing here is packed, folded or skipped: every update is evaluated at every place.
`quick.Quick` gives the same answers faster; tests compare the two, and both with the explorer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from shmem_model.language import Action, Function, LanguageError, Parameter, Property, Term
from shmem_model.language import terms as t
from shmem_model.readers.scope import Scope, look_up

State = Mapping[Function, tuple[int, ...]]
Call = tuple[str, tuple[int, ...]]
"""An action's name and its arguments, in the order of its parameters."""

DONE = "done"


@dataclass(frozen=True)
class Answer:
    """What an action says in a state: it is done, it waits, it is refused as NAME, or it faults as NAME."""

    kind: str
    name: str = ""

    @property
    def done(self) -> bool:
        """The step can be taken."""
        return self.kind == DONE

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


@dataclass
class _Run:
    """Where a term is evaluated: a state, the state after the step (if any), variables, what the step returned."""

    state: State
    env: dict[Term, int]
    after: State | None = None


Code = Callable[[_Run], int]


class Concrete:
    """A scope that can be run."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.actions: Mapping[str, Action] = scope.machine.actions
        self._code: dict[Term, Code] = {}
        self._places = {f: list(scope.places(f)) for f in scope.machine.functions}
        self._platform = {
            f: tuple(scope.platform_value(f, place) for place in self._places[f]) for f in scope.machine.platform
        }

    # ------------------------------------------------------------------ running

    def initial(self) -> State:
        """The start state."""
        start, machine = self.scope.start, self.scope.machine
        state = {}
        for function in machine.state:
            if function in start:
                state[function] = tuple(look_up(start[function], place) for place in self._places[function])
            else:
                state[function] = self._table(function, machine.initial[function], _Run({}, {}))
        return state

    def answer(self, state: State, action: str, arguments: Sequence[int]) -> Answer:
        """Done, or the first condition of the action that does not hold."""
        run = self._at(state, action, arguments)
        for condition in self.actions[action].conditions:
            if not self._compiled(condition.holds)(run):
                return Answer(condition.kind, condition.name)
        return Answer(DONE)

    def step(self, state: State, action: str, arguments: Sequence[int]) -> State:
        """The state after the action; LanguageError where it is not enabled."""
        answer = self.answer(state, action, arguments)
        if not answer.done:
            raise LanguageError(f"{action}{tuple(arguments)} cannot be taken here: {answer}")
        run = self._at(state, action, arguments)
        updates = self.actions[action].updates
        return {**state, **{f: self._table(f, u.body, run) for f, u in updates.items()}}

    def returns(self, state: State, action: str, arguments: Sequence[int]) -> int | None:
        """What the action answers with when it is done; None if it answers with nothing."""
        term = self.actions[action].returns
        return None if term is None else self._compiled(term)(self._at(state, action, arguments))

    def calls(self, actions: Iterable[str] | None = None) -> Iterator[Call]:
        """All actions with all arguments, enabled or not."""
        for name in self.actions if actions is None else actions:
            ranges = [range(self.scope.size(p.sort)) for p in self.actions[name].parameters]
            for arguments in product(*ranges):
                yield name, arguments

    def enabled(self, state: State, actions: Iterable[str] | None = None) -> list[Call]:
        """The actions that can be taken, with their arguments."""
        return [(name, args) for name, args in self.calls(actions) if self.answer(state, name, args).done]

    # ------------------------------------------------------------------ asking

    def value(self, state: State, term: Term, variables: Mapping[Term, int] | None = None) -> int:
        """The value of a term; `variables` gives its free variables."""
        return self._compiled(term)(_Run(state, dict(variables or {})))

    def holds(self, claim: Property, state: State) -> bool:
        """An invariant, axiom or set of states holds in this state."""
        if claim.kind == "step":
            raise LanguageError(f"{claim.name} is a property of steps")
        return bool(self._compiled(claim.closed)(_Run(state, {})))

    def holds_step(self, claim: Property, before: State, action: str, arguments: Sequence[int], after: State) -> bool:
        """A property of steps holds of this step.

        Free variables of the property that are none of its own name the action's parameters; `actor` is the agent
        that acts (whoever it is, where nobody in particular does), `answer` what the action returned.
        """
        text = self.actions[action]
        if claim.actions and text.base not in claim.actions and action not in claim.actions:
            return True
        run = self._at(before, action, arguments)
        if text.returns is not None:
            run.env[Parameter("answer", text.returns.sort)] = self._compiled(text.returns)(run)
        run.after = after
        names = {node for node in t.walk(claim.body) if isinstance(node, Parameter) and node.name == "actor"}
        for name in names.difference(claim.variables):
            actor = text.actor(name.sort)
            if actor is None:
                claim = replace(claim, variables=(*claim.variables, name))
            else:
                run.env[name] = run.env[actor]
        return bool(self._compiled(t.close(t.Forall, claim.variables, claim.body))(run))

    def culprits(self, claim: Property, state: State) -> Iterator[dict[str, str]]:
        """The elements for which an invariant does not hold."""
        body = self._compiled(claim.body)
        for places in product(*(range(self.scope.size(v.sort)) for v in claim.variables)):
            env: dict[Term, int] = dict(zip(claim.variables, places, strict=True))
            if not body(_Run(state, env)):
                yield {v.name: self.scope.label(v.sort, i) for v, i in zip(claim.variables, places, strict=True)}

    # ------------------------------------------------------------------ evaluation

    def _at(self, state: State, action: str, arguments: Sequence[int]) -> _Run:
        if action not in self.actions:
            raise LanguageError(f"scope {self.scope.name} has no action {action}")
        return _Run(state, dict(zip(self.actions[action].parameters, arguments, strict=True)))

    def _table(self, function: Function, body: Term, run: _Run) -> tuple[int, ...]:
        """All values of a function that is given in terms of its formals."""
        code, formals = self._compiled(body), function.formals
        values = []
        for place in self._places[function]:
            run.env.update(zip(formals, place, strict=True))
            values.append(code(run))
        return tuple(values)

    def _compiled(self, term: Term) -> Code:
        code = self._code.get(term)
        if code is None:
            code = self._code[term] = self._make(term)
        return code

    def _make(self, term: Term) -> Code:
        """A term as a Python function; each kind of node does what its name says."""
        match term:
            case t.Truth() | t.Element():
                constant = int(term.fields[0]) if isinstance(term, t.Truth) else term.fields[2]
                return lambda run: constant
            case t.Parameter() | t.Formal() | t.Bound():
                return lambda run: run.env[term]
            case t.Apply():
                return self._make_apply(term)
            case t.After():
                inner = self._compiled(term.fields[0])
                return lambda run: inner(_later(run))
            case t.Forall() | t.Exists():
                return self._make_quantifier(term)
        parts = [self._compiled(part) for part in term.parts]
        match term:
            case t.Not():
                return lambda run: 1 - parts[0](run)
            case t.And():
                return lambda run: int(all(part(run) for part in parts))
            case t.Or():
                return lambda run: int(any(part(run) for part in parts))
            case t.Implies():
                return lambda run: parts[1](run) if parts[0](run) else 1
            case t.Same():
                return lambda run: int(parts[0](run) == parts[1](run))
            case t.Ite():
                return lambda run: parts[1](run) if parts[0](run) else parts[2](run)
        raise LanguageError(f"the concrete reader does not know terms of type {type(term).__name__}")

    def _make_apply(self, term: t.Apply) -> Code:
        function = term.function
        arguments = [self._compiled(part) for part in term.parts]
        number = {place: i for i, place in enumerate(self._places[function])}
        table = self._platform.get(function)
        if table is not None:
            return lambda run: table[number[tuple([part(run) for part in arguments])]]
        return lambda run: run.state[function][number[tuple([part(run) for part in arguments])]]

    def _make_quantifier(self, term: t.Forall | t.Exists) -> Code:
        body, variable = self._compiled(term.body), term.variable
        elements = range(self.scope.size(variable.sort))
        decisive = int(isinstance(term, t.Exists))

        def every(run: _Run) -> int:
            for run.env[variable] in elements:
                if body(run) == decisive:
                    return decisive
            return 1 - decisive

        return every


def _later(run: _Run) -> _Run:
    if run.after is None:
        raise LanguageError("`after` is meant for properties of steps")
    return _Run(run.after, run.env, run.after)
