"""What is executed: statements, bound and not, and what goes into them.

:class:`~.statements.Statement` and :class:`~.statements.SimpleStatement` (text),
:class:`~.prepared.PreparedStatement` and :class:`~.prepared.BoundStatement`, :class:`~.batch.BatchStatement`;
timestamp generators; literals of user types; the sentinels for what was left unset. Knows nothing of connections.
"""
