"""Nodes and packed actions as source text over 64-bit words, for NumPy arrays and for compiled scalars.

A state is `s0, s1, ...`, lowest bits first.  New bits are computed in parallel: bits whose formulas have the same shape
relative to their position (memory takes over what is dirty, word by word) become one expression on shifted words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shmem_model.readers.packed import Packed, PackedAction

WORD = 64
_ALL = (1 << WORD) - 1
_LONG = 48  # a single bit with a longer formula than this is cheaper as a test


@dataclass(frozen=True)
class Dialect:
    """How the target language writes things."""

    conj: str
    disj: str
    negation: str
    spread: str  # all ones where a truth holds, else zero


NUMPY = Dialect(" & ", " | ", "~", "spread({})")
SCALAR = Dialect(" and ", " or ", "not ", "(ALL if {} else ZERO)")


class WordCode:
    """Prints for one dialect; constants become names `K...` (see `constants`)."""

    def __init__(self, packed: Packed, dialect: Dialect) -> None:
        self.packed = packed
        self.dialect = dialect
        self.words = max(1, -(-packed.width // WORD))
        self.constants: dict[int, str] = {}
        self.names: dict[int, str] = {}  # nodes that have a name as truths
        self._masks: dict[int, str] = {}  # nodes that have a name as masks (all ones or zero)
        self._forms: dict[tuple[object, ...], int] = {}
        self._form_text: list[str] = []

    def constant(self, value: int) -> str:
        """The name of a 64-bit constant."""
        return self.constants.setdefault(value & _ALL, f"K{len(self.constants)}")

    # ------------------------------------------------------------------ truths

    def truth(self, node: int) -> str:
        """An expression (in parentheses where needed) that is true where the node holds."""
        if node < 2:
            return "True" if node else "False"
        d = self.dialect
        name = self.names.get(node & ~1)
        if name is not None:
            return f"({d.negation}{name})" if node & 1 else name
        inner = self.packed.bits.parts(node)
        parts = self._tests(inner or (node & ~1,), bool(node & 1))
        return parts[0] if len(parts) == 1 else f"({(d.disj if node & 1 else d.conj).join(parts)})"

    def _tests(self, parts: Iterable[int], negated: bool) -> list[str]:
        """The parts of a conjunction (or their negations): masks word by word, then the rest."""
        cubes: dict[int, tuple[int, int]] = {}
        others = []
        for part in parts:
            position = self.packed.positions.get(part & ~1)
            if position is None or part & ~1 in self.names:
                others.append(self.truth(part ^ 1 if negated else part))
                continue
            word, place = divmod(position, WORD)
            mask, want = cubes.get(word, (0, 0))
            cubes[word] = mask | 1 << place, want | (~part & 1) << place
        sign = "!=" if negated else "=="
        tests = [
            f"((s{word} & {self.constant(mask)}) {sign} {self.constant(want)})"
            for word, (mask, want) in sorted(cubes.items())
        ]
        return tests + others

    # ------------------------------------------------------------------ successors

    def successor(self, action: PackedAction) -> tuple[list[str], list[str]]:
        """Statements that must come first, and the expression of each word of the next state."""
        self._masks, self._forms, self._form_text = {}, {}, []
        lines = self._global_masks([node for _, node in action.computed])
        groups: dict[tuple[int, str], int] = {}  # (word, expression) -> mask
        for (word, form), bits in self._by_form(action).items():
            text = self._form_text[form]
            if len(bits) == 1 and len(text) > _LONG:
                text = self.dialect.spread.format(self.truth(bits[0][1]))
            groups[word, text] = sum(1 << place for place, _ in bits)
        words = []
        for word in range(self.words):
            clear, set_ = (mask >> WORD * word & _ALL for mask in (action.clear, action.set))
            parts = [f"(s{word} & {self.constant(~clear)})" if clear else f"s{word}"]
            parts += [self.constant(set_)] if set_ else []
            parts += [f"({text} & {self.constant(mask)})" for (at, text), mask in groups.items() if at == word]
            words.append(" | ".join(parts))
        return lines, words

    def _by_form(self, action: PackedAction) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """The computed bits (place in the word, node) by word and form."""
        groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for position, node in action.computed:
            word, place = divmod(position, WORD)
            groups.setdefault((word, self._form(node, word, place)), []).append((place, node))
        return groups

    def _global_masks(self, nodes: list[int]) -> list[str]:
        """Name what several new bits depend on in the same way."""
        used: dict[int, int] = {}
        order: list[int] = []
        for root in dict.fromkeys(nodes):
            seen: set[int] = set()
            self._visit(root & ~1, seen, used, order)
        repeated = {node & ~1 for node in nodes if nodes.count(node) + nodes.count(node ^ 1) > 1}
        lines = []
        for base in order:
            if used[base] > 1 or base in repeated:
                name = self._masks[base] = f"g{base}"
                lines.append(f"{name} = {self.dialect.spread.format(self.truth(base))}")
        return lines

    def _visit(self, base: int, seen: set[int], used: dict[int, int], order: list[int]) -> None:
        if base in seen:
            return
        seen.add(base)
        if base not in used:
            order.append(base)
        used[base] = used.get(base, 0) + 1
        if used[base] == 1:  # below a shared node nothing needs a name of its own
            for part in self.packed.bits.parts(base):
                self._visit(part & ~1, seen, used, order)

    def _form(self, node: int, word: int, place: int) -> int:
        """The shape of a node relative to a bit position; equal shapes are computed together."""
        base, flip = node & ~1, node & 1
        key: tuple[object, ...]
        if base in self._masks:
            key, text = ("mask", base, flip), self._masks[base]
        elif not self.packed.bits.parts(base):
            source, at = divmod(self.packed.positions[base], WORD)
            shift = at - place
            key, text = ("bit", source, shift, flip), _shifted(source, shift, self)
        else:
            inner = sorted(self._form(part, word, place) for part in self.packed.bits.parts(base))
            key, text = ("and", *inner, flip), "(" + " & ".join(self._form_text[i] for i in inner) + ")"
        found = self._forms.get(key)
        if found is None:
            found = self._forms[key] = len(self._form_text)
            self._form_text.append(f"(~{text})" if flip else text)
        return found


def _shifted(word: int, shift: int, code: WordCode) -> str:
    if shift == 0:
        return f"s{word}"
    return f"(s{word} {'>>' if shift > 0 else '<<'} {code.constant(abs(shift))})"
