"""Encrypted columns, from Cluster(column_encryption_policy=...) to the rows of every kind of request."""

from __future__ import annotations

import asyncio
import copy
import logging
import threading
from typing import Any

import pyarrow as pa
import pytest

from cassandra import DriverException
from cassandra.cluster import Cluster, Session
from cassandra.column_encryption.policies import AES256ColumnEncryptionPolicy
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import ColDesc, ColumnEncryptionPolicy
from cassandra.protocol import LazyProtocolHandler, NumpyProtocolHandler, ProtocolHandler, ResultMessage
from cassandra.query import BatchStatement, SimpleStatement, dict_factory, tuple_factory
from cassandra.testing import SimulatedCluster

from .conftest import Connect

KEY, IV = bytes(range(100, 132)), bytes(16)
KEY_COLUMN, COLUMN = ColDesc("ks", "t", "k"), ColDesc("ks", "t", "c")
TABLE = "CREATE TABLE ks.t (k blob PRIMARY KEY, c blob, d blob)"


def a_policy() -> AES256ColumnEncryptionPolicy:
    policy = AES256ColumnEncryptionPolicy(iv=IV)
    policy.add_column(KEY_COLUMN, KEY, "text")
    policy.add_column(COLUMN, KEY, "int")
    return policy


@pytest.fixture
def policy() -> AES256ColumnEncryptionPolicy:
    return a_policy()


@pytest.fixture
def encrypting(
    session: Session, simulated: SimulatedCluster, connect: Connect, policy: AES256ColumnEncryptionPolicy
) -> Session:
    """A session with the policy; *session* is one without."""
    session.execute(TABLE)
    return connect(simulated, "ks", column_encryption_policy=policy)


def fill(encrypting: Session, count: int = 20) -> Any:
    insert = encrypting.prepare("INSERT INTO t (k, c, d) VALUES (?, ?, ?)")
    for number in range(count):
        encrypting.execute(insert, (f"k{number}", number, b"plain"))
    return insert


def test_stored_values_are_encrypted(session: Session, encrypting: Session, policy: Any) -> None:
    insert = fill(encrypting, 1)
    row = session.execute("SELECT k, c, d FROM t").one()
    assert row == (policy.encode_and_encrypt(KEY_COLUMN, "k0"), policy.encode_and_encrypt(COLUMN, 0), b"plain")
    assert encrypting.execute("SELECT k, c, d FROM t").one() == ("k0", 0, b"plain")
    assert insert.column_encryption_policy is policy is encrypting.cluster.column_encryption_policy
    assert session.cluster.column_encryption_policy is None is Cluster.column_encryption_policy
    select = encrypting.prepare("SELECT c FROM t WHERE k = ?")
    bound = select.bind(("k0",))
    assert bound.values == [bound.routing_key] == [row.k]
    assert encrypting.execute(bound).one().c == 0 and encrypting.execute(select, {"k": "k0"}).one() == (0,)


def test_ingest_encrypts(session: Session, encrypting: Session, policy: Any) -> None:
    keys, values = ["a", "b", "c"], pa.array([7, None, 1 << 31])
    report = encrypting.ingest("ks.t", pa.table({"k": keys, "c": values, "d": [b"plain"] * 3}), on_error="collect")
    assert list(report.errors) == [2]
    assert str(report.errors[2]).endswith(
        "column 'c' (int), row 2: not a value of the type; encrypted values are not shown"
    )
    assert set(encrypting.execute("SELECT k, c, d FROM t")) == {("a", 7, b"plain"), ("b", None, b"plain")}
    stored = {(policy.encode_and_encrypt(KEY_COLUMN, key), value) for key, value in (("a", True), ("b", False))}
    assert {(row.k, row.c is not None) for row in session.execute("SELECT k, c FROM t")} == stored
    # The Arrow table of a result can be ingested again, too.
    columns = encrypting.execute("SELECT k, c, d FROM t").to_arrow()
    session.execute("TRUNCATE t")
    assert encrypting.ingest("ks.t", columns).rows == 2
    assert set(encrypting.execute("SELECT k, c, d FROM t")) == {("a", 7, b"plain"), ("b", None, b"plain")}
    with pytest.raises(ValueError, match="column 'c': bool cannot be written as int without loss"):
        encrypting.ingest("ks.t", pa.table({"k": keys, "c": [True] * 3}))


