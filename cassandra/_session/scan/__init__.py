"""Scans: a whole table at the speed of all its shards (L5).

``select.py`` parses CQL as far as needed, ``plan.py`` builds the statement and the ranges from a call, ``question.py``
is the page template, ``asking.py`` fetches pages and handles their outcomes by the retry decisions of
``request/retry.py``, ``reading.py`` turns ranges into scan events, which ``pieces.py`` defines, and ``scan.py`` is the
object of the application.

``order.py`` merges partitions in the order of their rows: ``ordering.py`` determines that order, and ``merging.py``
reads the partitions.

``fold.py`` folds scan events to one result, for ``folding.py``, by a reducer (``protocol.py``; built-in ones are in
``reducers.py`` and ``aggregates.py``), with ``totals.py`` and the worker pool ``crew.py``; ``pushdown.py`` lets servers
fold, ``tasks.py`` other processes. ``checkpoint.py`` and ``progress.py`` record the progress, ``explain.py`` describes
a scan without reading. Imported on first use.
"""
