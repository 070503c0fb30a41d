"""Whether methods of a class were replaced."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra._core.models import UnmodifiedMethods


class Kind:
    def one(self) -> None: ...
    def other(self) -> None: ...


def test_untouched_recognizes_classes_and_instances_without_overrides() -> None:
    untouched = UnmodifiedMethods(Kind, ["one", "other"])
    made: Any = Kind()
    assert untouched.holds() and untouched.of(made)
    made.something = 1
    assert untouched.of(made)
    made.other = None
    assert not untouched.of(made)
    assert not untouched.of(type("Sub", (Kind,), {})()) and not untouched.of(Kind) and not untouched.of(None)


def test_a_class_that_was_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    untouched = UnmodifiedMethods(Kind, ["one"])
    monkeypatch.setattr(Kind, "other", None)
    assert untouched.holds() and untouched.of(Kind())
    monkeypatch.setattr(Kind, "one", lambda self: None)
    assert not untouched.holds() and not untouched.of(Kind())
    monkeypatch.undo()
    assert untouched.holds() and untouched.of(Kind())


def test_methods_that_are_gone() -> None:
    class Short:
        def one(self) -> None: ...

    untouched = UnmodifiedMethods(Short, ["one"])
    del Short.one
    with pytest.raises(AttributeError):
        untouched.holds()
