"""What exists only so that programs written for scylla-driver and cassandra-driver import and run (L6).

Nothing of the driver uses it, and no module of it is imported before a program asks for one of its names
(``_base/lending.py``). What can be used alone works, over the codec of the driver itself; what belongs to DSE can be
named, and raises one error when it is used.

* ``attributes``, ``attributes_of_...``: what public classes are lent, as ``_base/lent.py`` lists it: other packages
  read and wrap it.
* ``finals``: methods that end a request, which tracers replace; ``results``: results of futures that are not ours;
  ``sessions``: sessions that programs make.
* ``addresses``, ``structs``, ``type_names``, ``internals``: helpers and names of scylla-driver's own modules;
  ``messages``: its registry of message classes.
* ``parsing``: rows from bytes by hand; ``segment``: segments of protocol 5 by hand; ``timers``: timers, loops, waiters.
* ``connection``: what programs do with a connection that they opened by themselves.
* ``futures``, ``unopened``: requests and connections that tests make by hand, of a mock or without a transport.
* ``graph``, ``graph_...``: values, statements and tables of DSE graph, as far as they need no server.
* ``scheduling``: the thread for delayed calls that a program may make; ``patches``: what tests replace in a facade.
* ``heartbeats``: heartbeats over connections of a program.
* ``concurrent``, ``policies``: classes that have another name now.
* ``dse``, ``schema``: what is not included, by ``unsupported``.
"""
