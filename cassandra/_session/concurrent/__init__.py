"""Concurrent requests of one caller: :func:`~.concurrent.execute_concurrent` for threads,
:func:`~.concurrent_async.execute_concurrent_async` for asyncio, and the :class:`~.volley.Volley` below both.
"""
