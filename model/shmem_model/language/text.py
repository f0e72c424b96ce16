"""Terms as short readable text (for messages, reports and the reference pages)."""

from __future__ import annotations

from shmem_model.language import terms as t

_LOOSE = {t.Implies: 1, t.Or: 2, t.And: 3, t.Same: 4}


def show(term: t.Term, outer: int = 0) -> str:
    """The term as one line; parentheses only where needed."""
    text = _plain(term)
    level = 1 if isinstance(term, t.Forall | t.Exists | t.Ite) else _LOOSE.get(type(term), 9)
    return f"({text})" if level <= outer else text


def _plain(term: t.Term) -> str:
    match term:
        case t.Truth():
            return "true" if term.value else "false"
        case t.Parameter() | t.Formal() | t.Bound() | t.Element():
            return term.name
        case t.Apply():
            return f"{term.function.name}({', '.join(show(part) for part in term.parts)})"
        case t.Not():
            inner = term.fields[0]
            if isinstance(inner, t.Same):
                return " != ".join(show(part, 4) for part in inner.fields)
            return f"not {show(inner, 4)}"
        case t.And():
            return " and ".join(show(part, 3) for part in term.fields)
        case t.Or():
            return " or ".join(show(part, 2) for part in term.fields)
        case t.Implies():
            return f"{show(term.fields[0], 1)} -> {show(term.fields[1], 0)}"
        case t.Same():
            return " = ".join(show(part, 4) for part in term.fields)
        case t.Ite():
            condition, then, otherwise = term.fields
            return f"if {show(condition)} then {show(then)} else {show(otherwise)}"
        case t.After():
            return f"after({show(term.fields[0])})"
        case t.Forall() | t.Exists():
            word = "every" if isinstance(term, t.Forall) else "some"
            return f"{word} {term.variable.name}: {show(term.body)}"
    raise t.LanguageError(f"cannot show a {type(term).__name__}")
