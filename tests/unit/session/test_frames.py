"""Data frames of results: the values of every type, and the exceptions raised when a page fails."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

import pandas as pd
import pyarrow as pa
import pytest

from cassandra import ConsistencyLevel, DriverException, ReadTimeout
from cassandra.cluster import ResultSet
from cassandra.memory import MemoryPool
from cassandra.protocol import OverloadedErrorMessage
from cassandra.util import Date, Time
from tests.packages import polars as pl
from tests.packages import require
from tests.unit.session.harness import RESULT, Answer, Lab, Lost, error, rows, string, value

INT, BIGINT, BOOLEAN, DECIMAL, INET, UUID_, VARINT = 0x09, 0x02, 0x04, 0x06, 0x10, 0x0C, 0x0E
TIMESTAMP, DATE, TIME, DURATION, TEXT = 0x0B, 0x11, 0x12, 0x15, 0x0D
LIST, MAP, UDT, TUPLE = 0x20, 0x21, 0x30, 0x31


def of(kind: int) -> bytes:
    return struct.pack(">H", kind)


def list_of(element: bytes) -> bytes:
    return of(LIST) + element


def user_type(**fields: bytes) -> bytes:
    parts = b"".join(string(name) + kind for name, kind in fields.items())
    return of(UDT) + string("ks") + string("address") + struct.pack(">H", len(fields)) + parts


def items(*cells: bytes | None) -> bytes:
    return struct.pack(">i", len(cells)) + b"".join(map(value, cells))


def decimal(text: str) -> bytes:
    sign, digits, exponent = Decimal(text).as_tuple()
    number = int("".join(map(str, digits))) * (-1 if sign else 1)
    return struct.pack(">i", -int(exponent)) + varint(number)


def varint(number: int) -> bytes:
    return number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)


def long(number: int) -> bytes:
    return number.to_bytes(8, "big", signed=True)


def page(kind: bytes, *cells: bytes | None, more: bytes | None = None) -> Answer:
    metadata = struct.pack(">ii", 1 | (2 if more is not None else 0), 1) + (value(more) if more is not None else b"")
    metadata += string("ks") + string("tbl") + string("v") + kind
    return Answer(RESULT, struct.pack(">i", 2) + metadata + items(*cells))


def result(*pages: Any) -> ResultSet:
    lab = Lab()
    lab.session.cluster.memory_pool = MemoryPool(1 << 24)
    lab[0].script = list(pages)
    return lab.session.execute("SELECT v FROM tbl")


def in_pandas(kind: bytes, *cells: bytes | None, **options: Any) -> Any:
    """Over two pages, the second one of one row."""
    pages = page(kind, *cells[:-1], more=b"1"), page(kind, *cells[-1:])
    return result(*pages).to_pandas(**options)["v"]


def in_polars(kind: bytes, *cells: bytes | None, **options: Any) -> Any:
    require("polars")
    pages = page(kind, *cells[:-1], more=b"1"), page(kind, *cells[-1:])
    return result(*pages).to_polars(**options)["v"]


class TestDecimals:
    def test_are_decimals_in_pandas(self) -> None:
        found = in_pandas(of(DECIMAL), decimal("1.10"), decimal("2.2"))
        assert found.sum() == Decimal("3.30")
        assert [str(number) for number in found] == ["1.10", "2.2"]

    def test_of_any_size_in_pandas(self) -> None:
        texts = ["1E+2147483647", "0E-2147483647", "-" + "9" * 100, "1E-77"]
        assert list(in_pandas(of(DECIMAL), *map(decimal, texts))) == list(map(Decimal, texts))

    def test_nulls_in_pandas(self) -> None:
        assert list(in_pandas(of(DECIMAL), None, decimal("1"), None)) == [None, Decimal(1), None]

    def test_have_one_scale_in_polars(self) -> None:
        found = in_polars(of(DECIMAL), decimal("1.10"), None, decimal("2.205"), decimal("1E+3"))
        assert found.dtype == pl.Decimal(38, 3)
        assert found.to_list() == [Decimal("1.10"), None, Decimal("2.205"), Decimal(1000)]
        assert found.sum() == Decimal("1003.305")

    @pytest.mark.parametrize("text", ["1E+38", "1E-39", "1E+2147483647", "9" * 39])
    def test_that_do_not_fit_are_objects_in_polars(self, text: str) -> None:
        found = in_polars(of(DECIMAL), decimal("1.5"), None, decimal(text))
        assert found.dtype == pl.Object
        assert found.to_list() == [Decimal("1.5"), None, Decimal(text)]

    def test_that_do_not_fit_beside_other_values_in_polars(self) -> None:
        kind = user_type(number=of(VARINT), small=of(0x13), half=of(0x07), yes=of(BOOLEAN), whole=list_of(of(INT)))
        numbers = [2**70, 7]
        cells = [
            b"".join(map(value, (varint(number), b"\0\5", struct.pack(">d", 0.5), b"\1", items(b"\0\0\0\1"))))
            for number in numbers
        ]
        found = in_polars(kind, *cells).to_list()
        assert found == [{"number": n, "small": 5, "half": 0.5, "yes": True, "whole": [1]} for n in numbers]
        assert [type(one) for one in found[0].values()] == [int, int, float, bool, list]

    def test_of_no_row(self) -> None:
        assert in_pandas(of(DECIMAL)).tolist() == []
        assert in_polars(of(DECIMAL)).dtype == pl.Decimal(38, 0)

    def test_as_was_chosen(self) -> None:
        cells = decimal("1.10"), decimal("2.2")
        assert in_pandas(of(DECIMAL), *cells, decimals="utf8").tolist() == ["1.10", "2.2"]
        assert in_polars(of(DECIMAL), *cells, decimals="utf8").to_list() == ["1.10", "2.2"]
        assert in_polars(of(DECIMAL), *cells, decimals=(10, 4)).dtype == pl.Decimal(10, 4)
        assert in_pandas(of(DECIMAL), *cells, decimals=(10, 4)).tolist() == [Decimal("1.1"), Decimal("2.2")]

    def test_nested(self) -> None:
        kind = list_of(of(DECIMAL))
        cells = items(decimal("1.5"), decimal("-0.25")), None, items()
        assert [None if found is None else list(found) for found in in_pandas(kind, *cells)] == [
            [Decimal("1.5"), Decimal("-0.25")],
            None,
            [],
        ]
        found = in_polars(kind, *cells)
        assert found.dtype == pl.List(pl.Decimal(38, 2))
        assert found.to_list() == [[Decimal("1.5"), Decimal("-0.25")], None, []]
        huge = in_polars(kind, items(decimal("1E+50")), None)
        assert (huge.dtype, huge.to_list()) == (pl.Object, [[Decimal("1E+50")], None])

    def test_arrow_has_its_documented_type(self) -> None:
        assert result(page(of(DECIMAL), decimal("1.10"))).to_arrow().to_pydict() == {"v": ["1.10"]}


class TestVarints:
    EDGES = (2**63 - 1, -(2**63), 0)

    def test_that_fit_are_int64(self) -> None:
        cells = [varint(number) for number in self.EDGES]
        found = in_pandas(of(VARINT), *cells)
        assert (str(found.dtype), found.tolist()) == ("int64", list(self.EDGES))
        assert in_pandas(of(VARINT), varint(1), varint(2)).sum() == 3
        assert in_polars(of(VARINT), *cells).dtype == pl.Int64
        assert in_polars(of(VARINT), *cells).to_list() == list(self.EDGES)

    def test_with_nulls(self) -> None:
        found = in_pandas(of(VARINT), varint(2**62 + 1), None)
        assert (str(found.dtype), found[0], found.isna().tolist()) == ("Int64", 2**62 + 1, [False, True])
        assert in_polars(of(VARINT), varint(2**62 + 1), None).to_list() == [2**62 + 1, None]

    @pytest.mark.parametrize(
        "number", [2**63, -(2**63) - 1, 10**30, -(10**6000)], ids=["2^63", "-2^63-1", "10^30", "-10^6000"]
    )
    def test_others_are_integers_of_python(self, number: int) -> None:
        cells = varint(number), None, varint(1)
        assert in_pandas(of(VARINT), *cells).tolist() == [number, None, 1]
        found = in_polars(of(VARINT), *cells)
        assert (found.dtype, found.to_list()) == (pl.Object, [number, None, 1])

    def test_as_was_chosen(self) -> None:
        assert in_pandas(of(VARINT), varint(5), varint(6), varints="utf8").tolist() == ["5", "6"]
        assert in_polars(of(VARINT), varint(5), varint(6), varints="utf8").to_list() == ["5", "6"]
        assert in_polars(of(VARINT), varint(5), varints=20).dtype == pl.Decimal(20, 0)
        assert str(in_pandas(of(VARINT), varint(5), varints="int64").dtype) == "int64"


class TestTimes:
    def test_a_time_keeps_its_nanoseconds(self) -> None:
        found = in_pandas(of(TIME), long(1), long(86399999999999), None, long(0))
        assert found.tolist() == [Time(1), Time(86399999999999), None, Time(0)]
        assert found.tolist()[3] == datetime.time(0)
        spans = in_polars(of(TIME), long(1), long(86399999999999))
        assert (spans.dtype, spans.to_physical().to_list()) == (pl.Time, [1, 86399999999999])

    def test_dates_beyond_the_years_of_python(self) -> None:
        cells = [struct.pack(">I", days + 2**31) for days in (-(2**31), 0, 2**31 - 1)]
        assert in_pandas(of(DATE), *cells).tolist() == [Date(-(2**31)), datetime.date(1970, 1, 1), Date(2**31 - 1)]
        assert in_polars(of(DATE), *cells).to_physical().to_list() == [-(2**31), 0, 2**31 - 1]
        first, last = (
            struct.pack(">I", at.toordinal() - 719163 + 2**31) for at in (datetime.date.min, datetime.date.max)
        )
        assert in_pandas(of(DATE), first, last).tolist() == [datetime.date.min, datetime.date.max]

    def test_timestamps_are_in_utc_everywhere_but_in_rows(self) -> None:
        when = datetime.datetime(2024, 2, 29, 12, 30, 1, 5000)
        cell = long(1709209801005)
        assert result(page(of(TIMESTAMP), cell)).one().v == when
        aware = when.replace(tzinfo=datetime.UTC if hasattr(datetime, "UTC") else datetime.timezone.utc)
        assert result(page(of(TIMESTAMP), cell)).to_arrow().to_pydict() == {"v": [aware]}
        found = in_pandas(of(TIMESTAMP), cell, None)
        assert (str(found.dtype), found[0]) == ("datetime64[ms, UTC]", pd.Timestamp(aware))
        assert in_polars(of(TIMESTAMP), cell).to_list() == [aware]
        (nested,) = in_pandas(list_of(of(TIMESTAMP)), items(cell))
        assert list(nested) == [pd.Timestamp(aware)]

    def test_timestamps_beyond_nanoseconds(self) -> None:
        far = 2**60
        found = in_pandas(of(TIMESTAMP), long(far), long(-far))
        assert found.astype("int64").tolist() == [far, -far]
        assert in_polars(of(TIMESTAMP), long(far)).to_physical().to_list() == [far]

    def test_durations(self) -> None:
        cells = b"\x02\x04\x06", None  # zigzag of 1, 2, 3
        offset, nothing = in_pandas(of(DURATION), *cells)
        assert type(offset) is pd.DateOffset and nothing is None
        assert {name: n for name, n in offset.kwds.items() if n} == {"months": 1, "days": 2, "nanoseconds": 3}
        found = in_polars(of(DURATION), *cells)
        assert found.to_list() == [{"months": 1, "days": 2, "nanoseconds": 3}, None]
        nested = in_polars(list_of(of(DURATION)), items(b"\x02\x04\x06"), None)
        assert nested.to_list() == [[{"months": 1, "days": 2, "nanoseconds": 3}], None]


class TestOthers:
    def test_integers_with_nulls_are_exact(self) -> None:
        found = in_pandas(of(BIGINT), long(2**53 + 1), None)
        assert (str(found.dtype), found[0]) == ("Int64", 2**53 + 1)
        assert str(in_pandas(of(BIGINT), long(1), long(2)).dtype) == "int64"
        assert str(in_pandas(of(INT), b"\0\0\0\1", None).dtype) == "Int32"
        kind = user_type(a=of(BIGINT), b=of(BIGINT))
        cells = items(long(2**53 + 1), None)[4:], None
        assert in_pandas(kind, *cells).tolist() == [{"a": 2**53 + 1, "b": None}, None]

    def test_addresses_are_text(self) -> None:
        cells = b"\x0a\0\0\1", bytes(15) + b"\1", None
        assert in_pandas(of(INET), *cells).tolist() == ["10.0.0.1", "::1", None]
        assert in_polars(of(INET), *cells).to_list() == ["10.0.0.1", "::1", None]

    def test_uuids(self) -> None:
        found = UUID(int=2**100 + 3)
        assert in_pandas(of(UUID_), found.bytes, None).tolist() == [found, None]
        ((nested,),) = in_pandas(list_of(of(UUID_)), items(found.bytes))
        assert nested == found
        assert in_polars(of(UUID_), found.bytes).to_list() == [found.bytes]

    def test_values_of_zero_bytes_are_null_but_for_text(self) -> None:
        for kind in (INT, DECIMAL, VARINT, TIME, DATE, TIMESTAMP, INET, UUID_, DURATION, BOOLEAN):
            assert in_pandas(of(kind), b"", b"").isna().all(), kind
            assert in_polars(of(kind), b"", b"").is_null().all(), kind
        assert in_pandas(of(TEXT), b"", b"").tolist() == ["", ""]

    def test_deep(self) -> None:
        kind = of(MAP) + of(TEXT) + user_type(n=of(VARINT), prices=list_of(of(DECIMAL)), at=of(TIME), host=of(INET))
        inner = b"".join(map(value, [varint(7), items(decimal("1.5")), long(1), b"\x0a\0\0\1"]))
        cell = struct.pack(">i", 1) + value(b"k") + value(inner)
        ((pair,),) = in_pandas(kind, cell)
        assert pair[0] == "k"
        assert {**pair[1], "prices": list(pair[1]["prices"])} == {
            "n": 7,
            "prices": [Decimal("1.5")],
            "at": Time(1),
            "host": "10.0.0.1",
        }
        require("polars")
        frame = result(page(kind, cell)).to_polars()
        table = frame.to_arrow()
        (((name, entry),),) = table.column("v").to_pylist()
        assert name == "k"
        assert (entry["n"], entry["prices"], entry["host"]) == (7, [Decimal("1.5")], "10.0.0.1")


READ_TIMEOUT = struct.pack(">Hii?", ConsistencyLevel.ONE, 0, 1, False)
WAYS: dict[str, Callable[[ResultSet], Any]] = {
    "rows": lambda found: found.all(),
    "to_arrow": lambda found: found.to_arrow(),
    "to_pandas": lambda found: found.to_pandas(),
    "to_polars": lambda found: found.to_polars(),
    "to_numpy": lambda found: found.to_numpy(),
    "batches": lambda found: list(found.arrow()),
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    if request.param == "to_polars":
        require("polars")
    return str(request.param)


class TestLaterPagesThatFail:
    def test_a_timeout_of_the_server(self, way: str) -> None:
        failing = error(0x1200, "read timeout", READ_TIMEOUT)
        with pytest.raises(ReadTimeout):
            WAYS[way](result(rows(1, more=b"1"), failing, failing))

    def test_an_error_of_the_server(self, way: str) -> None:
        with pytest.raises(OverloadedErrorMessage):
            WAYS[way](result(rows(1, more=b"1"), error(0x1001, "busy")))

    @pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit, RuntimeError])
    def test_python_exceptions_of_a_page_fetch_propagate(
        self, way: str, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = result(rows(1, more=b"1"), rows(2))

        def fetch() -> None:
            raise raised("stop")

        monkeypatch.setattr(found, "fetch_next_page", fetch)
        with pytest.raises(raised, match="stop"):
            WAYS[way](found)

    def test_a_value_that_cannot_be_decoded(self, way: str) -> None:
        broken = result(page(of(BIGINT), long(1), more=b"1"), page(of(BIGINT), b"short"))
        with pytest.raises(DriverException):
            WAYS[way](broken)


def test_an_arrow_stream_keeps_the_error_of_a_failed_page() -> None:
    stream = result(rows(1, more=b"1"), error(0x1001, "busy")).arrow()
    assert stream.error is None
    with pytest.raises(OSError, match="OverloadedErrorMessage"):
        pa.table(stream)
    assert isinstance(stream.error, OverloadedErrorMessage)


def test_ctrl_c_in_a_consumer_of_the_stream_comes_again() -> None:
    found = result(rows(1, more=b"1"), Lost(ConnectionResetError()))

    def fetch() -> None:
        raise KeyboardInterrupt

    found.fetch_next_page = fetch  # type: ignore[method-assign]
    stream = found.arrow()
    with pytest.raises(KeyboardInterrupt):
        try:
            pa.table(stream)
        except OSError:
            for _ in range(1000):
                pass
    assert isinstance(stream.error, KeyboardInterrupt)


def test_a_long_text_of_an_error_is_cut_at_a_character() -> None:
    found = result(rows(1, more=b"1"), rows(2))

    def fetch() -> None:
        raise RuntimeError("x" + "ü" * 10_000)

    found.fetch_next_page = fetch  # type: ignore[method-assign]
    with pytest.raises(OSError, match="RuntimeError: xü") as caught:
        pa.table(found.arrow())
    assert "\ufffd" not in str(caught.value)
