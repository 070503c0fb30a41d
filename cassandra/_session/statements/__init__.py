"""Statements, bound and not, and their parameters.

:class:`~.statement.Statement` and :class:`~.statement.SimpleStatement` (text), with the sentinels for unset arguments;
:class:`~.prepared.PreparedStatement` and :class:`~.prepared.BoundStatement`, with the check if bound values are still
valid; :class:`~.batch.BatchStatement`; timestamp generators; registered user types. Independent of connections.
"""
