"""What exists only so that programs written for scylla-driver and cassandra-driver import and run (L6).

Nothing of the driver uses it, and no module of it is imported before a program asks for one of its names. What can be
used alone works, thin over the codec of the driver itself; what belongs to DSE raises one error when it is used.

* ``dse``: graph, continuous paging, DSE's metadata.
* ``internals``: helpers and names of scylla-driver's own modules that programs import from them.
* ``messages``: the registry of message classes.
"""
