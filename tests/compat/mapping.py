"""What programs about the object mapper share; see ``cases.py``. It imports nothing but what both drivers have.

A program says ``with mapped() as session:``. ``sent(name, function)`` prints what a call returns or raises, and below
that the statements that it executed, with their parameters: ``session.execute`` is watched, for which statements are
executed by their text. ``show`` and ``case`` of ``cases.py`` watch nothing, and run what a program would.
"""

# mypy: ignore-errors
from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import warnings

from cases import connect, show

from cassandra.cqlengine import connection

os.environ["CQLENG_ALLOW_SCHEMA_MANAGEMENT"] = "1"


@contextlib.contextmanager
def mapped(**options):
    """The default connection is a session in a keyspace that only this program uses."""
    with connect(**options) as session:
        connection.set_session(session)
        connection.session.default_timeout = 60
        yield session


@contextlib.contextmanager
def watched(session, seen, what=None):
    """Statements that *session* executes are added to *seen* as they are executed."""

    def execute(query, parameters=None, *args, **kwargs):
        seen.append((what or told)(query, parameters, kwargs))
        return type(session).execute(session, query, parameters, *args, **kwargs)

    session.execute = execute
    try:
        yield
    finally:
        del session.execute


def told(query, parameters, kwargs):
    text = getattr(query, "query_string", query)
    if not parameters:
        return text
    return f"{text} {shown(parameters)}"


def shown(parameters):
    if isinstance(parameters, dict):
        return "{" + ", ".join(f"{key}: {value!r}" for key, value in parameters.items()) + "}"
    return repr(parameters)


def sent(name, function, *args, session=None, what=None, text=False, **kwargs):
    """As ``show``, and then one line for each statement."""
    seen = []
    session = session or connection.get_session()
    with watched(session, seen, what):
        show(name, function, *args, text=text, **kwargs)
    for statement in seen:
        print(re.sub(" at 0x[0-9a-f]+", " at 0x", f"    {statement}"), flush=True)


@contextlib.contextmanager
def warned():
    """Warnings, and what the mapper logs from INFO on, are printed."""

    class Printing(logging.Handler):
        def emit(self, record):
            print(f"    {record.levelname} {record.getMessage()}", flush=True)

    handler = Printing(logging.INFO)
    loggers = [logging.getLogger(f"cassandra.cqlengine.{name}") for name in ("management", "connection", "models")]
    for logger in loggers:
        logger.setLevel(logging.INFO)
        logger.addHandler(handler)
        logger.propagate = False
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, category, *rest, **more: print(
            f"    {category.__name__} {message}".replace("in 4.0", "in a future release"), flush=True
        )
        yield
    for logger in loggers:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)


def items(instance):
    """What an instance has, by column."""
    return None if instance is None else dict(instance.items())


def many(rows):
    return [items(row) for row in rows]


def failing(name, function, *args, **kwargs):
    """A case whose error is a ValidationError or the like, whose text both have."""
    show(name, function, *args, text=True, **kwargs)


__all__ = ["failing", "items", "many", "mapped", "re", "sent", "shown", "sys", "warned", "watched"]
