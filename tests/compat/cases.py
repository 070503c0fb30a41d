"""What programs that run with both drivers are made of: small cases, each of which prints one line.

It imports nothing but what both drivers have. A program says ``from cases import case, each, show``::

    @case("a set of sets")                          # runs at once
    def _():
        return util.sortedset([util.sortedset([1])])

    show("a date", util.Date, "2024-02-29")         # one call
    each("Time", util.Time, ["01:00", 5, None])     # one case per value

prints ``a date: Date(19782)`` or ``Time None: TypeError``. With ``text=True`` the text of the exception is printed,
too: where both drivers are to say the same, which is seldom needed. With ``caught=Exception`` (or a tuple of classes)
an exception is told by the first of these that it is an instance of: where programs have no use for more.

A program of ``programs_on_server`` connects with ``with connect() as session:``, which is in a new keyspace of its own
(``session.keyspace``), dropped at the end. The server's address is printed as ``SERVER``, addresses of objects as
``0x``.
"""

# mypy: ignore-errors
from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path

CONTACT = os.environ.get("CASSANDRA_CONTACT", "")
HOST, _, PORT = CONTACT.partition(":")
USUAL = "127.0.0.1"  # of servers that were recorded, if no other was running; and a value in programs
#: At the end of an error: ours names model, column and value, or the statement with a hint.
NAMED = re.compile(r" (?:\(\w+\.\w+ = .*\)|\[statement: .*)\Z", re.DOTALL)
KEYSPACE = "compat_" + Path(sys.argv[0]).stem


def text_of(error):
    """Its text, as both drivers have it."""
    return NAMED.sub("", str(error))


def show(name, function, *args, text=False, caught=(), **kwargs):
    """Print what ``function(*args, **kwargs)`` returns or raises."""
    try:
        told = repr(function(*args, **kwargs))
    except Exception as error:
        kinds = caught if isinstance(caught, tuple) else (caught,)
        kind = next((kind for kind in kinds if isinstance(error, kind)), type(error))
        told = kind.__name__ + (f": {text_of(error)}" if text else "")
    if CONTACT:
        told = told.replace(CONTACT, "SERVER").replace(HOST, "SERVER").replace(USUAL, "SERVER")
    print(re.sub(" at 0x[0-9a-f]+", " at 0x", f"{name}: {told}"), flush=True)


def case(name, text=False, caught=()):
    """Decorator: call the function now and print what it returns or raises."""
    return lambda function: show(name, function, text=text, caught=caught)


def each(name, function, values, text=False, caught=()):
    """``function(value)`` for each of *values*."""
    for value in values:
        show(f"{name} {value!r}", function, value, text=text, caught=caught)


@contextlib.contextmanager
def connect(**options):
    """A session with the server, in a keyspace that only this program uses; *options* are Cluster's."""
    from cassandra.cluster import Cluster

    options = {"connect_timeout": 60, "control_connection_timeout": 60, **options}
    with Cluster([HOST], port=int(PORT), **options) as cluster:
        session = cluster.connect()
        with contextlib.suppress(ValueError):  # where profiles are used
            session.default_timeout = 60
        replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        session.execute(f"DROP KEYSPACE IF EXISTS {KEYSPACE}", timeout=60)
        session.execute(f"CREATE KEYSPACE {KEYSPACE} WITH replication = {replication}", timeout=60)
        session.set_keyspace(KEYSPACE)
        yield session
        session.execute(f"DROP KEYSPACE {KEYSPACE}", timeout=60)