def test_objects_are_encrypted(session: Session, encrypting: Session, policy: Any) -> None:
    rows = [{"k": "a", "c": 7.0, "d": b"plain"}, {"k": "b", "c": None}, {"k": "c", "c": "secret"}]
    report = encrypting.ingest("ks.t", rows, on_error="collect")
    assert {row: str(error) for row, error in report.errors.items()} == {
        2: "column 'c' (int), row 2: not a value of the type; encrypted values are not shown"
    }
    assert set(encrypting.execute("SELECT k, c, d FROM t")) == {("a", 7, b"plain"), ("b", None, None)}
    stored = {policy.encode_and_encrypt(KEY_COLUMN, key) for key in ("a", "b")}
    assert {row.k for row in session.execute("SELECT k FROM t")} == stored
    already = [{"k": "d", "c": policy.encode_and_encrypt(COLUMN, 9)}]
    encrypting.ingest("ks.t", already, already_encrypted=["c"])
    assert encrypting.execute("SELECT c FROM t WHERE k = %s", [policy.encode_and_encrypt(KEY_COLUMN, "d")]).one() == (
        9,
    )


def test_requests_are_routed_by_the_encrypted_partition_key(encrypting: Session, policy: Any) -> None:
    fill(encrypting)
    select = encrypting.prepare("SELECT c FROM t WHERE k = ?")
    metadata = encrypting.cluster.metadata

    def replicas_of(number: int) -> list[Any]:
        """As far as they are known: a request that comes to the right place by chance tells nothing."""
        key = policy.encode_and_encrypt(KEY_COLUMN, f"k{number}")
        tablet = metadata._tablets.get_tablet_for_key("ks", "t", metadata.token_map.token_class.from_key(key))
        return [] if tablet is None else [host_id for host_id, _shard in tablet.replicas]

    for number in range(20):
        known: list[Any] = []
        for _attempt in range(100):
            known = replicas_of(number)
            future = encrypting.execute_async(select, (f"k{number}",))
            assert future.result().one().c == number
            if known:
                assert future.coordinator_host.host_id in known
                break
        assert known


def test_null_and_unset(session: Session, encrypting: Session) -> None:
    insert = fill(encrypting, 1)
    encrypting.execute(insert, ("k1", None, None))
    encrypting.execute(insert, ("k0",))  # the others are unset
    found = {row.k: row.c for row in encrypting.execute("SELECT k, c FROM t")}
    assert found == {"k0": 0, "k1": None}
    assert None in [row.c for row in session.execute("SELECT c FROM t")]


def test_text_with_values_encrypted_by_hand(encrypting: Session, policy: Any) -> None:
    values = policy.encode_and_encrypt(KEY_COLUMN, "by hand"), policy.encode_and_encrypt(COLUMN, 7)
    encrypting.execute("INSERT INTO t (k, c) VALUES (%s, %s)", values)
    assert encrypting.execute("SELECT c FROM t WHERE k = %s", values[:1]).one().c == 7


def test_batches(encrypting: Session) -> None:
    insert = encrypting.prepare("INSERT INTO t (k, c) VALUES (?, ?)")
    batch = BatchStatement()
    batch.add(insert, ("a", 1))
    batch.add(insert.bind(("b", 2)))
    encrypting.execute(batch)
    assert sorted(encrypting.execute("SELECT k, c FROM t")) == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("factory", [tuple_factory, dict_factory, lambda names, rows: [list(row) for row in rows]])
def test_pages(encrypting: Session, factory: Any) -> None:
    fill(encrypting)
    encrypting.row_factory = factory
    select = encrypting.prepare("SELECT c FROM t")
    select.fetch_size = 3
    for query in (select, SimpleStatement("SELECT c FROM t", fetch_size=3)):
        rows = list(encrypting.execute(query))
        assert sorted(row["c"] if isinstance(row, dict) else row[0] for row in rows) == list(range(20))


