"""Scans: a whole table at the speed of all its shards (L6). Imported on first use.

``scan.py`` is the object of the application. ``select.py`` parses CQL as far as needed, ``plan.py`` builds the
statement and the ranges from a call, ``pages.py`` fetches pages and handles their outcomes by the retry decisions of
``_session/request/retry.py``; ``reading.py`` has the steps of all readings, and turns ranges into scan events.
``expressions.py`` selects rows by conditions.

``ordered.py`` merges partitions in the order of their rows, which ``select.py`` determines.

``fold.py`` folds scan events to one result, by a reducer (``reducers.py``); ``pushdown.py`` lets servers fold,
``tasks.py`` other processes. ``checkpoint.py`` records the progress.
"""
