"""Bulk writes: ``session.ingest`` and ``ingest_async`` (L6). Imported on first use.

``target.py`` has the table and the statement, ``sources.py`` the options of a call and the sources of rows. Their
batches (``batches.py``) hold Arrow data or Python objects, which ``values.py`` converts. ``writing.py`` sends rows and
handles errors, by the retry decisions of ``_session/request/retry.py``; ``run.py`` runs it on a thread or on an event
loop; ``report.py`` has the result, and tasks for other processes.
"""
