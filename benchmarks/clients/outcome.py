"""Measures ``ResponseFuture._set_result`` of scylla-driver, and its counterpart here, ``Execution.set_result``: the
answer is decoded, the request gets its rows.

A real session reads a point from the responder while that method is watched; the recorded arguments are then passed to
it again and again. A timeout of its own and a callback make it a request that this method ends: others are answered
natively. Argument: the responder's port.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import logging
import struct
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any
from unittest import mock
from uuid import uuid4

from benchmarks.clients.harness import INSERT, SELECT, Client, Work, run
from cassandra.cluster import Cluster, ResponseFuture
from cassandra.query import named_tuple_factory, tuple_factory

FUTURES = 100
OURS = not hasattr(ResponseFuture, "_set_result")
CALL = "for set_result, args in calls: set_result(*args)"
STAND_INS = "for set_result, args in calls: nothing(1, 2); future.{}(1, 2, 3, 4)"
Calls = Sequence[tuple[Any, tuple[Any, ...]]]
Payload = dict[str, bytes] | None


class Watched:
    """One request, as the driver itself made and concluded it."""

    def __init__(self, execute: Callable[[], object]) -> None:
        owner, name = _owner()
        init, set_result = ResponseFuture.__init__, getattr(owner, name)
        signature = inspect.signature(init)
        self.made_with: dict[str, Any] = {}  # arguments of the future, by name
        self.args: tuple[Any, ...] = ()
        self.page: Any = None

        def watched_init(future: Any, *args: Any, **kwargs: Any) -> None:
            bound = signature.bind(future, *args, **kwargs)
            self.made_with = dict(list(bound.arguments.items())[1:])
            init(future, *args, **kwargs)

        def watched(*args: Any) -> None:
            self.args = args[2:] if OURS else args[1:]
            self.page = getattr(args[-1], "page", None)
            set_result(*args)

        with mock.patch.object(ResponseFuture, "__init__", watched_init), mock.patch.object(owner, name, watched):
            execute()

    def calls(self, row_factory: Any, cls: Any, payload: Payload) -> Calls:
        """Requests that have no answer yet, each with an answer of its own. scylla-driver's may get one any number of
        times; ours takes the bytes away from the answer once it has the rows."""
        again = {**self.made_with, "row_factory": row_factory}
        if not OURS:
            answer = copy.copy(self.args[-1])
            answer.custom_payload = payload
            return [(cls(**again)._set_result, (*self.args[:-1], answer))] * FUTURES
        futures = [cls(**again) for _ in range(FUTURES)]
        return [(future._execution.set_result, (future, *self.args[:-1], self._answer(payload))) for future in futures]

    def _answer(self, payload: Payload) -> Any:
        kept = self.args[-1]
        answer = type(kept)(kept.kind)
        answer.plan, answer.page = kept.plan, self.page
        if payload is not None:
            answer.custom_payload = payload
        return answer


def _owner() -> tuple[Any, str]:
    """The class and the method that are measured."""
    if not OURS:
        return ResponseFuture, "_set_result"
    execution: Any = import_module("cassandra._session.request.execution")
    return execution.Execution, "set_result"


#: Replaces the code that is not measured: it accepts any arguments, does nothing, and needs no Python frame for it.
nothing: Callable[..., Any] = "".format
two_of_nothing: Callable[..., Any] = "--".format  # can be unpacked

#: ResponseFutures that do nothing with rows once they know that they have some; scylla-driver's, or ours.
CONCLUDE = "_conclude" if OURS else "_set_final_result"
Dispatched = type("Dispatched", (ResponseFuture,), {CONCLUDE: nothing})


def with_callback(future: ResponseFuture) -> None:
    future.add_callback(nothing)
    future.result()


def tablet() -> dict[str, bytes]:
    """The payload that ScyllaDB adds to an answer when a request came to the wrong shard: a tablet, three replicas."""
    replicas = b"".join(cell(cell(uuid4().bytes) + cell(struct.pack(">i", shard))) for shard in range(3))
    ends = (struct.pack(">q", token) for token in (-(1 << 62), 1 << 62))
    return {"tablets-routing-v1": b"".join(map(cell, ends)) + cell(struct.pack(">i", 3) + replicas)}


def cell(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def negotiate_tablets(watched: Watched) -> None:
    """The responder is no ScyllaDB: as if the connection had agreed on tablet routing."""
    first, *rest = watched.args
    connection = rest[0] if len(rest) > 1 else first.connection
    connection.features.tablets_routing_v1 = True


@contextlib.contextmanager
def undecoded() -> Iterator[Callable[[bool], Any]]:
    """A switch for fastcql's decoding of rows, which is part of ``_set_result``; scylla-driver decoded them before."""
    if not OURS:
        yield nothing
        return
    execution: Any = import_module("cassandra._session.request.execution")
    decode = execution.rows_and_page

    def switch(off: bool) -> None:
        execution.rows_and_page = two_of_nothing if off else decode

    yield switch
    switch(False)


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    logging.disable(logging.WARNING)
    cluster = Cluster(["127.0.0.1"], port=int(arguments[0]), compression=False, protocol_version=4)
    try:
        session = cluster.connect()
        select, insert = session.prepare(SELECT), session.prepare(INSERT)
        rows = Watched(lambda: with_callback(session.execute_async(select, (1,), timeout=10.0)))
        point = (1, 1 << 40, "point 1", 1 / 3, 1_700_000_000_000)
        void = Watched(lambda: with_callback(session.execute_async(insert, point, timeout=10.0)))
        negotiate_tablets(rows)
        for set_result, args in rows.calls(tuple_factory, ResponseFuture, tablet())[:1]:
            set_result(*args)
        assert ("bench", "points") in cluster.metadata._tablets._tablets
        with undecoded() as switch:

            def work(watched: Watched, factory: Any, cls: Any = ResponseFuture, payload: Payload = None) -> Work:
                names = {"watched": watched, "factory": factory, "cls": cls, "undecoded": switch, "payload": payload}
                setup = f"undecoded({cls is Dispatched}); calls = watched.calls(factory, cls, payload)"
                return Work(CALL, names, setup=setup, per=FUTURES)

            dispatch = work(rows, nothing, Dispatched)
            future = Dispatched(**rows.made_with)
            names = {**dispatch.names, "nothing": nothing, "future": future}

            yield Client(
                {
                    "ROWS, dispatch and stand-ins": dispatch,
                    "stand-ins": dispatch._replace(statement=STAND_INS.format(CONCLUDE), names=names),
                    "ROWS, named tuples": work(rows, named_tuple_factory),
                    "ROWS, tuples": work(rows, tuple_factory),
                    "ROWS and a tablet, tuples": work(rows, tuple_factory, payload=tablet()),
                    "VOID": work(void, named_tuple_factory),
                }
            )
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    run("benchmarks.clients.outcome", make)
