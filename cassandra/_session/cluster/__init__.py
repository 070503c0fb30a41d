"""Cluster: options and profiles, the hosts and what happens to them, sessions, metrics, life and end.

:class:`~.cluster.Cluster` is what applications make. :class:`~.profiles.ExecutionProfile` and ``options.py`` say how
requests are executed, ``membership.py`` and ``topology.py`` turn what nodes report into hosts that are added, moved,
up or down, ``reconnection.py`` tries those that are down.
"""
