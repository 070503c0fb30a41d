"""Names that exist only for programs written for scylla-driver and cassandra-driver (L6).

The driver itself does not use them, and no module of this package is imported before a program accesses one of its
names (``_base/aliases.py``). Names that are useful without a session work, with the codec of the driver itself; names
of DSE can be imported, and raise an error on use.

* ``attributes``, ``attributes_of_...``: compatibility aliases of public classes, as listed in ``_base/aliases.py``:
  other packages read and wrap them.
* ``finals``: completion hooks of requests, which tracers replace; ``results``: results of futures that are not the
  driver's; ``sessions``: sessions that programs create.
* ``addresses``, ``structs``, ``type_names``, ``internals``: helpers and names of scylla-driver's own modules;
  ``messages``: its registry of message classes.
* ``parsing``: decoding of rows without a session; ``segment``: encoding and decoding of protocol 5 segments;
  ``timers``: timers, loops, waiters.
* ``connection``: methods for connections that programs open themselves.
* ``futures``, ``unopened``: requests and connections that tests create directly, with a mock or without a transport.
* ``graph``, ``graph_...``: values, statements and tables of DSE graph, as far as they need no server.
* ``scheduling``: a thread for delayed calls of programs; ``patches``: names that tests replace in a facade.
* ``heartbeats``: heartbeats over connections of a program.
* ``concurrent``, ``policies``: classes that were renamed.
* ``dse``, ``schema``: names that are not included, by means of ``unsupported``.
"""
