"""A session that answers what a program of ``programs`` tells it to, and shows what it is asked: for the object mapper.

``session.answers`` is a list of results, taken one by one: lists of rows, exceptions to be raised, or nothing.
``asked()`` gives what was executed since it was asked last, one text per statement.
"""

# mypy: ignore-errors
from __future__ import annotations

import os

os.environ["CQLENG_ALLOW_SCHEMA_MANAGEMENT"] = "1"

from cases import text_of

from cassandra.cqlengine import connection, statements
from cassandra.encoder import Encoder
from cassandra.query import dict_factory

LEVELS = {1: "ONE", 4: "QUORUM", 5: "ALL", 6: "LOCAL_QUORUM", 8: "SERIAL", 10: "LOCAL_ONE"}


class Rows(list):
    """A result: rows, as dicts."""

    has_more_pages = False
    paging_state = None

    def __init__(self, rows=()):
        super().__init__(dict(row) for row in rows)
        self.column_names = list(self[0]) if self else []
        self.current_rows = list(self)

    def one(self):
        return self[0] if self else None

    def all(self):
        return list(self)

    @property
    def was_applied(self):
        return not self or self[0].get("[applied]", True)


class Metadata:
    keyspaces = {}


class Cluster:
    protocol_version = 4
    _config_mode = None
    metadata = Metadata()

    def register_user_type(self, *args):
        pass


class Session:
    keyspace = "ks"
    hosts = ()
    default_timeout = 10
    default_consistency_level = None

    def __init__(self):
        self.row_factory = dict_factory
        self.encoder = Encoder()
        self.cluster = Cluster()
        self.answers = []
        self.asked = []

    def execute(self, query, parameters=None, timeout="nothing", **options):
        self.asked.append(told(query, parameters, timeout, options))
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, BaseException):
            raise answer
        return Rows(answer)


def plain(value):
    if isinstance(value, statements.ValueQuoter):
        return f"{type(value).__name__}({value.value!r})"
    return repr(value)


def told(query, parameters, timeout, options):
    text = str(getattr(query, "query_string", query)).replace("\n", "|")
    if parameters:
        named = sorted(parameters.items(), key=lambda item: int(item[0]))
        text += " {" + ", ".join(f"{key}: {plain(value)}" for key, value in named) + "}"
    level = getattr(query, "consistency_level", None)
    size = getattr(query, "fetch_size", None)
    if level is not None:
        text += f" at {LEVELS.get(level, level)}"
    if isinstance(size, int):
        text += f" by {size}"
    if getattr(query, "routing_key", None) is not None:
        text += f" to {query.routing_key.hex()}"
    if timeout is None or isinstance(timeout, (int, float)):
        text += f" within {timeout}"
    return text + (f" {options}" if options else "")


session = Session()
connection.register_connection("default", session=session, default=True)


def asked():
    """What was executed since this was asked last."""
    told, session.asked = session.asked, []
    return told


def doing(function, *args, answers=(), **kwargs):
    """(result, statements) of a call."""
    session.answers = list(answers)
    asked()
    try:
        result = function(*args, **kwargs)
        if isinstance(result, Rows):
            result = list(result)
    except Exception as error:
        result = f"{type(error).__name__}: {text_of(error)}"
    session.answers = []
    return result, asked()
