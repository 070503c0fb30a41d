"""What a real server stores of encrypted columns, read by a session without the policy, for each shape of statement."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from copy import copy
from typing import Any

import pyarrow as pa
import pytest

from cassandra import DriverException
from cassandra.cluster import Session
from cassandra.column_encryption.policies import AES256ColumnEncryptionPolicy, AESSIVColumnEncryptionPolicy
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery
from cassandra.policies import ColDesc, ColumnEncryptionPolicy
from cassandra.query import BatchStatement, SimpleStatement
from tests.integration.conftest import Connect

pytestmark = pytest.mark.server

KEY, IV = bytes(range(32)), bytes(range(16))
SECRET = "top-secret-4111"
TABLE = (
    "CREATE TABLE secrets (part blob, ck blob, doc blob, card blob, note blob, plain blob, n int, m map<text, blob>, "
    "PRIMARY KEY (part, ck))"
)
#: Encrypted columns, which hold text, and whether equal values are stored equally.
ENCRYPTED = {"part": True, "ck": True, "doc": False, "card": True}


def policy_for(keyspace: str, kind: str) -> ColumnEncryptionPolicy:
    if kind == "cbc":
        cbc = AES256ColumnEncryptionPolicy(iv=IV)
        for name in ENCRYPTED:
            cbc.add_column(ColDesc(keyspace, "secrets", name), KEY, "text")
        return cbc
    siv = AESSIVColumnEncryptionPolicy()
    for name, deterministic in ENCRYPTED.items():
        siv.add_column(ColDesc(keyspace, "secrets", name), KEY, "text", deterministic=deterministic)
    return siv


@pytest.fixture(scope="module")
def table(session: Session) -> None:
    session.execute(TABLE)


@pytest.fixture(params=["cbc", "siv", "siv-v4"])
def encrypting(
    request: pytest.FixtureRequest, cluster_to: Connect, cassandra_node: Any, session: Session, table: None
) -> Iterator[Session]:
    kind, _, version = request.param.partition("-")
    assert session.keyspace is not None
    options: dict[str, Any] = {"protocol_version": 4} if version else {}
    cluster = cluster_to(cassandra_node, column_encryption_policy=policy_for(session.keyspace, kind), **options)
    session.execute("TRUNCATE secrets")
    yield cluster.connect(session.keyspace)


def stored(session: Session) -> list[Any]:
    """All rows as they are in the database, after a look for anything in the clear."""
    rows = list(session.execute("SELECT part, ck, doc, card, plain, n, m FROM secrets"))
    for row in rows:
        for name in ENCRYPTED:
            value = getattr(row, name)
            assert value is None or SECRET.encode() not in value, f"{name} is stored in the clear"
    return rows


def write(encrypting: Session) -> None:
    insert = encrypting.prepare("INSERT INTO secrets (part, ck, doc, card, n) VALUES (?, ?, ?, ?, ?)")
    encrypting.execute(insert, (f"{SECRET}-p", f"{SECRET}-c", f"{SECRET}-d", f"{SECRET}-n", 1))


PART, CK, DOC, CARD = (f"{SECRET}-{end}" for end in "pcdn")

WRITES: list[tuple[str, Any]] = [
    ("INSERT INTO secrets (part, ck, doc, card) VALUES (?, ?, ?, ?)", (PART, CK, DOC, CARD)),
    (
        "INSERT INTO secrets (part, ck, doc, card) VALUES (:id, :cluster, :content, :number)",
        {"id": PART, "cluster": CK, "content": DOC, "number": CARD},
    ),
    (
        "INSERT INTO secrets (doc, part, card, ck) VALUES (:part, :card, :doc, :ck) -- names of others\n",
        {"part": DOC, "card": PART, "doc": CARD, "ck": CK},
    ),
    (
        'INSERT INTO secrets (PART, "ck", doc, Card, plain, n) VALUES (:a, ?, /* ? */ :c, :d, :doc, :n)',
        (PART, CK, DOC, CARD, b"plain", 5),
    ),
    ("INSERT INTO secrets (part, ck, doc, card) VALUES (?, :x, ?, :x) IF NOT EXISTS", (PART, CK, DOC, CARD)),
    ("INSERT INTO secrets (part, ck, doc, card) VALUES (?, ?, ?, ?) USING TTL :doc", (PART, CK, DOC, CARD, 1000)),
    ("UPDATE secrets SET doc = :content, card = :card WHERE part = :p AND ck = :c", (DOC, CARD, PART, CK)),
    ("UPDATE secrets USING TTL ? SET doc = ?, card = ? WHERE part = ? AND ck IN (?, ?)", (9, DOC, CARD, PART, CK, CK)),
    ("UPDATE secrets SET doc = ?, card = ? WHERE part IN ? AND ck = ?", (DOC, CARD, [PART], CK)),
    ("UPDATE secrets SET doc = ?, card = ? WHERE part = ? AND (ck) = (?)", (DOC, CARD, PART, CK)),
    (
        "UPDATE secrets SET m[:doc] = :card, doc = :m, card = :x WHERE part = :y AND ck = :z",
        ("k", b"v", DOC, CARD, PART, CK),
    ),
    (
        "BEGIN BATCH INSERT INTO secrets (part, ck, doc) VALUES (:a, :b, :c); "
        "UPDATE secrets SET card = :d WHERE part = :e AND ck = :f APPLY BATCH",
        (PART, CK, DOC, CARD, PART, CK),
    ),
]


@pytest.mark.parametrize(("text", "values"), WRITES, ids=[str(number) for number in range(len(WRITES))])
def test_writes(session: Session, encrypting: Session, text: str, values: Any) -> None:
    encrypting.execute(encrypting.prepare(text), values)
    (row,) = stored(session)
    assert all(getattr(row, name) for name in ENCRYPTED) and row.plain in (None, b"plain")
    assert encrypting.execute("SELECT part, ck, doc, card FROM secrets").one() == (PART, CK, DOC, CARD)


READS: list[tuple[str, Any]] = [
    ("SELECT part, ck, doc, card FROM secrets WHERE part = :p AND ck = :doc", (PART, CK)),
    ("SELECT part, ck, doc, card FROM secrets WHERE part = ? AND ck IN (?, ?)", (PART, "none", CK)),
    ("SELECT part, ck, doc, card FROM secrets WHERE part IN ? AND ck IN ? LIMIT ?", (["none", PART], [CK], 10)),
    ("SELECT part, ck, doc, card FROM secrets WHERE part IN :list", {"list": [PART, "none"]}),
    ("SELECT part, ck, doc, card FROM secrets WHERE part = ? AND (ck) IN ((?))", (PART, CK)),
    ("SELECT part, ck, doc, card FROM secrets WHERE token(part) >= token(:x) AND token(part) <= token(?)", [PART] * 2),
    ("SELECT part, ck, doc, card FROM secrets WHERE card = :c ALLOW FILTERING", (CARD,)),
    ("SELECT part, ck AS doc, doc AS d, card AS plain FROM secrets WHERE part = ?", (PART,)),
]


@pytest.mark.parametrize(("text", "values"), READS, ids=[str(number) for number in range(len(READS))])
def test_reads(encrypting: Session, text: str, values: Any) -> None:
    write(encrypting)
    select = encrypting.prepare(text)
    for _ in range(3):
        assert tuple(encrypting.execute(select, values).one()) == (PART, CK, DOC, CARD)


@pytest.mark.parametrize("as_text", [True, False])
def test_aliases(encrypting: Session, as_text: bool) -> None:
    write(encrypting)
    text = "SELECT n AS doc, doc AS n, plain AS card, doc, count(*) AS ck FROM secrets"
    select: Any = SimpleStatement(text) if as_text else encrypting.prepare(text)
    for _ in range(3):
        assert tuple(encrypting.execute(select).one()) == (1, DOC, None, DOC, 1)


def test_conditions(session: Session, encrypting: Session) -> None:
    write(encrypting)
    text = "UPDATE secrets SET doc = :new WHERE part = :p AND ck = :c IF card {} AND n = :n"
    for operation, value in (("= :x", CARD), ("IN (:x)", CARD), ("IN :x", [CARD, "other"])):
        update = encrypting.prepare(text.format(operation))
        assert encrypting.execute(update, ("new", PART, CK, value, 1)).was_applied
        assert not encrypting.execute(update, ("new", PART, CK, ["x"] if operation == "IN :x" else "x", 1)).was_applied
    stored(session)
    missed = encrypting.execute(update, ("new", PART, CK, [], 1)).one()
    assert (missed.applied, missed.card) == (False, CARD)
    delete = encrypting.prepare("DELETE doc FROM secrets WHERE part = :a AND ck = :b IF card = :c")
    assert encrypting.execute(delete, (PART, CK, CARD)).was_applied


REFUSED = [
    ("INSERT INTO secrets JSON ?", "INSERT JSON"),
    ('INSERT INTO secrets JSON \'{"part": "0x00"}\'', "INSERT JSON"),
    ("INSERT INTO secrets (part, ck, doc) VALUES (?, ?, textAsBlob(?))", "an expression"),
    ("INSERT INTO secrets (part, ck, doc) VALUES (?, ?, (blob)?)", "an expression"),
    ("UPDATE secrets SET doc = textAsBlob('x') WHERE part = ? AND ck = ?", "an expression"),
    ("UPDATE secrets SET doc = 0x746f70 WHERE part = ? AND ck = ?", "a value"),
    ("SELECT n FROM secrets WHERE part = 0x746f70", "a value"),
    ("SELECT n FROM secrets WHERE part = textAsBlob(?)", "an expression"),
    ("SELECT n, (blob)? FROM secrets", "cannot be assigned to a column"),
    ("SELECT n FROM secrets WHERE token(part) > token(0x00)", "a value"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_refused_when_prepared(encrypting: Session, text: str, reason: str) -> None:
    with pytest.raises(DriverException, match=reason) as refused:
        encrypting.prepare(text)
    assert "Nothing is sent" in str(refused.value)


TEXTS: list[tuple[str, Any]] = [
    ("INSERT INTO secrets (part, ck, doc) VALUES (%s, %s, %s)", (b"p", b"c", SECRET.encode())),
    ("INSERT INTO {keyspace}.secrets (part, ck, doc) VALUES (0x00, 0x00, textAsBlob('{secret}'))", None),
    ('INSERT INTO "secrets" JSON \'{{"part": "0x00", "ck": "0x00"}}\'', None),
    ("UPDATE secrets SET doc = %(doc)s WHERE part = 0x00 AND ck = 0x00", {"doc": SECRET.encode()}),
    ("BEGIN BATCH INSERT INTO secrets (part, ck) VALUES (0x00, 0x01); APPLY BATCH", None),
    ("SELECT n FROM secrets WHERE part = %s", (SECRET.encode(),)),
    ("DELETE FROM secrets WHERE part = %s", (SECRET.encode(),)),
    ("/* ; */ insert INTO Secrets (part, ck) VALUES ($$x$$, 0x01)", None),
]


@pytest.mark.parametrize(("text", "values"), TEXTS)
def test_texts_are_refused(session: Session, encrypting: Session, text: str, values: Any) -> None:
    if values is None:
        text = text.format(keyspace=session.keyspace, secret=SECRET)
    batch = BatchStatement()
    batch.add(text, values)
    for attempt in (
        lambda: encrypting.execute(text, values),
        lambda: encrypting.execute(SimpleStatement(text), values),
        lambda: encrypting.execute(batch),
    ):
        with pytest.raises(DriverException, match="Nothing is sent") as refused:
            attempt()
        assert SECRET not in str(refused.value)
    assert not stored(session)


def test_texts_with_encrypted_values(session: Session, encrypting: Session) -> None:
    policy: Any = encrypting.cluster.column_encryption_policy
    values = {
        name: policy.encode_and_encrypt(ColDesc(str(session.keyspace), "secrets", name), f"{SECRET}-{name}")
        for name in ENCRYPTED
    }
    text = "INSERT INTO secrets (part, ck, doc, card) VALUES (%(part)s, %(ck)s, %(doc)s, %(card)s)"
    encrypting.execute(text, values)
    assert len(stored(session)) == 1
    found = encrypting.execute("SELECT part, ck, doc, card FROM secrets WHERE part = %s", (values["part"],)).one()
    assert found == tuple(f"{SECRET}-{name}" for name in ENCRYPTED)
    with pytest.raises(DriverException, match="Nothing is sent"):  # of another column
        encrypting.execute(text, {**values, "card": values["part"][:-1]})


def test_other_tables_are_not_concerned(session: Session, encrypting: Session) -> None:
    session.execute("CREATE TABLE IF NOT EXISTS other (part blob PRIMARY KEY, doc blob)")
    encrypting.execute("INSERT INTO other (part, doc) VALUES (0x01, textAsBlob('x'))")
    encrypting.execute('INSERT INTO other JSON \'{"part": "0x02"}\'')
    encrypting.execute(encrypting.prepare("INSERT INTO other JSON ?"), ('{"part": "0x03"}',))
    encrypting.execute(encrypting.prepare("UPDATE other SET doc = textAsBlob(?) WHERE part = :p"), ("y", b"\4"))
    assert encrypting.execute("SELECT doc FROM other WHERE part = 0x04").one().doc == b"y"


def test_views(session: Session, encrypting: Session) -> None:
    """The columns of a view are those of its table."""
    session.execute("DROP MATERIALIZED VIEW IF EXISTS by_card")
    session.execute(
        "CREATE MATERIALIZED VIEW by_card AS SELECT part, ck, doc, card FROM secrets "
        "WHERE part IS NOT NULL AND ck IS NOT NULL AND card IS NOT NULL PRIMARY KEY (card, part, ck)"
    )
    encrypting.cluster.refresh_materialized_view_metadata(encrypting.keyspace, "by_card")
    select = encrypting.prepare("SELECT part, ck, doc AS d, card FROM by_card WHERE card = :c")
    write(encrypting)
    for _ in range(100):
        found = encrypting.execute(select, (CARD,)).all()
        if found:
            break
        time.sleep(0.1)
    assert found == [(PART, CK, DOC, CARD)]
    with pytest.raises(DriverException, match="a value"):
        encrypting.execute("SELECT part FROM by_card WHERE card = 0x00")
    session.execute("DROP MATERIALIZED VIEW by_card")


def test_scans(encrypting: Session) -> None:
    write(encrypting)
    expected = [{"doc": DOC, "card": CARD}]
    assert encrypting.scan("secrets", columns=["doc", "card"]).to_arrow().to_pylist() == expected
    where = ("card = ? ALLOW FILTERING", [CARD])
    assert encrypting.scan("secrets", columns=["doc", "card"], where=where).to_arrow().to_pylist() == expected
    assert encrypting.execute("SELECT doc AS x, card FROM secrets").to_arrow().to_pylist() == [{"x": DOC, "card": CARD}]
    with pytest.raises(DriverException, match="a value"):
        encrypting.scan("secrets", where=f"card = 0x{CARD.encode().hex()} ALLOW FILTERING").to_arrow()


def test_batches_and_concurrent_calls(session: Session, encrypting: Session) -> None:
    insert = encrypting.prepare("INSERT INTO secrets (part, ck, doc) VALUES (:a, :b, :c)")
    batch = BatchStatement()
    batch.add(insert, (f"{SECRET}1", CK, DOC))
    batch.add(insert.bind({"a": f"{SECRET}2", "b": CK, "c": DOC}))
    encrypting.execute(batch)
    execute_concurrent_with_args(encrypting, insert, [(f"{SECRET}{n}", CK, DOC) for n in range(3, 20)])
    assert len(stored(session)) == 19
    found = {row.part for row in encrypting.execute("SELECT part FROM secrets")}
    assert found == {f"{SECRET}{n}" for n in range(1, 20)}


def test_ingest(session: Session, encrypting: Session) -> None:
    marked = [pa.field(name, pa.string(), metadata={"cql.encrypted": "true"}) for name in ("part", "ck", "doc")]
    encrypting.ingest("secrets", pa.table([[PART], [CK], [DOC]], schema=pa.schema(marked)))
    (row,) = stored(session)
    (found,) = encrypting.execute("SELECT part, ck, doc FROM secrets")
    assert found == (PART, CK, DOC)
    session.execute("TRUNCATE secrets")
    raw = pa.table({"part": [row.part], "ck": [row.ck], "doc": [row.doc], "plain": [b"plain"]})
    encrypting.ingest("secrets", raw, already_encrypted=["part", "ck", "doc"])
    assert stored(session) == [row._replace(plain=b"plain")]
    with pytest.raises(ValueError, match="already_encrypted: no encrypted columns that are written: plain"):
        encrypting.ingest("secrets", raw, already_encrypted=["plain"])


def test_a_statement_of_another_session_is_refused(session: Session, encrypting: Session) -> None:
    insert = session.prepare("INSERT INTO secrets (part, ck, doc) VALUES (?, ?, ?)")
    values = (b"p", b"c", SECRET.encode())
    batch = BatchStatement()
    batch.add(insert, values)
    for success, error in execute_concurrent_with_args(encrypting, insert, [values] * 3, raise_on_first_error=False):
        assert not success and "was prepared by a session without" in str(error)
    for query in (insert, insert.bind(values), batch):
        for _ in range(2):
            with pytest.raises(DriverException, match="was prepared by a session without"):
                encrypting.execute(query, values if query is insert else None)
    harmless = session.prepare("SELECT n FROM secrets LIMIT ?")
    assert encrypting.execute(harmless, (1,)).one() is None
    assert not stored(session)


class Secrets(Model):
    __table_name__ = "secrets"
    part = columns.Text(partition_key=True)
    ck = columns.Text(primary_key=True)
    doc = columns.Text()
    card = columns.Text()
    n = columns.Integer()


@pytest.fixture
def mapped(encrypting: Session) -> Iterator[type[Secrets]]:
    connection.register_connection("encrypting", session=encrypting, default=True)
    Secrets.__keyspace__ = encrypting.keyspace
    yield Secrets
    connection.unregister_connection("encrypting")


def test_models(session: Session, mapped: type[Secrets]) -> None:
    made = mapped.create(part=PART, ck=CK, doc=DOC, card=CARD, n=1)
    assert mapped.get(part=PART, ck=CK).doc == DOC and mapped.filter(part__in=[PART, "x"]).count() == 1
    made.update(doc=f"{DOC}2")
    mapped.objects(part=PART, ck=CK).iff(card=CARD).update(n=2)
    with BatchQuery() as batch:
        mapped.batch(batch).create(part=f"{PART}2", ck=CK, doc=DOC)
    assert {row.doc for row in mapped.all()} == {f"{DOC}2", DOC}
    assert len(stored(session)) == 2


def test_models_never_fall_back_to_text(
    session: Session, encrypting: Session, mapped: type[Secrets], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Loose(Secrets):
        __table_name__ = "secrets"
        doc = columns.Blob()  # of bytes, while the values inside are text

    Loose.__keyspace__ = encrypting.keyspace
    with pytest.raises(TypeError, match="expected a value of type text to encrypt"):
        Loose.create(part=PART, ck=CK, doc=SECRET.encode())
    with pytest.raises(TypeError, match="expected a value of type text to encrypt"), BatchQuery() as batch:
        Loose.batch(batch).create(part=PART, ck=CK, doc=SECRET.encode())
    execute = encrypting.execute
    monkeypatch.setattr(encrypting, "execute", lambda *args, **kwargs: execute(*args, **kwargs))
    with pytest.raises(DriverException, match="Nothing is sent"):
        mapped.create(part=PART, ck=CK, doc=DOC)
    with pytest.raises(DriverException, match="Nothing is sent"), BatchQuery() as batch:
        mapped.batch(batch).create(part=PART, ck=CK, doc=DOC)
    assert not stored(session)


def test_columns_that_are_added_later(session: Session, encrypting: Session) -> None:
    """Statements that were copied with other options encrypt as well, those that cannot are not executed any more."""
    policy: Any = encrypting.cluster.column_encryption_policy
    insert = encrypting.prepare("INSERT INTO secrets (part, ck, note) VALUES (:p, :c, :n)")
    again = copy(insert)
    again.fetch_size = 7
    computed = encrypting.prepare("UPDATE secrets SET note = textAsBlob(?) WHERE part = ? AND ck = ?")
    encrypting.execute(again, (PART, CK, b"plain"))
    encrypting.execute(computed, ("plain", PART, CK))
    policy.add_column(ColDesc(str(session.keyspace), "secrets", "note"), os.urandom(32), "text")
    late = again.bind({"p": PART, "c": CK, "n": SECRET})
    for statement in (insert, again, late):
        encrypting.execute(statement, None if statement is late else (PART, CK, SECRET))
        assert SECRET.encode() not in session.execute("SELECT note FROM secrets").one().note
        assert encrypting.execute("SELECT note FROM secrets").one().note == SECRET
    with pytest.raises(DriverException, match="an expression"):
        encrypting.execute(computed, (SECRET, PART, CK))


def test_altered_tables(session: Session, encrypting: Session) -> None:
    """The metadata of a result are replaced, and columns are found all the same."""
    session.execute("DROP TABLE IF EXISTS altered")
    session.execute("CREATE TABLE altered (k int PRIMARY KEY, a blob)")
    policy: Any = encrypting.cluster.column_encryption_policy
    policy.add_column(ColDesc(str(session.keyspace), "altered", "a"), KEY, "text")
    encrypting.execute(encrypting.prepare("INSERT INTO altered (k, a) VALUES (:a, :k)"), (1, SECRET))
    star, renamed = encrypting.prepare("SELECT * FROM altered"), encrypting.prepare("SELECT a AS b FROM altered")
    assert encrypting.execute(star).one() == (1, SECRET) and encrypting.execute(renamed).one() == (SECRET,)
    session.execute("ALTER TABLE altered ADD c int")
    for _ in range(2):
        assert encrypting.execute(star).one().a == SECRET and encrypting.execute(renamed).one() == (SECRET,)


def test_random_columns_cannot_be_compared(encrypting: Session) -> None:
    policy: Any = encrypting.cluster.column_encryption_policy
    texts = (
        "SELECT n FROM secrets WHERE doc = :x ALLOW FILTERING",
        "SELECT n FROM secrets WHERE doc = ? AND part = ? ALLOW FILTERING",
        "UPDATE secrets SET card = ? WHERE part = ? AND ck = ? IF doc = ?",
        "UPDATE secrets SET card = ? WHERE part = ? AND ck = ? IF doc IN ?",
    )
    for text in texts:
        if isinstance(policy, AESSIVColumnEncryptionPolicy):
            with pytest.raises(DriverException, match=r"secrets\.doc is encrypted to different bytes each time"):
                encrypting.prepare(text)
        else:
            encrypting.prepare(text)
    if isinstance(policy, AESSIVColumnEncryptionPolicy):
        keyspace = str(encrypting.keyspace)
        for name in ("part", "ck"):
            policy.add_column(ColDesc(keyspace, "secrets", name), KEY, "text")
            with pytest.raises(DriverException, match=rf"secrets\.{name} is encrypted to different bytes each time"):
                encrypting.prepare("INSERT INTO secrets (part, ck) VALUES (:x, :y)")
            policy.add_column(ColDesc(keyspace, "secrets", name), KEY, "text", deterministic=True)


def test_values_are_not_shown(encrypting: Session) -> None:
    insert = encrypting.prepare("INSERT INTO secrets (part, ck, n) VALUES (:a, :b, :c)")
    bound = insert.bind((SECRET, SECRET, 77))
    assert SECRET not in repr(bound) and SECRET not in str(bound)
    with pytest.raises(TypeError) as wrong:
        insert.bind((4111111111, SECRET, 7))
    assert "4111111111" not in str(wrong.value)
