"""What ``ResponseFuture._set_result`` costs, with either driver: the answer is decoded, the request gets its rows.

A real session reads a point from the responder while ``_set_result`` is watched; what it was called with, is then given
to it again and again. Argument: the responder's port.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any
from unittest import mock

from benchmarks.clients.harness import Client, Work, run
from benchmarks.clients.points import INSERT, SELECT
from cassandra.cluster import Cluster, ResponseFuture
from cassandra.query import named_tuple_factory, tuple_factory

FUTURES = 100
CALL = "for future, args in calls: future._set_result(*args)"
Calls = Sequence[tuple[Any, tuple[Any, ...]]]


class Watched:
    """One request, as the driver itself made and concluded it."""

    def __init__(self, execute: Callable[[], object]) -> None:
        init, set_result = ResponseFuture.__init__, ResponseFuture._set_result
        self.made_with: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
        self.future: Any = None
        self.args: tuple[Any, ...] = ()
        self.page: Any = None

        def watched_init(future: Any, *args: Any, **kwargs: Any) -> None:
            self.made_with = (args, kwargs)
            init(future, *args, **kwargs)

        def watched(future: Any, *args: Any) -> None:
            self.future, self.args = future, args
            self.page = getattr(args[-1], "page", None)
            set_result(future, *args)

        with mock.patch.multiple(ResponseFuture, __init__=watched_init, _set_result=watched):
            execute()

    def calls(self, row_factory: Any, cls: Any) -> Calls:
        """Requests that have no answer yet, each with an answer of its own. scylla-driver's may get one any number of
        times; ours takes the bytes away from the answer once it has the rows."""
        args, kwargs = self.made_with
        again = {**kwargs, "row_factory": row_factory}
        if CONCLUDE != "_conclude":
            return [(cls(*args, **again), self.args)] * FUTURES
        return [(cls(*args, **again), (*self.args[:-1], self._answer())) for _ in range(FUTURES)]

    def _answer(self) -> Any:
        kept = self.args[-1]
        answer = type(kept)(kept.kind)
        for name in ("page", "plan"):
            setattr(answer, name, getattr(self, name, None) or getattr(kept, name))
        return answer


#: Stands in for what is not measured: it takes whatever it is given, does nothing, and needs no Python frame for it.
nothing = "".format

#: ResponseFutures that do nothing with rows once they know that they have some; scylla-driver's, or ours.
CONCLUDE = "_set_final_result" if hasattr(ResponseFuture, "_set_final_result") else "_conclude"
Dispatched = type("Dispatched", (ResponseFuture,), {CONCLUDE: nothing})


@contextlib.contextmanager
def undecoded() -> Iterator[Callable[[bool], None]]:
    """A switch for fastcql's decoding of rows, which is part of ``_set_result``; scylla-driver decoded them before."""
    if CONCLUDE != "_conclude":
        yield nothing
        return
    execution: Any = import_module("cassandra._session.execution")
    decode = execution.decode_page

    def switch(off: bool) -> None:
        execution.decode_page = nothing if off else decode

    yield switch
    switch(False)


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    logging.disable(logging.WARNING)
    cluster = Cluster(["127.0.0.1"], port=int(arguments[0]), compression=False, protocol_version=4)
    try:
        session = cluster.connect()
        select, insert = session.prepare(SELECT), session.prepare(INSERT)
        rows = Watched(lambda: session.execute(select, (1,)))
        void = Watched(lambda: session.execute(insert, (1, 1 << 40, "point 1", 1 / 3, 1_700_000_000_000)))
        with undecoded() as switch:

            def work(watched: Watched, factory: Any, cls: Any = ResponseFuture) -> Work:
                names = {"watched": watched, "factory": factory, "cls": cls, "undecoded": switch}
                setup = f"undecoded({cls is Dispatched}); calls = watched.calls(factory, cls)"
                return Work(CALL, names, setup=setup, per=FUTURES)

            yield Client(
                {
                    "ROWS, dispatch": work(rows, nothing, Dispatched),
                    "ROWS, named tuples": work(rows, named_tuple_factory),
                    "ROWS, tuples": work(rows, tuple_factory),
                    "VOID": work(void, named_tuple_factory),
                }
            )
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    run("benchmarks.clients.outcome", make)
