"""Scans: a whole table at the speed of all its shards (L5).

``select.py`` reads CQL as far as that is needed, ``plan.py`` makes of a call the statement and the ranges,
``question.py`` is one page of a range, to be asked for, ``asking.py`` sends these and takes the outcomes, which
``verdicts.py`` judges, ``reading.py`` turns ranges into pieces, which ``pieces.py`` describes, and ``scan.py`` is what
applications have in hand.

``order.py`` merges partitions in the order of their rows: ``ordering.py`` finds out what that is, and ``merging.py``
reads them.

``fold.py`` makes one result of pieces, for ``folding.py``, by a reducer (``protocol.py``; built in are ``reducers.py``
and ``aggregates.py``), with ``totals.py`` and ``crew.py``; ``pushdown.py`` leaves that to servers, ``tasks.py`` to
other processes. ``checkpoint.py`` and ``progress.py`` say how far it is, ``explain.py`` what it would do. Imported when
somebody scans.
"""
