"""Terms: the immutable typed expressions in which machines are written.

Why our own tree and not solver terms: a term must be read by many readers (run, explored, proved, printed,
mutated), so it may belong to none of them.  Three rules keep authors out of known traps:

* a term has no truth value in Python (`bool(term)` raises), so `and`, `or`, `not`, `if` cannot drop a part of it;
* `==` compares identity; equality of values is the term `x.same(y)`;
* binders are numbered by height, so equal formulas are one object and no substitution can capture a variable.

Terms are interned: building the same term twice gives the same object, which makes memo tables cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self


class LanguageError(TypeError):
    """A machine text is malformed: wrong sort, wrong arity, unknown name, double update, ..."""


class _Interned:
    """Objects of equal fields are one object, also after pickling."""

    __slots__ = ("__weakref__", "fields")
    _table: ClassVar[dict[tuple[Any, ...], Any]] = {}
    fields: tuple[Any, ...]

    def __new__(cls, *fields: Any) -> Self:
        key = (cls, *fields)
        found: Self | None = _Interned._table.get(key)
        if found is None:
            found = object.__new__(cls)
            found.fields = fields
            found._check()
            _Interned._table[key] = found
        return found

    def _check(self) -> None:
        """Raise LanguageError when the fields do not fit together."""

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return type(self), self.fields


class Sort(_Interned):
    """A sort: a non-empty set of elements of any size (agents, frames, ...)."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The sort's name."""
        return str(self.fields[0])

    def __repr__(self) -> str:
        return self.name


BOOL = Sort("Bool")


class Term(_Interned):
    """A typed expression.  Build it with `&`, `|`, `~`, `.implies()`, `.same()` and the functions below."""

    __slots__ = ("_height",)
    _height: int

    @property
    def sort(self) -> Sort:
        """The sort of the value that the term stands for."""
        return BOOL

    @property
    def parts(self) -> tuple[Term, ...]:
        """The direct subterms."""
        return tuple(field for field in self.fields if isinstance(field, Term))

    @property
    def height(self) -> int:
        """How many binders are nested in the term; binders take the next number (see module docstring)."""
        try:
            return self._height
        except AttributeError:
            self._height = max((part.height for part in self.parts), default=0)
            return self._height

    def __bool__(self) -> bool:
        raise LanguageError(f"a term has no truth value in Python (use & | ~ .implies() .same()): {self}")

    def __and__(self, other: Term) -> Term:
        return conj(self, other)

    def __or__(self, other: Term) -> Term:
        return disj(self, other)

    def __invert__(self) -> Term:
        return negation(self)

    def implies(self, other: Term) -> Term:
        """If self holds then so does other."""
        _need_bool(self, other)
        if self is TRUE or other is TRUE:
            return other
        return TRUE if self is FALSE else Implies(self, other)

    def same(self, other: Term) -> Term:
        """Both stand for the same value."""
        return TRUE if self is other else Same(self, other)

    def differs(self, other: Term) -> Term:
        """They stand for different values."""
        return negation(self.same(other))

    def __repr__(self) -> str:
        from shmem_model.language.text import show

        return show(self)


def _need_bool(*terms: Term) -> None:
    for term in terms:
        if not isinstance(term, Term) or term.sort is not BOOL:
            raise LanguageError(f"a Boolean term is needed here, got {term!r}")


class Truth(Term):
    """The constants true and false."""

    __slots__ = ()

    @property
    def value(self) -> bool:
        """Which of the two."""
        return bool(self.fields[0])


TRUE, FALSE = Truth(True), Truth(False)


class _Named(Term):
    __slots__ = ()

    @property
    def name(self) -> str:
        """The name that readers show."""
        return str(self.fields[0])

    @property
    def sort(self) -> Sort:
        """The sort that the name ranges over."""
        sort: Sort = self.fields[1]
        return sort


class Parameter(_Named):
    """A parameter of an action or a free variable of a property: (name, sort)."""

    __slots__ = ()


class Formal(_Named):
    """An argument place of a state function, as used in updates: (name, sort, position)."""

    __slots__ = ()


class Bound(_Named):
    """A variable of a quantifier: (name, sort, number), where the number is the height of its binder."""

    __slots__ = ()

    @property
    def height(self) -> int:
        """Its number, so that no other binder over it takes that number."""
        return int(self.fields[2])


class Element(_Named):
    """One particular element of a finite sort: (name, sort, index).  Scopes make them, machine texts never."""

    __slots__ = ()

    @property
    def index(self) -> int:
        """Position of the element in its sort, from 0."""
        return int(self.fields[2])


