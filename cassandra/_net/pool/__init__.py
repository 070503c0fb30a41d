"""The connections of one session to one node.

:class:`~.pool.HostPool` owns them and picks; ``slots.py`` knows which connection is for which shard, ``filling.py``
decides when another one is opened, ``sharding.py`` is what a node said of its shards, ``relief.py`` takes over from
connections that give no sign of life, ``following.py`` is USE on all of them, ``state.py`` what is told of them.
"""
