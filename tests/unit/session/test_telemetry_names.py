"""Names of attributes and metrics are those that OpenTelemetry publishes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from cassandra._session import telemetry
from tests.packages import module

semconv = "opentelemetry.semconv"
PUBLISHED = [
    f"{semconv}.attributes.db_attributes",
    f"{semconv}.attributes.error_attributes",
    f"{semconv}.attributes.exception_attributes",
    f"{semconv}.attributes.network_attributes",
    f"{semconv}.attributes.server_attributes",
    f"{semconv}._incubating.attributes.cassandra_attributes",
]
OLD = f"{semconv}._incubating.attributes.db_attributes"


def names_in(*modules: str) -> set[str]:
    found: list[dict[str, Any]] = [vars(module(name)) for name in modules]
    return {value for names in found for name, value in names.items() if name.isupper() and isinstance(value, str)}


def test_attributes() -> None:
    ours = {
        value
        for name, value in vars(telemetry).items()
        if name.isupper() and isinstance(value, str) and value.startswith(("db.", "cassandra.", "server.", "network."))
    }
    ours -= {telemetry.DURATION}
    ours |= {telemetry.ERROR_TYPE, telemetry.EXCEPTION_TYPE, telemetry.EXCEPTION_MESSAGE}
    assert ours <= names_in(*PUBLISHED)
    assert set(telemetry.OF_DURATION) | set(telemetry.OLD_NAMES) <= ours
    assert len(ours) >= 20


def test_old_attributes() -> None:
    assert set(telemetry.OLD_NAMES.values()) <= names_in(OLD)


def test_values() -> None:
    db = module(f"{semconv}.attributes.db_attributes")
    levels = module(f"{semconv}._incubating.attributes.cassandra_attributes").CassandraConsistencyLevelValues
    systems = module(f"{semconv}._incubating.attributes.db_attributes").DbSystemNameValues
    assert db.DB_SYSTEM_NAME == telemetry.SYSTEM and systems.CASSANDRA.value == "cassandra"
    from cassandra import ConsistencyLevel

    assert {name.lower() for name in ConsistencyLevel.name_to_value} == {level.value for level in levels}


def test_the_metric() -> None:
    published = module(f"{semconv}.metrics.db_metrics")
    assert telemetry.DURATION == published.DB_CLIENT_OPERATION_DURATION


def test_the_schema() -> None:
    """The URL of the conventions: at least the newest of the package."""
    schemas = module(f"{semconv}.schemas").Schemas
    newest = max(schemas, key=lambda schema: [int(part) for part in schema.value.rpartition("/")[2].split(".")]).value
    base, _, version = telemetry.SCHEMA.rpartition("/")
    assert base == newest.rpartition("/")[0]
    assert [int(part) for part in version.split(".")] >= [1, 44, 0]


def test_codes() -> None:
    from cassandra._base import server_errors

    known = {
        kind.error_code for kind in vars(server_errors).values() if isinstance(getattr(kind, "error_code", None), int)
    }
    assert set(telemetry.CODES.values()) <= known


def test_opentelemetry_is_imported_when_it_is_used() -> None:
    """And only then; without it the error names the extra."""
    code = (
        "import sys, cassandra.cluster, cassandra.telemetry\n"
        "assert not any(name.startswith('opentelemetry') for name in sys.modules)\n"
        "sys.modules['opentelemetry'] = None\n"
        "try: cassandra.telemetry.OpenTelemetry()\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ}, check=False)
    assert "fastcql[otel]" in done.stdout, done.stderr


@pytest.mark.parametrize("choice", ["", "database", "database/dup", "http/dup,database/dup"])
def test_the_choice_of_names(choice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(telemetry.OPT_IN, choice)
    sdk = module("opentelemetry.sdk.trace")
    tracker = telemetry.OpenTelemetry(tracer_provider=sdk.TracerProvider(shutdown_on_exit=False))
    found = tracker._named({telemetry.SYSTEM: "cassandra"})
    assert found == {"db.system.name": "cassandra", **({"db.system": "cassandra"} if "database/dup" in choice else {})}