class Apply(Term):
    """A state or platform function at some arguments: (function, *arguments)."""

    __slots__ = ()

    @property
    def function(self) -> Function:
        """The function that is applied."""
        function: Function = self.fields[0]
        return function

    @property
    def sort(self) -> Sort:
        """The function's result sort."""
        return self.function.result

    def _check(self) -> None:
        want = self.function.arguments
        got = self.fields[1:]
        if any(not isinstance(term, Term) for term in got):
            raise LanguageError(f"{self.function.name} is applied to something that is no term: {got}")
        if tuple(term.sort for term in got) != want:
            raise LanguageError(
                f"{self.function.name} takes {list(want)}, got {[term.sort for term in got]} ({list(got)})"
            )


class Not(Term):
    """Negation."""

    __slots__ = ()

    def _check(self) -> None:
        _need_bool(*self.fields)


class And(Term):
    """Conjunction of any number of terms."""

    __slots__ = ()

    def _check(self) -> None:
        _need_bool(*self.fields)


class Or(Term):
    """Disjunction of any number of terms."""

    __slots__ = ()

    def _check(self) -> None:
        _need_bool(*self.fields)


class Implies(Term):
    """Implication: (premise, conclusion)."""

    __slots__ = ()

    def _check(self) -> None:
        _need_bool(*self.fields)


class Ite(Term):
    """If-then-else: (condition, then, otherwise)."""

    __slots__ = ()

    @property
    def sort(self) -> Sort:
        """The common sort of the two branches."""
        then: Term = self.fields[1]
        return then.sort

    def _check(self) -> None:
        _need_bool(self.fields[0])
        if self.fields[1].sort is not self.fields[2].sort:
            raise LanguageError(f"the branches of an if-then-else differ in sort: {self.fields[1:]}")


class Same(Term):
    """Equality of two values of one sort."""

    __slots__ = ()

    def _check(self) -> None:
        left, right = self.fields
        if not isinstance(left, Term) or not isinstance(right, Term) or left.sort is not right.sort:
            raise LanguageError(f"same() compares two terms of one sort, got {left!r} and {right!r}")


class After(Term):
    """The value that a term has after the step; only in properties of steps."""

    __slots__ = ()

    @property
    def sort(self) -> Sort:
        """The sort of the inner term."""
        inner: Term = self.fields[0]
        return inner.sort


class _Quantified(Term):
    """A quantifier over one variable: (variable, body)."""

    __slots__ = ()

    @property
    def variable(self) -> Bound:
        """The bound variable."""
        variable: Bound = self.fields[0]
        return variable

    @property
    def body(self) -> Term:
        """The formula under the quantifier."""
        body: Term = self.fields[1]
        return body

    @property
    def parts(self) -> tuple[Term, ...]:
        """The body; the variable is not a part."""
        return (self.body,)

    @property
    def height(self) -> int:
        """The number of the variable."""
        return int(self.variable.fields[2])

    def _check(self) -> None:
        _need_bool(self.body)


class Forall(_Quantified):
    """For every element of the variable's sort."""

    __slots__ = ()


class Exists(_Quantified):
    """For some element of the variable's sort."""

    __slots__ = ()


class Function(_Interned):
    """A state function or platform constant: (name, argument sorts, result sort, layer, sentence).

    Layers: `platform` never changes (hardware choices, rights, membership); `hardware` is what caches, buffers,
    memory and translation caches hold; `software` is what driver and programs agreed on; `ghost` is the custody
    monitor, which no other layer reads.
    """

    __slots__ = ()
    LAYERS = ("platform", "hardware", "software", "ghost")

    @property
    def name(self) -> str:
        """The function's name."""
        return str(self.fields[0])

    @property
    def arguments(self) -> tuple[Sort, ...]:
        """The sorts of its arguments."""
        sorts: tuple[Sort, ...] = self.fields[1]
        return sorts

    @property
    def result(self) -> Sort:
        """The sort of its values."""
        sort: Sort = self.fields[2]
        return sort

    @property
    def layer(self) -> str:
        """The layer that it belongs to."""
        return str(self.fields[3])

    @property
    def sentence(self) -> str:
        """What it means."""
        return str(self.fields[4])

    def _check(self) -> None:
        if self.layer not in self.LAYERS:
            raise LanguageError(f"function {self.name}: unknown layer {self.layer}")

    @property
    def formals(self) -> tuple[Formal, ...]:
        """One variable for each argument place, used in updates of this function."""
        return tuple(Formal(f"x{i}", sort, i) for i, sort in enumerate(self.arguments))

    def __call__(self, *arguments: Term) -> Term:
        applied: Term = Apply(self, *arguments)
        return applied

    def __repr__(self) -> str:
        return self.name


