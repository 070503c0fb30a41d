"""Fields of objects of the upper layers that requests read."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest

from cassandra._core.routing import MetadataFields, PlanCache, PoolSetFields, SessionFields
from cassandra._net.pool import HostPool
from cassandra._session.hosts.pools import PoolSet
from cassandra.cluster import ExecutionProfile, ResultSet, Session
from cassandra.connection import Connection as NetConnection
from cassandra.cqlengine.connection import Connection
from cassandra.metadata import Metadata


class Other(SessionFields):
    pass


def test_kept_until_something_is_set() -> None:
    session = Other()
    assert session._kept_now() is None
    session._keep("found")
    assert session._kept_now() is None, "there is no scope yet"
    session._settings_epoch = object()
    session._keep("found")
    assert session._kept_now() == "found"
    session._settings_epoch = object()
    assert session._kept_now() is None
    session._keep("again")
    session._keep(None)
    assert session._kept_now() is None


def test_a_session_forgets_it_when_it_is_changed() -> None:
    session: Any = Session.__new__(Session)
    session.keyspace = "one"
    session._keep("found")
    assert session._kept_now() == "found"
    session.max_trace_wait = 3.0  # nothing is compiled for that
    assert session._kept_now() == "found"
    session.execute = print
    assert session._kept_now() is None


def test_pools_are_a_dict() -> None:
    with pytest.raises(TypeError):
        PoolSetFields().pools = []  # type: ignore[assignment]


def test_no_class_hides_a_field() -> None:
    for kind in (Session, PoolSet, HostPool, Metadata, ExecutionProfile, Connection, ResultSet, NetConnection):
        native = [base for base in kind.__mro__ if base.__module__.startswith("cassandra._core")]
        fields = {name for base in native for name, value in vars(base).items() if inspect.isdatadescriptor(value)}
        assert fields
        for base in kind.__mro__:
            if base is not object and base not in native:
                hidden = fields & {name for name in vars(base) if not name.startswith("__")}
                assert not hidden, (base, hidden)


def test_profile_version_and_resolved_options_follow_changes() -> None:
    profile = ExecutionProfile()
    before = profile._version
    profile.request_timeout = 3.0
    assert profile._version > before
    other = copy.copy(profile)
    assert other.resolved().request_timeout == 3.0 and profile.resolved() is not other.resolved()
    other.request_timeout = 4.0
    assert other.resolved().request_timeout == 4.0 and profile.resolved().request_timeout == 3.0


def test_copies_of_a_compiled_cache_are_empty() -> None:
    cache = PlanCache()
    cache.last, cache.others[1, 2] = "a plan", "another"
    for made in (copy.copy(cache), copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert made.others == {} and made.last is None and made.place is None


def test_metadata_begins_with_nothing() -> None:
    assert MetadataFields().state is None and Metadata().state is not None
