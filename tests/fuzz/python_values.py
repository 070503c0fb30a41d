"""Random values of CQL types as Python objects, in the forms that programs have them in, and sources of such rows."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
from collections import namedtuple
from collections.abc import AsyncIterator, Callable, Sequence
from decimal import Decimal
from ipaddress import ip_address
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from cassandra.util import Date, Duration, Time
from tests.fuzz.arrow_values import INTEGERS, MS_PER_DAY, Kind

EPOCH = datetime.datetime(1970, 1, 1)
DATETIMES = range(-62_135_596_800_000, 253_402_300_800_000)


def python_value(random: Random, kind: Kind, value: Any) -> Any:
    """An object that is *value*, a value of ``arrow_values``."""
    name = kind.name
    if value is None:
        return None
    if name in ("list", "set", "vector"):
        items = [python_value(random, kind.children[0], item) for item in value]
        if name == "vector" and kind.children[0].name in ("double", "float") and random.random() < 0.5:
            return np.array(value, "f8")
        return random.choice([list, tuple])(items)
    if name == "map":
        pairs = [
            tuple(python_value(random, child, item) for child, item in zip(kind.children, pair, strict=True))
            for pair in value
        ]
        try:
            found = dict(pairs)
        except TypeError:  # keys without a hash
            return pairs
        return found if len(found) == len(pairs) and random.random() < 0.7 else pairs
    if kind.children:
        fields = [python_value(random, child, item) for child, item in zip(kind.children, value, strict=True)]
        return _user_type(random, kind, fields) if kind.fields else random.choice([list, tuple])(fields)
    return random.choice(_FORMS[name](value))


def _user_type(random: Random, kind: Kind, fields: list[Any]) -> Any:
    makers: list[Callable[[], Any]] = [
        lambda: dict(zip(kind.fields, fields, strict=True)),
        lambda: {name: field for name, field in zip(kind.fields, fields, strict=True) if field is not None},
        lambda: namedtuple(kind.name, kind.fields)(*fields),
        lambda: dataclasses.make_dataclass(kind.name, kind.fields)(*fields),
        lambda: tuple(fields),
    ]
    return random.choice(makers)()


def _integers(value: int) -> list[Any]:
    found = [value, f"{value}", Decimal(value)]
    if abs(value) < 1 << 63:
        found += [np.int64(value), f"{value:+d}"]
    if int(float(value)) == value:
        found += [float(value), np.float64(value)]
    return found


def _reals(value: float) -> list[Any]:
    found: list[Any] = [value, value, np.float64(value)]
    if value != value:
        return found[:2]
    if value.is_integer() and abs(value) < 1 << 24 and repr(value) != "-0.0":
        found.append(int(value))
    return [*found, repr(value)]


def _timestamps(value: int) -> list[Any]:
    found: list[Any] = [np.datetime64(value, "ms"), iso(value)]
    if value in DATETIMES:
        moment = EPOCH + datetime.timedelta(milliseconds=value)
        found += [moment, moment.replace(tzinfo=datetime.timezone.utc), moment.isoformat(), f"{moment.isoformat(' ')}Z"]
        if DATETIMES.start + MS_PER_DAY < value < DATETIMES.stop - MS_PER_DAY:
            zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
            local = moment.replace(tzinfo=datetime.timezone.utc).astimezone(zone)
            found += [local, local.isoformat()]
        if value % MS_PER_DAY == 0:
            found += [moment.date(), f"{moment.date()}"]
        if abs(value) < 1 << 42:
            found.append(pd.Timestamp(value, unit="ms"))
    return found


def iso(value: int, date_only: bool = False) -> str:
    """Milliseconds since 1970 in ISO 8601, also for years that ``datetime`` does not have."""
    moment = np.datetime64(value, "ms")
    year = int(moment.astype("M8[Y]").astype(int)) + 1970
    month = int(moment.astype("M8[M]").astype(int)) % 12 + 1
    day = int((moment.astype("M8[D]") - moment.astype("M8[M]").astype("M8[D]")).astype(int)) + 1
    milliseconds = value % MS_PER_DAY
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    date = f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"
    clock = (datetime.datetime.min + datetime.timedelta(milliseconds=milliseconds)).time().isoformat("milliseconds")
    return date if date_only else f"{date}T{clock}Z"


def _dates(value: int) -> list[Any]:
    found: list[Any] = [Date(value), np.datetime64(value, "D")]
    if abs(value) < 300_000_000:
        found.append(iso(value * MS_PER_DAY, date_only=True))
    if value * MS_PER_DAY in DATETIMES:
        moment = EPOCH + datetime.timedelta(days=value)
        found += [moment, moment.date(), f"{moment.date()}", f"{moment}"]
    return found


def _times(value: int) -> list[Any]:
    seconds, nanoseconds = divmod(value, 10**9)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    found: list[Any] = [Time(value), f"{clock}.{nanoseconds:09d}"]
    if nanoseconds % 1000 == 0:
        found.append((datetime.datetime.min + datetime.timedelta(microseconds=value // 1000)).time())
    if nanoseconds == 0:
        found.append(clock)
    return found


def _durations(value: tuple[int, int, int]) -> list[Any]:
    months, days, nanoseconds = value
    found: list[Any] = [Duration(*value)]
    if months == days == 0:
        found.append(np.timedelta64(nanoseconds, "ns"))
        if nanoseconds % 1000 == 0:
            found.append(datetime.timedelta(microseconds=nanoseconds // 1000))
    return found


def _decimals(value: Decimal) -> list[Any]:
    found: list[Any] = [value, f"{value}"]
    if value.as_tuple().exponent == 0:
        found.append(int(value))
    return found


_FORMS: dict[str, Callable[[Any], list[Any]]] = {
    **dict.fromkeys((*INTEGERS, "varint"), _integers),
    "float": _reals,
    "double": _reals,
    "boolean": lambda value: [value, np.bool_(value), f"{value}", f"{value}".lower()],
    "text": lambda value: [value, np.str_(value)],
    "ascii": lambda value: [value],
    "blob": lambda value: [value, bytearray(value), memoryview(value)],
    "uuid": lambda value: [value, f"{value}", value.hex.upper(), value.bytes],
    "timeuuid": lambda value: [value, f"{value}"],
    "inet": lambda value: [ip_address(value), f"{ip_address(value)}", value],
    "timestamp": _timestamps,
    "date": _dates,
    "time": _times,
    "duration": _durations,
    "decimal": _decimals,
}


# ---- sources


def python_source(random: Random, names: Sequence[str], kinds: Sequence[Kind], values: Sequence[Sequence[Any]]) -> Any:
    """The rows of *values*, which has columns, as a source of Python objects; and the option ``columns``."""
    columns = [
        [python_value(random, kind, value) for value in column] for kind, column in zip(kinds, values, strict=True)
    ]
    rows = list(zip(*columns, strict=True))
    make = random.choice([_mappings, _tuples, _named, _columns, _objects, _pandas, _polars, _later])
    return make(list(names), rows, columns)


def _mappings(names: list[str], rows: list[Any], columns: list[Any]) -> Any:
    return [{name: value for name, value in zip(names, row, strict=True) if value is not None} for row in rows], names


def _tuples(names: list[str], rows: list[Any], columns: list[Any]) -> Any:
    return iter(rows), names


def _named(names: list[str], rows: list[Any], columns: list[Any]) -> Any:
    kind = namedtuple("kind", names)
    return [kind(*row) for row in rows], None


def _columns(names: list[str], rows: list[Any], columns: list[Any]) -> Any:
    return dict(zip(names, columns, strict=True)), None


def _array(column: list[Any]) -> Any:
    found = np.empty(len(column), object)
    for at, value in enumerate(column):
        found[at] = value
    return found


def _objects(names: list[str], rows: list[Any], columns: list[Any]) -> Any:
    return dict(zip(names, map(_array, columns), strict=True)), None


def _pandas(names: list[str], rows: list[Any], columns: list[Any]) -> Any:
    if any(isinstance(value, float) and value != value for column in columns for value in column):
        return _columns(names, rows, columns)  # NaN is a missing value there
    series = {
        name: pd.Series(_array(column), dtype=object, index=range(5, 5 + len(rows)))
        for name, column in zip(names, columns, strict=True)
    }
    return pd.DataFrame(series), None


def _polars(names: list[str], rows: list[Any], columns: list[Any]) -> Any:
    if any(isinstance(value, np.generic | np.ndarray | memoryview) for column in columns for value in column):
        return _columns(names, rows, columns)
    series = [pl.Series(name, column, dtype=pl.Object) for name, column in zip(names, columns, strict=True)]
    return pl.DataFrame(series), None


def _later(names: list[str], rows: list[Any], columns: list[Any]) -> Any:
    async def source() -> AsyncIterator[Any]:
        for row in rows:
            await asyncio.sleep(0)
            yield row

    return source(), names
