"""The parts of ``soak_chaos``: a cluster that misbehaves, and the clients that use it all the same.

``cluster``     runs ``responder/chaos.cpp``: nodes that delay, reorder, drop and cut
``recordings``  answers of these nodes: each its own system tables, and statements that return the bound values
``ledger``      how each request ended, and whether that can be
``load``        threads, callbacks, event loops and ``execute_concurrent`` on one session
``left``        threads, descriptors and native objects that remain at the end
"""
