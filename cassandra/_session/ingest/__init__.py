"""Bulk writes: ``session.ingest`` and ``ingest_async`` (L5).

``target.py`` is the table and the statement, ``sources.py`` where rows come from, ``writing.py`` sends them and sees to
what goes wrong, by what ``verdicts.py`` says, ``blocking.py`` and ``awaiting.py`` wait for it, on a thread and on a
loop; ``report.py`` is what comes of it. Imported when somebody ingests.
"""
