"""One request, from its statement to its result.

:class:`~.future.ResponseFuture` is what applications see of a request; its state and the steps that nearly all requests
take are native (``Request``, ``transport_parts/request.pxi``, whose head says who owns what and which thread does
what). :class:`~.compiled.CompiledExecute` is what all executions of a prepared statement have in common,
:class:`~.requests.RequestBuilder` makes all other requests of a statement and a profile.

What is out of the ordinary about a request is in its :class:`~.execution.Execution` (what answers and errors mean),
with a :class:`~.sending.Sending` (attempts), which has a :class:`~.content.Content` (what is asked, and its bytes) and
a :class:`~.plan.QueryPlan` (which host is next). An ``Attempt`` is one send to one node, ``outcome.py`` has what a page
comes to, :class:`~.result.ResultSet` is what applications get of it, :class:`~.trace.QueryTrace` what the server tells
of it.

:class:`~.admission.Line` is where requests wait for room, :class:`~.repreparing.Repreparing` where they wait for a
statement that a host has forgotten; ``completing.py`` is what follows the answers to DDL and USE, ``fallback.py`` who
is asked when no pool can be, :class:`~.tracking.Tracking` and ``measured.py`` who hears of attempts.
"""
