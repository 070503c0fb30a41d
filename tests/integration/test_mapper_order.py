"""Conditional writes of models after plain ones, on a real server, which gives them times of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import Session
from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.management import sync_table
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery

#: Of those that are not kept apart every sixth loses, or more.
PAIRS = 60


class Thing(Model):
    id = columns.Integer(primary_key=True)
    text = columns.Text()


@pytest.fixture(scope="module", autouse=True)
def registered(session: Session, keyspace: str) -> Iterator[None]:
    connection.register_connection("order", session=session, default=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CQLENG_ALLOW_SCHEMA_MANAGEMENT", "1")
        patch.setattr(Thing, "__keyspace__", keyspace)
        sync_table(Thing)
        yield
    connection._connections.clear()


def by_instance(thing: Any) -> None:
    thing.if_exists().update(text="after")


def by_condition(thing: Any) -> None:
    thing.iff(text="before").update(text="after")


def by_query_set(thing: Any) -> None:
    Thing.objects(id=thing.id).if_exists().update(text="after")


def in_batch(thing: Any) -> None:
    with BatchQuery() as batch:
        thing.batch(batch).if_exists().update(text="after")


@pytest.mark.parametrize("text", [False, True], ids=["prepared", "text"])
@pytest.mark.parametrize("write", [by_instance, by_condition, by_query_set, in_batch])
def test_a_conditional_write_is_not_older(write: Any, text: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cassandra._mapper.execution.PREPARING", not text)
    lost = 0
    for number in range(PAIRS):
        write(Thing.create(id=number, text="before"))
        lost += Thing.get(id=number).text != "after"
    assert not lost


def test_a_row_that_is_made_again() -> None:
    lost = 0
    for number in range(PAIRS):
        Thing.create(id=number, text="before").delete()
        Thing.if_not_exists().create(id=number, text="after")
        lost += Thing.objects(id=number).count() != 1
    assert not lost


def test_awaited() -> None:
    async def main() -> int:
        lost = 0
        for number in range(PAIRS):
            thing = await Thing.acreate(id=number, text="before")
            if number % 2:
                await thing.if_exists().aupdate(text="after")
            else:
                async with BatchQuery() as batch:
                    await thing.batch(batch).if_exists().aupdate(text="after")
            lost += (await Thing.aget(id=number)).text != "after"
        return lost

    assert asyncio.run(main()) == 0
