"""Names that programs import from modules where they are not at home."""

from __future__ import annotations

import importlib

import pytest


@pytest.mark.parametrize(
    "module, name, home",
    [
        ("cassandra.util", "inet_pton", "socket"),
        ("cassandra.util", "inet_ntop", "socket"),
        ("cassandra.query", "OrderedDict", "collections"),
        ("cassandra.cqltypes", "UUID", "uuid"),
        ("cassandra.cqltypes", "Decimal", "decimal"),
    ],
)
def test_a_name_is_that_of_its_home(module: str, name: str, home: str) -> None:
    assert getattr(importlib.import_module(module), name) is getattr(importlib.import_module(home), name)
