"""One request, from its statement to its result; and many of one caller (``concurrent.py``).

:class:`~.future.ResponseFuture` is the public object of a request; its state and the steps of nearly all requests are
native (``Request``, ``transport_parts/request.pxi``, whose head documents ownership and threads).
:class:`~.plans.ExecutePlan` holds the data that all executions of a prepared statement share;
:class:`~.builder.RequestBuilder` builds all other requests from a statement and a profile.

``execution.py`` is the slow path of a request: the interpretation of responses and errors, attempts, message and frame,
and the order of hosts; ``retry.py`` decides which errors are retried. :class:`~.result.ResultSet` is the result that
applications get, :class:`~.trace.QueryTrace` the server's trace of the request.

Requests wait for room in ``admission.py``, and for a statement that a host has forgotten in ``preparing.py``.
``completion.py`` has the steps after the responses to DDL and USE, and the alternatives when no pool takes a request;
``observers.py`` the observers of attempts, ``notes.py`` what responses carry beside rows.
"""
