"""What users of :mod:`cassandra.testing` see is documented and typed."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from typing import Any

import cassandra.testing
from cassandra.testing import errors, faults

MODULES = (cassandra.testing, errors, faults)


def public() -> Iterator[tuple[str, Any]]:
    """Every public class and function, and the members that a class of ours adds."""
    for module in MODULES:
        names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
        for name in names:
            value = getattr(module, name)
            if not (inspect.isclass(value) or inspect.isfunction(value)) or "cassandra.testing" not in value.__module__:
                continue
            yield f"{module.__name__}.{name}", value
            for member, item in vars(value).items() if inspect.isclass(value) else ():
                item = item.fget if isinstance(item, property) else getattr(item, "__func__", item)
                if not member.startswith("_") and inspect.isfunction(item):
                    yield f"{module.__name__}.{name}.{member}", item


OVERRIDDEN = {"react", "release", "fields", "body"}  # documented where they are declared


def test_it_is_documented() -> None:
    missing = [name for name, item in public() if not inspect.getdoc(item) and name.split(".")[-1] not in OVERRIDDEN]
    assert not missing, "\n".join(missing)


def test_it_is_typed() -> None:
    missing = []
    for name, item in public():
        if inspect.isfunction(item):
            parameters = [found for found in inspect.signature(item).parameters.values() if found.name != "self"]
            if "return" not in item.__annotations__ or any(found.annotation is found.empty for found in parameters):
                missing.append(name)
    assert not missing, "\n".join(missing)


def test_examples_of_types() -> None:
    """The hints of the constructor are real ones, which tools can read."""
    hints = typing.get_type_hints(cassandra.testing.SimulatedCluster.__init__)
    assert hints["nodes"] is int and hints["tablets"] is bool