def conj(*terms: Term) -> Term:
    """All of the terms hold (flattened; constants are folded)."""
    _need_bool(*terms)
    flat = [part for term in terms for part in (term.fields if isinstance(term, And) else (term,))]
    if FALSE in flat:
        return FALSE
    flat = [term for term in dict.fromkeys(flat) if term is not TRUE]
    return TRUE if not flat else flat[0] if len(flat) == 1 else And(*flat)


def disj(*terms: Term) -> Term:
    """At least one of the terms holds (flattened; constants are folded)."""
    _need_bool(*terms)
    flat = [part for term in terms for part in (term.fields if isinstance(term, Or) else (term,))]
    if TRUE in flat:
        return TRUE
    flat = [term for term in dict.fromkeys(flat) if term is not FALSE]
    return FALSE if not flat else flat[0] if len(flat) == 1 else Or(*flat)


def negation(term: Term) -> Term:
    """The term does not hold (constants are folded)."""
    if isinstance(term, Truth):
        return FALSE if term is TRUE else TRUE
    return Not(term)


def ite(condition: Term, then: Term, otherwise: Term) -> Term:
    """`then` where the condition holds, `otherwise` elsewhere (constants are folded)."""
    _need_bool(condition)
    if isinstance(condition, Truth):
        return then if condition is TRUE else otherwise
    return then if then is otherwise else Ite(condition, then, otherwise)


def replace(term: Term, mapping: dict[Term, Term]) -> Term:
    """Replace variables by terms; binders are renumbered so that nothing is captured."""
    return _replace(term, mapping, {}) if mapping else term


_opened: list[str] = []  # binders that are open for replacing, outermost first: each hole has a name of its own


def _replace(term: Term, mapping: dict[Term, Term], done: dict[Term, Term]) -> Term:
    found = mapping.get(term, done.get(term))
    if found is not None:
        return found
    if isinstance(term, _Quantified):
        new = _replace_under(term, mapping, done)
    elif term.parts:
        fields = [_replace(field, mapping, done) if isinstance(field, Term) else field for field in term.fields]
        new = term if tuple(fields) == term.fields else type(term)(*fields)
    else:
        new = term
    done[term] = new
    return new


def _replace_under(term: _Quantified, mapping: dict[Term, Term], done: dict[Term, Term]) -> Term:
    name = term.variable.name
    _opened.append(name)
    try:
        hole = Parameter(f"<{name}.{len(_opened)}>", term.variable.sort)
        inner = _replace(term.body, {term.variable: hole}, {})
        return _bind(type(term), name, hole, _replace(inner, mapping, done))
    finally:
        _opened.pop()


def _bind(kind: type[_Quantified], name: str, hole: Term, body: Term) -> Term:
    _need_bool(body)
    variable = Bound(name, hole.sort, body.height + 1)
    return kind(variable, replace(body, {hole: variable}))


def close(kind: type[Forall] | type[Exists], variables: tuple[Parameter, ...], body: Term) -> Term:
    """Quantify the body over its free variables, the first outermost."""
    for variable in reversed(variables):
        body = _bind(kind, variable.name, variable, body)
    return body


_open: list[str] = []  # names of the quantifiers that are being built, outermost first


def _quantify(kind: type[_Quantified], spec: tuple[Any, ...]) -> Term:
    *sorts, make = spec
    names = make.__code__.co_varnames[: make.__code__.co_argcount]
    holes = [Parameter(f"<{len(_open)}:{name}>", sort) for name, sort in zip(names, sorts, strict=True)]
    _open.extend(names)
    try:
        body: Term = make(*holes)
    finally:
        del _open[len(_open) - len(names) :]
    for name, hole in reversed(list(zip(names, holes, strict=True))):
        body = _bind(kind, name, hole, body)
    return body


def forall(*spec: Sort | Callable[..., Term]) -> Term:
    """`forall(Agent, Word, lambda c, w: ...)`: the body holds for all of them."""
    return _quantify(Forall, spec)


def exists(*spec: Sort | Callable[..., Term]) -> Term:
    """`exists(Agent, lambda c: ...)`: the body holds for at least one of them."""
    return _quantify(Exists, spec)


def after(term: Term) -> Term:
    """The value of the term after the step (properties of steps only)."""
    return After(term)


def walk(term: Term) -> Iterator[Term]:
    """The term and all its subterms, outermost first, each once."""
    seen: set[Term] = set()
    stack = [term]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            yield node
            stack.extend(reversed(node.parts))


def functions_of(term: Term) -> set[Function]:
    """The functions that a term mentions."""
    return {node.function for node in walk(term) if isinstance(node, Apply)}
