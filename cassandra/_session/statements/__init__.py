"""What is executed: statements, bound and not, and what goes into them.

:class:`~.statements.Statement` and :class:`~.statements.SimpleStatement` (text),
:class:`~.prepared.PreparedStatement` and :class:`~.prepared.BoundStatement`, :class:`~.batch.BatchStatement`;
timestamp generators; registered user types; the sentinels for what was left unset. ``keyspaces.py`` says what
unqualified names in a request mean, ``parameters.py`` whether values that were bound are still right. Knows nothing of
connections.
"""
