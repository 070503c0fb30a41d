"""Threads and loops: the :class:`~.scheduler.Scheduler` with the few threads that may block, bridges to asyncio loops
(``aio.py``), and what a forked child has to know (``forks.py``).
"""
