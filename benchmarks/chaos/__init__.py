"""A cluster that misbehaves, and whoever uses it all the same: what ``soak_chaos`` is made of.

``cluster``     runs ``responder/chaos.cpp``: nodes that delay, reorder, drop and cut
``recordings``  what these nodes say: each its own system tables, and statements that answer with what was bound
``ledger``      how each request ended, and whether that can be
``load``        threads, callbacks, event loops and ``execute_concurrent`` on one session
``left``        what is still there at the end
"""
