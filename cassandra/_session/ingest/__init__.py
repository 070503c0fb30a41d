"""Bulk writes: ``session.ingest`` and ``ingest_async`` (L5).

``target.py`` has the table and the statement, ``sources.py`` the sources of rows, ``writing.py`` sends rows and handles
errors, by the retry decisions of ``request/retry.py``; ``blocking.py`` and ``awaiting.py`` run it on a thread and on an
event loop; ``report.py`` is the result. Imported on first use.
"""
