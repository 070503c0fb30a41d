"""Statements, bound and not, and their parameters.

:class:`~.statements.Statement` and :class:`~.statements.SimpleStatement` (text), :class:`~.prepared.PreparedStatement`
and :class:`~.prepared.BoundStatement`, :class:`~.batch.BatchStatement`; timestamp generators; registered user types;
the sentinels for unset arguments. ``keyspaces.py`` resolves unqualified names in a request, ``parameters.py`` checks if
bound values are still valid. Independent of connections.
"""