def test_many_at_once(encrypting: Session) -> None:
    insert = encrypting.prepare("INSERT INTO t (k, c) VALUES (?, ?)")
    execute_concurrent_with_args(encrypting, insert, [(f"k{number}", number) for number in range(200)])
    select = encrypting.prepare("SELECT c FROM t WHERE k = ?")
    found = execute_concurrent_with_args(encrypting, select, [(f"k{number}",) for number in range(200)])
    assert [result.one().c for _, result in found] == list(range(200))


def test_asyncio_and_callbacks(encrypting: Session) -> None:
    fill(encrypting, 3)

    async def read() -> list[Any]:
        select = await encrypting.prepare_async("SELECT c FROM t WHERE k = ?")
        results = await asyncio.gather(*[encrypting.execute_async(select, (f"k{n}",)) for n in range(3)])
        return [row.c for result in results for row in result]

    assert asyncio.run(read()) == [0, 1, 2]
    seen: list[Any] = []
    future = encrypting.execute_async("SELECT c FROM t")
    future.add_callback(seen.extend)
    future.result()
    assert sorted(seen) == [(0,), (1,), (2,)]


class OwnSteps(ResultMessage):
    """Reads rows by a step of its own."""

    @staticmethod
    def recv_row(f: Any, colcount: int) -> list[bytes | None]:
        return ResultMessage.recv_row(f, colcount)


class OwnStepsHandler(ProtocolHandler):
    message_types_by_opcode = {**ProtocolHandler.message_types_by_opcode, 0x08: OwnSteps}


@pytest.mark.parametrize("handler", [LazyProtocolHandler, OwnStepsHandler, type("Mine", (ProtocolHandler,), {})])
def test_protocol_handlers(encrypting: Session, handler: Any) -> None:
    fill(encrypting, 3)
    before = encrypting.prepare("SELECT c FROM t")
    encrypting.client_protocol_handler = handler
    insert = encrypting.prepare("INSERT INTO t (k, c) VALUES (?, ?)")
    encrypting.execute(insert, ("k3", 3))
    for query in (before, "SELECT c FROM t", encrypting.prepare("SELECT c, k FROM t")):
        assert sorted(row.c for row in encrypting.execute(query)) == [0, 1, 2, 3]


def test_columns_as_arrays(encrypting: Session) -> None:
    fill(encrypting, 3)
    encrypting.client_protocol_handler = NumpyProtocolHandler
    (page,) = encrypting.execute("SELECT c, d FROM t")
    assert sorted(page["c"]) == [0, 1, 2] and page["c"].dtype == object and set(page["d"]) == {b"plain"}


def test_columns_of_arrow(session: Session, encrypting: Session, policy: Any) -> None:
    """Of the types inside, decrypted; null where null is stored. The other columns are as they are."""
    insert = fill(encrypting)
    encrypting.execute(insert, ("none", None, None))
    select = encrypting.prepare("SELECT k, c, d FROM t")
    select.fetch_size = 7
    found = encrypting.execute(select).to_arrow()
    assert [str(field.type) for field in found.schema] == ["string", "int32", "binary"]
    assert [field.metadata.get(b"cql.encrypted") for field in found.schema] == [b"true", b"true", None]
    rows = [tuple(row.values()) for row in found.to_pylist()]
    assert sorted(rows) == sorted(tuple(row) for row in encrypting.execute(select))
    assert ("none", None, None) in rows and ("k3", 3, b"plain") in rows
    session.execute("INSERT INTO t (k, c) VALUES (%s, 0x00)", (policy.encode_and_encrypt(KEY_COLUMN, "bad"),))
    with pytest.raises(DriverException, match=r"column 'c' of ks\.t as blob in row \d+ .*it cannot be decrypted"):
        encrypting.execute(select).to_arrow()


