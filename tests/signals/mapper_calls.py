"""The public calls of the object mapper. See :mod:`tests.signals.calls`."""

from __future__ import annotations

import contextlib
from typing import Any

from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.management import sync_table
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery
from tests.signals.calls import Parts, call
from tests.signals.scene import Scene, holds

NAME = "signals"


class Seen(Model):
    __keyspace__ = "one"
    __table_name__ = "seen"
    __connection__ = NAME
    id = columns.BigInt(primary_key=True)
    v = columns.Text()
    number = columns.Integer()


def use_session(scene: Scene) -> None:
    """Models use a cluster object of their own: rows of mapped sessions are dictionaries."""
    if scene.mapped is None:
        with contextlib.suppress(Exception):  # there is none yet
            connection.unregister_connection(NAME)
        scene.mapped = scene.new_cluster().connect("one", wait_for_all_pools=True)
        connection.register_connection(NAME, session=scene.mapped)


def rows_of(scene: Scene, number: int) -> list[tuple[Any, Any]]:
    found = scene.server.execute(f"SELECT v, number FROM seen WHERE id = {number}", "one")
    return [(row["v"], row["number"]) for row in found]


def saved(scene: Scene, number: int, ended: bool, *expected: tuple[Any, Any]) -> None:
    """The row is one of *expected*, the last one if it is acknowledged; ``(None, None)`` is none."""
    found = rows_of(scene, number) or [(None, None)]
    holds(found[0] in expected, f"a wrong row: {found[0]}")
    holds(found[0] == expected[-1] or not ended, f"an acknowledged change is lost: {found[0]}")


@call()
def mapper_create(scene: Scene) -> Parts:
    use_session(scene)
    number = next(scene.ids)

    def run() -> None:
        Seen.create(id=number, v="x", number=1)

    return run, lambda ended: saved(scene, number, ended, (None, None), ("x", 1))


@call()
def mapper_save(scene: Scene) -> Parts:
    use_session(scene)
    number = next(scene.ids)
    instance = Seen.create(id=number, v="x", number=1)
    instance.v = "y"

    def check(ended: bool) -> None:
        saved(scene, number, ended, ("x", 1), ("y", 1))
        instance.save()  # the instance knows whether it has changes
        saved(scene, number, ended, ("x", 1), ("y", 1))
        holds(Seen.get(id=number).v in ("x", "y"), "a wrong value")

    return instance.save, check


@call()
def mapper_update(scene: Scene) -> Parts:
    use_session(scene)
    number = next(scene.ids)
    instance = Seen.create(id=number, v="x", number=1)

    def check(ended: bool) -> None:
        saved(scene, number, ended, ("x", 1), ("y", 2))
        instance.update(v="z", number=3)
        saved(scene, number, True, ("z", 3))

    return lambda: instance.update(v="y", number=2), check


@call()
def mapper_delete(scene: Scene) -> Parts:
    use_session(scene)
    number = next(scene.ids)
    instance = Seen.create(id=number, v="x", number=1)
    return instance.delete, lambda ended: saved(scene, number, ended, ("x", 1), (None, None))


@call()
def mapper_get(scene: Scene) -> Parts:
    use_session(scene)
    number = next(scene.ids)
    Seen.create(id=number, v="x", number=1)

    def run() -> None:
        holds(Seen.get(id=number).v == "x", "a wrong value")

    return run, lambda ended: run()


@call()
def mapper_filter(scene: Scene) -> Parts:
    use_session(scene)
    numbers = [next(scene.ids) for _ in range(3)]
    for number in numbers:
        Seen.create(id=number, v="x", number=1)
    query = Seen.objects.filter(id__in=numbers)

    def run() -> None:
        holds(sorted(row.id for row in query) == numbers, "wrong rows")

    def check(ended: bool) -> None:
        run()  # the query set that was interrupted goes on
        holds(Seen.objects.filter(id__in=numbers).count() == len(numbers), "a wrong count")

    return run, check


@call()
def mapper_batch(scene: Scene) -> Parts:
    use_session(scene)
    numbers = [next(scene.ids) for _ in range(3)]

    def run() -> None:
        with BatchQuery(connection=NAME) as batch:
            for number in numbers:
                Seen.batch(batch).create(id=number, v="x", number=1)

    def check(ended: bool) -> None:
        for number in numbers:
            saved(scene, number, ended, (None, None), ("x", 1))

    return run, check


@call()
def mapper_sync_table(scene: Scene) -> Parts:
    use_session(scene)

    class Made(Model):
        __keyspace__ = "one"
        __table_name__ = f"made{next(scene.names)}"
        __connection__ = NAME
        id = columns.BigInt(primary_key=True)

    def check(ended: bool) -> None:
        sync_table(Made)
        Made.create(id=1)
        holds(Made.get(id=1).id == 1, "a wrong value")
        scene.session.execute(f"DROP TABLE one.{Made.__table_name__}")

    return lambda: sync_table(Made), check


@call()
def mapper_class(scene: Scene) -> Parts:
    """The first use of a model, which compiles how it is read and written."""
    use_session(scene)

    class Fresh(Model):
        __keyspace__ = "one"
        __table_name__ = "seen"
        __connection__ = NAME
        id = columns.BigInt(primary_key=True)
        v = columns.Text()

    number = next(scene.ids)

    def run() -> None:
        Fresh.create(id=number, v="x")
        holds(Fresh.get(id=number).v == "x", "a wrong value")
        Fresh.objects(id=number).update(v="y")

    def check(ended: bool) -> None:
        run()
        saved(scene, number, True, ("y", None))

    return run, check
