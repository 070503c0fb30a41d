"""The one place that runs a statement: by a thread that waits, or by a task that awaits; prepared, or by its text.

* ``text``: a statement as literals, and ``execute()`` of programs
* ``applied``: whether a write with a condition was applied
* ``requests``: a statement to be run
* ``batches``: many of them at once
* ``steps``: what is done in which order, written once for threads and tasks
* ``explained``: what would be run
"""
