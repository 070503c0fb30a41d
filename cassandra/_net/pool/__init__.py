"""The connections of one session to one node.

:class:`~.pool.HostPool` owns and selects them; ``slots.py`` maps shards to connections, ``filling.py`` schedules the
opening of missing ones, ``sharding.py`` has the sharding of a node, ``relief.py`` opens standby connections for silent
ones, ``following.py`` sends USE on all of them, ``state.py`` reports their state.
"""
