"""The only place that executes statements: from a blocking thread or from a task; prepared, or by text.

* ``text``: statements with literals, and the public ``execute()``
* ``applied``: whether a conditional write was applied
* ``requests``: execution of one statement
* ``batches``: execution of many statements as one batch
* ``steps``: sequences of requests, written once for threads and tasks
* ``explained``: what a request would execute
"""
