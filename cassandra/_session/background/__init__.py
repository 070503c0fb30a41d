"""Threads and loops: the :class:`~.scheduler.Scheduler` with the few threads that may block, adapters for asyncio loops
(``aio.py``), and the state of a forked child (``forks.py``)."""
