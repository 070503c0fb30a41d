"""Query sets and writes: statements are built here, and executed by ``execution``.

* ``columns``: columns in conditions
* ``filters``: conditions from the arguments of ``filter()`` and ``iff()``
* ``loading``: instances from rows
* ``reading``: rows of a query set, page by page
* ``batch``: many writes as one batch
* ``base``, ``models``, ``simple``: query sets
* ``dml``: statements that write an instance
* ``context``: models temporarily in another keyspace
"""