@pytest.mark.parametrize("own", [ResultMessage, OwnSteps])
def test_a_handler_with_a_policy_of_its_own(session: Session, encrypting: Session, own: Any) -> None:
    """As programs do that read rows through one session that they wrote through another."""
    fill(encrypting, 3)

    class Reading(ProtocolHandler):
        column_encryption_policy = a_policy()
        message_types_by_opcode = {**ProtocolHandler.message_types_by_opcode, 0x08: own}

    select = session.prepare("SELECT c FROM t")
    session.client_protocol_handler = Reading
    for query in (select, "SELECT c FROM t"):
        assert sorted(row.c for row in session.execute(query)) == [0, 1, 2]


def test_a_column_that_is_added_later(session: Session, encrypting: Session, policy: Any) -> None:
    insert, select = fill(encrypting, 1), encrypting.prepare("SELECT d FROM t WHERE k = ?")
    assert encrypting.execute(select, ("k0",)).one().d == b"plain"
    before = insert.bind(("k1", 1, b"bound before"))
    policy.add_column(ColDesc("ks", "t", "d"), KEY, "text")
    encrypting.execute(insert, ("k2", 2, "secret"))
    assert encrypting.execute(select, ("k2",)).one().d == "secret"
    assert encrypting.execute("SELECT d FROM t WHERE k = %s", (insert.bind(("k2",)).values[0],)).one().d == "secret"
    encrypting.execute(before)
    stored = {row.d for row in session.execute("SELECT d FROM t")}
    assert {b"plain", b"bound before"} < stored and b"secret" not in stored
    with pytest.raises(DriverException, match=r"column 'd' of ks\.t .*cannot be decrypted"):
        encrypting.execute(select, ("k1",))


def test_copies_of_statements(session: Session, encrypting: Session, policy: Any) -> None:
    """Copies encrypt too, also a column that is added later; statements bound by a copy before that are refused."""
    insert = encrypting.prepare("INSERT INTO t (k, c, d) VALUES (:x, :y, :z)")
    near, far = copy.copy(insert), copy.deepcopy(insert)
    for number, statement in enumerate((near, far)):
        encrypting.execute(statement, (f"k{number}", number, b"plain"))
    before = far.bind(("k2", 2, b"plain"))
    policy.add_column(ColDesc("ks", "t", "d"), KEY, "text")
    encrypting.execute(near.bind(("k0", 0, "secret")))
    for late in (before, far.bind(("k3", 3, b"secret"))):
        for _ in range(2):
            with pytest.raises(DriverException, match="bound before these columns were added"):
                encrypting.execute(late)
    assert encrypting.execute(encrypting.prepare("SELECT d FROM t WHERE k = ?"), ("k0",)).one().d == "secret"
    assert {row.d for row in session.execute("SELECT d FROM t")}.isdisjoint({b"secret"})


def test_a_policy_that_is_set_later(session: Session, simulated: SimulatedCluster, connect: Connect) -> None:
    session.execute(TABLE)
    other = connect(simulated, "ks")
    insert = other.prepare("INSERT INTO t (k, c) VALUES (?, ?)")
    other.cluster.column_encryption_policy = a_policy()
    other.execute(insert, ("k", 1))
    assert other.execute("SELECT k, c FROM t").one() == ("k", 1)
    assert session.execute("SELECT k FROM t").one().k != b"k"
    with pytest.raises(TypeError, match="ColumnEncryptionPolicy"):
        other.cluster.column_encryption_policy = object()  # type: ignore[assignment]


def test_a_policy_of_a_subclass_of_cluster(session: Session, simulated: SimulatedCluster) -> None:
    session.execute(TABLE)

    class Mine(Cluster):
        column_encryption_policy = a_policy()

    with Mine(simulated.contact_points, port=simulated.port) as cluster:
        mine = cluster.connect("ks")
        mine.execute(mine.prepare("INSERT INTO t (k, c) VALUES (?, ?)"), ("k", 1))
        assert mine.execute("SELECT k, c FROM t").one() == ("k", 1)
    assert session.execute("SELECT k FROM t").one().k != b"k"


