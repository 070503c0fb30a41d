"""Whether a regular expression needs linear time, by its structure.

:mod:`re` backtracks. That does no harm if within every loop the text decides where the expression goes on (Glushkov's
automaton is deterministic, with two characters of foresight): there is one path only, and going back along it tries
nothing twice. A search begins at each character; it is linear too if no failing attempt can have gone through
characters that later attempts begin with.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

_PACKAGE = "re._" if sys.version_info >= (3, 11) else "sre_"
constants: Any = import_module(f"{_PACKAGE}constants")
parser: Any = import_module(f"{_PACKAGE}parse{'r' if sys.version_info >= (3, 11) else ''}")

MANY = 64  # repetitions that count as any number
ALPHABET = frozenset([*range(128), 0xE9, 0x663, 0x3BC, 0x4E2D])  # and a letter, a digit and others beyond ASCII
CATEGORIES = {
    constants.CATEGORY_DIGIT: r"\d",
    constants.CATEGORY_NOT_DIGIT: r"\D",
    constants.CATEGORY_SPACE: r"\s",
    constants.CATEGORY_NOT_SPACE: r"\S",
    constants.CATEGORY_WORD: r"\w",
    constants.CATEGORY_NOT_WORD: r"\W",
}
WHOLE = {"match", "fullmatch"}  # methods that begin at one place


class Unclear(Exception):
    """The structure does not show it."""


class Automaton:
    """Glushkov's: one state per character class of the expression."""

    def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
        parsed = parser.parse(pattern, flags)
        self._flags = parsed.state.flags
        self.classes: list[frozenset[int]] = []
        self.follow: list[set[int]] = []
        self.loops: list[frozenset[int]] = []  # the states of each loop
        self.twice = False  # whether two loops are one way
        self.nullable, self.first, self.last = self._sequence(list(parsed))

    def _state(self, characters: frozenset[int]) -> tuple[bool, set[int], set[int]]:
        self.classes.append(characters)
        self.follow.append(set())
        state = len(self.classes) - 1
        return False, {state}, {state}

    def _sequence(self, items: list[Any]) -> tuple[bool, set[int], set[int]]:
        nullable, first, last = True, set[int](), set[int]()
        for item in items:
            empty, begin, end = self._item(item)
            for state in last:
                self.follow[state] |= begin
            first |= begin if nullable else set()
            last = (last | end) if empty else end
            nullable = nullable and empty
        return nullable, first, last

    def _item(self, item: Any) -> tuple[bool, set[int], set[int]]:
        kind, value = item
        if kind in (constants.LITERAL, constants.NOT_LITERAL, constants.ANY, constants.IN):
            return self._state(self._characters(kind, value))
        if kind is constants.SUBPATTERN:
            return self._sequence(list(value[-1]))
        if kind is constants.BRANCH:
            parts = [self._sequence(list(branch)) for branch in value[1]]
            return (
                any(part[0] for part in parts),
                set().union(*(part[1] for part in parts)),
                set().union(*(part[2] for part in parts)),
            )
        if kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            return self._repeat(*value)
        if kind is constants.AT:
            return True, set(), set()
        if kind in (constants.ASSERT, constants.ASSERT_NOT):
            before = len(self.loops)
            self._sequence(list(value[1]))
            if len(self.loops) > before:
                raise Unclear("a loop within an assertion")
            return True, set(), set()
        raise Unclear(f"{kind}")

    def _repeat(self, least: int, most: int, body: Any) -> tuple[bool, set[int], set[int]]:
        if least > MANY:
            raise Unclear("many repetitions")
        items: list[Any] = [(constants.SUBPATTERN, (None, 0, 0, body))]
        if most == 1 or (least == most):
            empty, first, last = self._sequence(items * most)
            return empty or least == 0, first, last
        if most <= MANY:  # a(a(a)?)?
            nested: Any = items
            for _ in range(most - least - 1):
                nested = [*items, (constants.MAX_REPEAT, (0, 1, nested))]
            return self._sequence([*items * least, (constants.MAX_REPEAT, (0, 1, nested))])
        start = len(self.classes)
        empty, first, last = self._sequence(items * max(least, 1))
        mine = frozenset(range(start, len(self.classes)))
        one = self._begin_of_last(items, least, first)
        for state in last:
            self.twice |= bool(self.follow[state] & one)  # an inner loop goes there, too
            self.follow[state] |= one
        self.loops.append(mine)
        return empty or least == 0, first, last

    def _begin_of_last(self, items: list[Any], least: int, first: set[int]) -> set[int]:
        """First states of the last copy of a body that is repeated at least *least* times: the one that loops."""
        if least < 2:
            return first
        size = len(self.classes) - min(first)
        return {state + size // least * (least - 1) for state in first}

    def _characters(self, kind: Any, value: Any) -> frozenset[int]:
        if kind is constants.ANY:
            return ALPHABET if self._flags & re.DOTALL else ALPHABET - {10}
        if kind is constants.LITERAL:
            return self._folded({value})
        if kind is constants.NOT_LITERAL:
            return ALPHABET - self._folded({value})
        found: set[int] = set()
        negated = False
        for what, given in value:
            if what is constants.NEGATE:
                negated = True
            elif what is constants.LITERAL:
                found.add(given)
            elif what is constants.RANGE:
                found |= {code for code in ALPHABET if given[0] <= code <= given[1]}
            elif what is constants.CATEGORY:
                pattern = re.compile(CATEGORIES[given], re.ASCII if self._flags & re.ASCII else 0)
                found |= {code for code in ALPHABET if pattern.match(chr(code))}
        characters = self._folded(found)
        return ALPHABET - characters if negated else characters

    def _folded(self, codes: set[int]) -> frozenset[int]:
        if not self._flags & re.IGNORECASE:
            return frozenset(codes)
        return frozenset(ord(one) for code in codes for one in (chr(code).lower()[:1], chr(code).upper()[:1]))

    def _alike(self, one: int, other: int) -> bool:
        """Whether neither the next character nor the one behind it decides between these states."""
        nexts = (self._classes_of(self.follow[state]) for state in (one, other))
        return bool(self.classes[one] & self.classes[other]) and bool(frozenset.intersection(*nexts))

    def _classes_of(self, states: Iterable[int]) -> frozenset[int]:
        return frozenset[int]().union(*(self.classes[state] for state in states))

    def problems(self, searching: bool) -> Iterator[str]:
        """Why it may need more than linear time."""
        if self.twice:
            yield "a loop within a loop"
        for loop in self.loops:
            for state in sorted(loop):
                after = sorted(self.follow[state])
                for i, one in enumerate(after):
                    if any(self._alike(one, other) for other in after[i + 1 :]):
                        yield "two ways on from within a loop"
        if searching:
            begins = self._classes_of(self.first)
            for loop in self.loops:
                if not loop <= self.last and begins & self._classes_of(loop):
                    yield "a search begins anew at each character of a loop that did not match"


def problems(pattern: str | bytes, flags: int = 0, searching: bool = True) -> list[str]:
    """Why *pattern* may need more than linear time; empty if it is linear."""
    try:
        return sorted(set(Automaton(pattern, flags).problems(searching)))
    except Unclear as unclear:
        return [f"unclear: {unclear}"]
