"""Concurrent requests of one caller: :func:`~.concurrent.execute_concurrent` for threads,
:func:`~.concurrent_async.execute_concurrent_async` for asyncio, and the :class:`~.volley.Volley` below both.

One request, from its statement to its result.

:class:`~.future.ResponseFuture` is the public object of a request; its state and the steps of nearly all requests are
native (``Request``, ``transport_parts/request.pxi``, whose head documents ownership and threads).
:class:`~.compiled.CompiledExecute` holds the data that all executions of a prepared statement share;
:class:`~.requests.RequestBuilder` builds all other requests from a statement and a profile.

The slow path of a request is its :class:`~.execution.Execution` (interpretation of responses and errors), with a
:class:`~.sending.Sending` (attempts), which has a :class:`~.content.Content` (message and frame) and a
:class:`~.plan.QueryPlan` (order of hosts). An ``Attempt`` is one send to one node; ``outcome.py`` has the outcome of a
page, :class:`~.result.ResultSet` is the result that applications get, :class:`~.trace.QueryTrace` is the server's trace
of the request.

In :class:`~.admission.Line` requests wait for room, in :class:`~.repreparing.Repreparing` for a statement that a host
has forgotten. ``completing.py`` has the steps after the responses to DDL and USE, ``fallback.py`` the alternatives when
no pool takes a request, :class:`~.tracking.Tracking` and ``measured.py`` the observers of attempts.
"""

from __future__ import annotations


# ---- init
