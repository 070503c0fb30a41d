"""Models of cqlengine that all threads use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import Session
from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery, DoesNotExist
from cassandra.testing import SimulatedCluster
from tests.threads.harness import THREADS, size, together

TURNS = size("FASTCQL_MODELS", 15)


class Reading(Model):
    __keyspace__ = "ks"
    __table_name__ = "readings"
    sensor = columns.Integer(primary_key=True)
    at = columns.Integer(primary_key=True)
    value = columns.Double()
    name = columns.Text(default=lambda: "new")
    tags = columns.Set(columns.Text)


@pytest.fixture
def models(simulated: SimulatedCluster, session: Session) -> Iterator[Session]:
    simulated.execute(
        "CREATE TABLE ks.readings "
        "(sensor int, at int, value double, name text, tags set<text>, PRIMARY KEY (sensor, at))"
    )
    session.cluster.refresh_schema_metadata()
    connection.register_connection("threads", session=session, default=True)
    yield session
    connection.unregister_connection("threads")


def test_instances_of_each_thread(models: Session) -> None:
    """Each thread creates, changes, reads and deletes its own instances of one model."""

    def work(number: int) -> None:
        for turn in range(TURNS):
            made = Reading.create(sensor=number, at=turn, value=number * 1000.0 + turn, tags={"a"})
            made.name = f"name {number} {turn}"
            made.tags.add("b")
            made.save()
            made.update(value=made.value + 0.5)
            found = Reading.get(sensor=number, at=turn)
            assert (found.value, found.name) == (number * 1000.0 + turn + 0.5, f"name {number} {turn}")
            assert found.tags == {"a", "b"} and found == made
            if turn % 3 == 2:
                found.delete()
                with pytest.raises(DoesNotExist):
                    Reading.get(sensor=number, at=turn)
        kept = [turn for turn in range(TURNS) if turn % 3 != 2]
        assert sorted(one.at for one in Reading.objects.filter(sensor=number)) == kept
        assert Reading.objects(sensor=number).count() == len(kept)

    together(work)


def test_query_sets_that_all_derive_from(models: Session) -> None:
    """Threads derive query sets from one; each has its own conditions and rows."""
    for sensor in range(THREADS):
        for at in range(10):
            Reading.create(sensor=sensor, at=at, value=float(sensor))
    base = Reading.objects.limit(100)

    def work(number: int) -> None:
        for turn in range(TURNS):
            own = base.filter(sensor=number).filter(at__gte=turn % 10)
            assert [one.at for one in own] == list(range(turn % 10, 10))
            assert {one.value for one in own} == {float(number)}
            first: Any = base.filter(sensor=number).order_by("-at").first()
            assert first.at == 9
            assert set(base.filter(sensor=number).values_list("value", flat=True)) == {float(number)}

    together(work)


def test_batches_of_each_thread(models: Session) -> None:
    def work(number: int) -> None:
        for turn in range(TURNS):
            with BatchQuery() as batch:
                for at in range(5):
                    Reading.batch(batch).create(sensor=number, at=turn * 5 + at, value=1.0)
        assert Reading.objects(sensor=number).count() == TURNS * 5

    together(work)


def test_models_that_threads_define(models: Session) -> None:
    """Classes are made while others are used for the first time."""

    def work(number: int) -> None:
        for turn in range(5):

            class Own(Model):
                __keyspace__ = "ks"
                __table_name__ = "readings"
                sensor = columns.Integer(primary_key=True)
                at = columns.Integer(primary_key=True)
                value = columns.Double()

            Own.create(sensor=100 + number, at=turn, value=turn / 2)
            assert Own.get(sensor=100 + number, at=turn).value == turn / 2
            assert Reading.get(sensor=100 + number, at=turn).value == turn / 2

    together(work)


def test_an_instance_that_all_read(models: Session) -> None:
    made = Reading.create(sensor=1, at=1, value=2.5, tags={"x"})

    def work(number: int) -> None:
        for _ in range(TURNS):
            assert (made.sensor, made.at, made.value, made.name) == (1, 1, 2.5, "new")
            assert dict(made)["tags"] == {"x"} and "value=2.5" in repr(made)

    together(work)
