"""L5: requests over the cluster: statements, futures, results, session, cluster, control connection.

Threads and loops: the :class:`~.scheduler.Scheduler` with the few threads that may block, adapters for asyncio loops
(``aio.py``), and the state of a forked child (``forks.py``).

Cluster: options and profiles, hosts and their states, sessions, metrics, start and shutdown.

:class:`~.cluster.Cluster` is the public class and the composition root of the parts (``_base/face.py`` describes how
public names lead to parts). :class:`~.options.Options` and :class:`~.profiles.ProfileManager` hold the options;
``contact.py``, ``versions.py`` and ``connections.py`` open connections to nodes. ``membership.py`` and ``topology.py``
turn reports of nodes into hosts that are added, moved, up or down, ``reconnection.py`` reconnects to hosts that are
down. ``connecting.py`` makes sessions, ``life.py`` starts and shuts down the cluster.
"""

from __future__ import annotations


# ---- init


# ---- init
