"""What mypy refuses: each line with ``# error`` must be an error, and no other. Never run, only checked."""

from __future__ import annotations

from cassandra.cluster import Cluster, ExecutionProfile, ResponseFuture, Session
from cassandra.concurrent import execute_concurrent_async
from cassandra.cqlengine import columns
from cassandra.cqlengine.usertype import UserType
from cassandra.query import BatchStatement, PreparedStatement, SimpleStatement, class_row


def wrong(session: Session, prepared: PreparedStatement, future: ResponseFuture) -> None:
    session.execute(5)  # error
    session.execute("SELECT 1", 5)  # error
    session.execute("SELECT 1", timeout="1")  # error
    session.execute("SELECT 1", trace="yes")  # error
    session.execute("SELECT 1", no_such_option=1)  # error
    session.prepare(b"SELECT 1")  # error
    SimpleStatement(5)  # error
    SimpleStatement("SELECT 1", consistency_level="ONE")  # error
    BatchStatement().add(5)  # error
    BatchStatement("LOGGED")  # error
    prepared.bind(5)  # error
    future.add_callback("not callable")  # error
    print(future.no_such_attribute)  # error
    Cluster(no_such_option=1)  # error
    Cluster(port="9042")  # error
    ExecutionProfile(request_timeout="1")  # error
    text: str = session.execute("SELECT 1")  # error
    session.execute("SELECT 1", row_factory=class_row(int, extra="drop"))  # error
    session.execute("SELECT 1", row_factory=5)  # error
    print(session.execute("SELECT 1", row_factory=class_row(str)).all()[0].no_such_attribute)  # error
    print(text)
    session.ingest("ks.t", 5)  # error
    session.ingest("ks.t", [5])  # error
    session.ingest(5, [])  # error
    session.ingest("ks.t", [], concurrency="many")  # error
    session.ingest("ks.t", [], on_error="ignore")  # error
    session.ingest("ks.t", [], nulls="keep")  # error
    session.ingest("ks.t", [], round="up")  # error
    session.ingest("ks.t", [], progress=lambda: None)  # error
    session.scan("ks.t").fold(len)  # error
    session.scan("ks.t", pushdown=True)  # error
    session.scan("ks.t").tasks(connect=5)  # error
    session.scan("ks.t", on_error="ignore")  # error
    session.scan("ks.t", token_range=(1, 2))  # error
    session.scan("ks.t").batches("id")  # error


async def forgotten(session: Session) -> None:
    (await session.prepare_async("SELECT 1")).bind(())
    session.prepare_async("SELECT 1").bind(())  # error
    len(execute_concurrent_async(session, []))  # error
    for _ in execute_concurrent_async(session, []):  # error
        pass
    execute_concurrent_async(session, ["SELECT 1"])  # error


class Address(UserType):
    street = columns.Text()


def wrong_columns(address: Address) -> None:
    address.street = 5  # error
    address.street + 5  # error
    columns.Integer(default="5")  # error
    columns.Integer(no_such_option=True)  # error
    columns.List()  # error
    columns.Vector(columns.Float)  # error
