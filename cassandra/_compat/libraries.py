"""Imports of scylla-driver's modules that programs use, or patch, in these modules (L6).

The modules are the same objects that the driver uses: ``patch("cassandra.connection.socket.getaddrinfo")`` replaces the
function that it calls.
"""

import errno
import io
import itertools
import json
import random
import re
import ssl
import struct
import sys
import time
import types
import uuid
import warnings
import weakref
from collections import OrderedDict, defaultdict, deque, namedtuple
from copy import copy
from datetime import datetime, timedelta, timezone
from functools import partial, total_ordering, wraps
from queue import Empty, Queue
from uuid import UUID
from weakref import WeakSet

from cassandra._base.real import Future, socket, threading

Condition, Event, Lock, RLock, Thread = (
    threading.Condition,
    threading.Event,
    threading.Lock,
    threading.RLock,
    threading.Thread,
)

__all__ = [
    "Condition", "Empty", "Event", "Future", "Lock", "OrderedDict", "Queue", "RLock", "Thread", "UUID", "WeakSet",
    "copy", "datetime", "defaultdict", "deque", "errno", "io", "itertools", "json", "namedtuple", "partial",
    "random", "re", "socket", "ssl", "struct", "sys", "time", "timedelta", "timezone", "total_ordering", "types",
    "uuid", "warnings", "weakref", "wraps",
]  # fmt: skip
