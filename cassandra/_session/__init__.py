"""L5: requests over the cluster: statements, futures, results, session, cluster, control connection.

:class:`~.cluster.Cluster` is the public class and the composition root of the components (``_base/delegation.py``
describes how public names lead to parts). ``options.py``, ``config.py`` and ``profiles.py`` hold the options,
``life.py`` starts and shuts down the cluster.

* ``statements``, ``request``: statements, and their execution
* ``hosts``: connections to nodes, which hosts there are, whether they are up; ``control``: the control connection
* ``scheduler.py``: the few threads that may block; ``aio.py``: asyncio loops; ``forks.py``: the state of a forked child
"""