def test_a_policy_of_an_application(session: Session, simulated: SimulatedCluster, connect: Connect) -> None:
    session.execute(TABLE)

    class Marked(ColumnEncryptionPolicy):
        def contains_column(self, coldesc: ColDesc) -> bool:
            return coldesc == COLUMN

        def encrypt(self, coldesc: ColDesc, obj_bytes: bytes) -> bytes:
            return b"!" + obj_bytes

        def decrypt(self, coldesc: ColDesc, encrypted_bytes: bytes) -> bytes:
            return encrypted_bytes.removeprefix(b"!")

    other = connect(simulated, "ks", column_encryption_policy=Marked())
    other.execute(other.prepare("INSERT INTO t (k, c) VALUES (?, ?)"), (b"k", b"v"))
    assert other.execute("SELECT c FROM t").one().c == b"v" and session.execute("SELECT c FROM t").one().c == b"!v"


def test_a_column_of_another_type_is_not_sent(session: Session, encrypting: Session, policy: Any) -> None:
    session.execute("CREATE TABLE ks.other (k int PRIMARY KEY, v text)")
    policy.add_column(ColDesc("ks", "other", "v"), KEY, "text")
    with pytest.raises(DriverException, match=r"ks\.other\.v is encrypted, so its type must be blob, not text"):
        encrypting.prepare("INSERT INTO other (k, v) VALUES (?, ?)")


def test_statements_that_servers_have_forgotten(simulated: SimulatedCluster, encrypting: Session) -> None:
    insert = fill(encrypting, 1)
    select = encrypting.prepare("SELECT c FROM t WHERE k = ?")
    plan = select._snapshot[0]
    for node in simulated.nodes:
        node.forget_prepared()
    encrypting.execute(insert, ("again", 8, b""))
    assert encrypting.execute(select, ("again",)).one().c == 8 and select._snapshot[0] is plan


def test_statements_while_columns_are_added(session: Session, encrypting: Session, policy: Any) -> None:
    """After add_column() has returned no value is bound in plaintext, even while other threads prepare."""
    stop, errors = threading.Event(), []

    def prepare() -> None:
        while not stop.is_set():
            try:
                encrypting.prepare(f"INSERT INTO t (k, d) VALUES (?, ?) -- {threading.get_ident()}")
            except Exception as error:
                errors.append(error)

    threads = [threading.Thread(target=prepare) for _ in range(3)]
    for thread in threads:
        thread.start()
    kept = [encrypting.prepare(f"INSERT INTO t (k, d) VALUES (?, ?) /* {number} */") for number in range(20)]
    policy.add_column(ColDesc("ks", "t", "d"), KEY, "text")
    kept += [encrypting.prepare(f"INSERT INTO t (k, d) VALUES (?, ?) /* {number} */") for number in range(20)]
    stop.set()
    for thread in threads:
        thread.join(30)
    assert not errors
    secret = policy.encode_and_encrypt(ColDesc("ks", "t", "d"), "secret")
    assert {statement.bind(("k", "secret")).values[1] for statement in kept} == {secret}


def test_another_key(session: Session, encrypting: Session, simulated: SimulatedCluster, connect: Connect) -> None:
    fill(encrypting, 1)
    other = AES256ColumnEncryptionPolicy(iv=IV)
    other.add_column(COLUMN, bytes(32), "int")
    with pytest.raises(DriverException, match=r"column 'c' of ks\.t .*row 0.*cannot be decrypted"):
        connect(simulated, "ks", column_encryption_policy=other).execute("SELECT c FROM t")


def test_nothing_of_keys_and_values_is_logged(encrypting: Session, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        insert = fill(encrypting, 1)
        with pytest.raises(TypeError) as wrong:
            insert.bind(("k", "secret", b""))
    shown = f"{caplog.text} {wrong.value} {insert!r} {encrypting.cluster.column_encryption_policy!r}"
    assert repr(KEY)[2:-1] not in shown and KEY.hex() not in shown and "secret" not in shown
