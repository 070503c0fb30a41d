"""Names that exist only for programs written for scylla-driver and cassandra-driver (L6).

The driver itself does not use them, and no module of this package is imported before a program accesses one of its
names (``_base/aliases.py``). Names that are useful without a session work, with the codec of the driver itself; names
of DSE can be imported, and raise an error on use.

* ``attributes``: compatibility aliases of public classes, as listed in ``_base/aliases.py``: other packages read and
  wrap them.
* ``hooks``: completion hooks of requests, which tracers replace; sessions and results that programs create; names that
  tests replace in a facade.
* ``names``: helpers, library names and renamed classes of scylla-driver's own modules.
* ``protocol``: its registry of message classes, and decoding of rows without a session; ``segment``: encoding and
  decoding of protocol 5 segments; ``timers``: timers, loops, waiters.
* ``connection``: methods for connections that programs open themselves; ``heartbeats``: heartbeats over them.
* ``futures``, ``unopened``: requests and connections that tests create directly, with a mock or without a transport.
* ``scheduling``: a thread for delayed calls of programs.
* ``dse``: values, statements and tables of DSE graph, as far as they need no server, and names that are not included.
* ``mapper``: names inside the object mapper.
"""
