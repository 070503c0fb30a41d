"""Columns of NumPy arrays and lazy rows from a real server, by ``Session.client_protocol_handler``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cassandra import InvalidRequest
from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.protocol import HAVE_NUMPY, LazyProtocolHandler, NumpyProtocolHandler, ProtocolHandler
from cassandra.query import dict_factory, named_tuple_factory, ordered_dict_factory, tuple_factory

pytestmark = pytest.mark.server

ROWS = 1000
VALUES: dict[str, str] = {  # column type: literal
    "ascii": "'a'",
    "bigint": "-5",
    "blob": "0x0102",
    "boolean": "true",
    "date": "'2020-01-02'",
    "decimal": "1.50",
    "double": "2.5",
    "duration": "1h",
    "float": "1.25",
    "inet": "'10.0.0.1'",
    "int": "7",
    "smallint": "-8",
    "text": "'\u00e9'",
    "time": "'01:02:03'",
    "timestamp": "'2020-01-02T03:04:05.678Z'",
    "timeuuid": "50554d6e-29bb-11e5-b345-feff819cdc9f",
    "tinyint": "9",
    "uuid": "50554d6e-29bb-11e5-b345-feff819cdc9f",
    "varint": "12345678901234567890",
    "list<int>": "[1, 2]",
    "set<text>": "{'a'}",
    "map<text, int>": "{'a': 1}",
    "tuple<int, text>": "(1, 'x')",
    "frozen<address>": "{street: 's', number: 1}",
    "vector<float, 3>": "[1, 2, 3]",
}
NUMBERS = {"bigint": "int64", "double": "float64", "float": "float32", "int": "int32", "smallint": "int16"}
COLUMNS = {f"c{i}": cql_type for i, cql_type in enumerate(VALUES)}


@pytest.fixture(scope="module")
def tables(session: Session) -> None:
    session.execute("CREATE TYPE address (street text, number int)")
    described = ", ".join(f"{name} {cql_type}" for name, cql_type in COLUMNS.items())
    session.execute(f"CREATE TABLE every (k int, c int, {described}, PRIMARY KEY (k, c))")
    session.execute(f"INSERT INTO every (k, c, {', '.join(COLUMNS)}) VALUES (0, 0, {', '.join(VALUES.values())})")
    session.execute("INSERT INTO every (k, c) VALUES (0, 1)")
    session.execute("CREATE TABLE readings (k int, c int, v double, note text, PRIMARY KEY (k, c))")
    insert = session.prepare("INSERT INTO readings (k, c, v, note) VALUES (0, ?, ?, ?)")
    rows = [(i, None if i % 10 == 0 else i / 2, f"note {i}") for i in range(ROWS)]
    execute_concurrent_with_args(session, insert, rows, raise_on_first_error=True)
    session.execute("CREATE TABLE counts (k int PRIMARY KEY, n counter)")
    session.execute("UPDATE counts SET n = n + 4 WHERE k = 1")


@pytest.fixture
def numpy_session(session: Session, tables: None) -> Iterator[Session]:
    kept = session.client_protocol_handler, session.row_factory
    session.client_protocol_handler = NumpyProtocolHandler
    session.row_factory = tuple_factory
    yield session
    session.client_protocol_handler, session.row_factory = kept


def test_every_type(numpy_session: Session) -> None:
    session = numpy_session
    names = ", ".join(COLUMNS)
    page = session.execute(f"SELECT {names} FROM every WHERE k = 0").one()
    session.client_protocol_handler = ProtocolHandler
    rows = session.execute(f"SELECT {names} FROM every WHERE k = 0").all()
    assert HAVE_NUMPY and list(page) == list(COLUMNS)
    for i, (name, array) in enumerate(page.items()):
        dtype = NUMBERS.get(COLUMNS[name])
        assert array.dtype == np.dtype(dtype or object), COLUMNS[name]
        assert type(array) is (np.ma.MaskedArray if dtype else np.ndarray)
        assert list(array.tolist()) == [row[i] for row in rows]
        if dtype:
            assert array.mask.tolist() == [False, True]


def test_counters_and_empty_pages(numpy_session: Session) -> None:
    page = numpy_session.execute("SELECT n FROM counts WHERE k = 1").one()
    assert (page["n"].dtype, page["n"].tolist()) == ("int64", [4])
    (empty,) = numpy_session.execute("SELECT k, n FROM counts WHERE k = 2")
    assert [(name, array.dtype, len(array)) for name, array in empty.items()] == [("k", "int32", 0), ("n", "int64", 0)]


@pytest.mark.parametrize("prepared", [False, True], ids=["simple", "prepared"])
@pytest.mark.parametrize("fetch_size", [7, 300, 1000, 5000])
def test_pages(numpy_session: Session, fetch_size: int, prepared: bool) -> None:
    query = "SELECT c, v, note FROM readings WHERE k = 0"
    statement: Any = numpy_session.prepare(query) if prepared else query
    if prepared:
        statement.fetch_size = fetch_size
    kept, numpy_session.default_fetch_size = numpy_session.default_fetch_size, fetch_size
    try:
        result = numpy_session.execute(statement)
        assert result.has_more_pages or fetch_size >= ROWS
        assert len(result.current_rows) == 1 and result.column_names == ["c", "v", "note"]
        pages = list(result)
    finally:
        numpy_session.default_fetch_size = kept
    assert all(len(array) <= fetch_size for page in pages for array in page.values())
    assert np.ma.concatenate([page["c"] for page in pages]).tolist() == list(range(ROWS))
    v = np.ma.concatenate([page["v"] for page in pages])
    assert v.tolist() == [None if i % 10 == 0 else i / 2 for i in range(ROWS)]
    assert [note for page in pages for note in page["note"]] == [f"note {i}" for i in range(ROWS)]


@pytest.mark.parametrize("factory", [None, tuple_factory, named_tuple_factory, dict_factory, ordered_dict_factory])
def test_the_drivers_row_factories_leave_columns_alone(numpy_session: Session, factory: Any) -> None:
    numpy_session.row_factory = factory
    (page,) = numpy_session.execute("SELECT c, note FROM readings WHERE k = 0 AND c < 3")
    assert {name: array.tolist() for name, array in page.items()} == {
        "c": [0, 1, 2],
        "note": ["note 0", "note 1", "note 2"],
    }


def test_own_row_factories_get_the_columns(numpy_session: Session) -> None:
    numpy_session.row_factory = lambda names, columns: [(names, columns["c"].sum())]
    assert numpy_session.execute("SELECT c, v FROM readings WHERE k = 0 AND c < 3").one() == (["c", "v"], 3)


def test_statements_without_rows_give_empty_results(numpy_session: Session) -> None:
    result = numpy_session.execute("INSERT INTO every (k, c) VALUES (1, 1)")
    assert result.all() == [] and result.column_names is None
    assert not numpy_session.execute("INSERT INTO every (k, c) VALUES (1, 1) IF NOT EXISTS").was_applied
    with pytest.raises(InvalidRequest):
        numpy_session.execute("SELECT * FROM nowhere")


def test_vectors_as_one_array(numpy_session: Session) -> None:
    class Handler(NumpyProtocolHandler):
        vector_arrays = True

    (name,) = [name for name, cql_type in COLUMNS.items() if cql_type.startswith("vector")]
    numpy_session.client_protocol_handler = Handler
    vectors = numpy_session.execute(f"SELECT {name} FROM every WHERE k = 0").one()[name]
    assert (vectors.dtype, vectors.shape) == ("float32", (2, 3))
    assert vectors.tolist() == [[1.0, 2.0, 3.0], [None, None, None]]


def test_lazy_rows(numpy_session: Session) -> None:
    session = numpy_session
    session.client_protocol_handler = LazyProtocolHandler
    kept, session.default_fetch_size = session.default_fetch_size, 300
    try:
        result = session.execute("SELECT c FROM readings WHERE k = 0")
        assert next(result.current_rows) == (0,)
        assert [row[0] for row in result] == list(range(1, ROWS))
        session.row_factory = dict_factory
        assert session.execute("SELECT c FROM readings WHERE k = 0").all() == [{"c": i} for i in range(ROWS)]
    finally:
        session.default_fetch_size = kept
