"""One request, from its statement to its result.

:class:`~.requests.RequestBuilder` makes a :class:`~.future.ResponseFuture` of a statement and a profile;
:class:`~.compiled.CompiledExecute` is what all executions of a prepared statement have in common. An ``Attempt`` is
one send of a request to one node, :class:`~.result.ResultSet` what it comes to, :class:`~.trace.QueryTrace` what the
server tells of it, :class:`~.admission.Line` where requests wait for room, :class:`~.repreparing.Repreparing` where
they wait for a statement that a host has forgotten; ``completing.py`` is what follows the answers to DDL and USE. The
heads of ``conclusion.py``, ``sending.py`` and ``execution.py`` say which thread owns what.
"""
