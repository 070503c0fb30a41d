"""Query sets, what they are made of, and writing: statements are built here, and run by ``execution``.

* ``columns``: a column in conditions
* ``filters``: conditions from what ``filter()`` and ``iff()`` take
* ``loading``: instances from rows
* ``reading``: rows of a query set, page by page
* ``batch``: many writes as one
* ``base``, ``models``, ``simple``: query sets
* ``dml``: an instance as statements that write it
* ``context``: models for a while in another keyspace
"""
