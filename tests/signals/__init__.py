"""Handlers of signals that raise or use the driver, at every moment of every public call.

Python runs the handlers of signals on the main thread, wherever that is. Programs raise from them (Ctrl-C, time limits
of task queues), use the driver in them (the end of a worker), or both. Whatever the moment, afterwards:

* nothing hangs: neither the call, nor a future, callback or task that waits for the same request;
* nothing is lost or doubled: a write that was acknowledged is there, an interrupted one is there once or never;
* session, driver and servers agree about the keyspace in use and about the schema;
* streams, places in the admission queue, connections and native objects are given back, and pools are whole;
* every kind of request works at once.

The parts:

``calls.py``, ``async_calls.py``, ``mapper_calls.py``
    The calls. A new public call gets a function there, which says how it is made and what has to hold afterwards.
``moments.py``, ``tripping.c``
    When handlers run: at the n-th moment of the call, for all n one after the other, so that none is missed; or at a
    random moment (``setitimer``), which also interrupts native waits.
``scene.py``
    The cluster object under test, and what has to hold after each interrupt.
``server.py``
    The simulated cluster, in a process of its own.
``worker.py``, ``campaign.py``
    A process per call and mode, and what starts them. A hang ends a process, with a dump of its threads.

``python -m tests.signals`` runs all calls in all modes, over plain, TLS and LZ4 connections, under asyncio and uvloop,
until 100,000 interrupts are done, and prints a table (``make soak`` does so)::

    python -m tests.signals --call use --call prepare --kind plain --interrupts 3000

``test_interrupts.py`` is the part that CI runs. A failure names call, mode, moment and the interrupted code; the same
moment comes again with the same arguments.
"""
