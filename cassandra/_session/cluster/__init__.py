"""Cluster: options and profiles, the hosts and what happens to them, sessions, metrics, life and end.

:class:`~.cluster.Cluster` is what applications make: public names (``_base/face.py`` says how they lead to parts), and
a list of the parts. :class:`~.options.Options` and :class:`~.profiles.ProfileManager` keep what it was told;
``contact.py``, ``versions.py`` and ``connections.py`` see to how nodes are connected to. ``membership.py`` and
``topology.py`` turn what nodes report into hosts that are added, moved, up or down, ``reconnection.py`` tries those
that are down. ``connecting.py`` makes sessions, ``life.py`` begins and ends it all.
"""
