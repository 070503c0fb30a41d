"""Explanations: the CQL of a request, its parameters, and its target hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cassandra._base.objects import public
from cassandra._mapper.connections import get_session
from cassandra._mapper.shapes import prepared_of

from .requests import REFUSED, Request
from .text import PREPARING, can_prepare, simple


@public("cassandra.cqlengine.query")
class Explanation:
    """``cql``, its ``parameters``, ``prepared`` (if False, ``reason`` is set), and the routing: ``token`` of the
    partition, None if there are several, and ``replicas`` of that token."""

    def __init__(
        self,
        cql: str,
        parameters: Any,
        prepared: bool,
        reason: str,
        token: int | None = None,
        replicas: Sequence[Any] = (),
    ) -> None:
        self.cql = cql
        self.parameters = parameters
        self.prepared = prepared
        self.reason = reason
        self.token = token
        self.replicas = list(replicas)

    def __repr__(self) -> str:
        return f"<Explanation {self.cql!r}, {'prepared' if self.prepared else 'by text'}>"

    def __str__(self) -> str:
        hosts = ", ".join(str(host.endpoint) for host in self.replicas) or "unknown replicas"
        routed = "to any node" if self.token is None else f"to the replicas of token {self.token}: {hosts}"
        how = "prepared" if self.prepared else f"by text: {self.reason}"
        return f"{self.cql}\n  parameters: {self.parameters!r}\n  {how}\n  routed {routed}"


def explain(request: Request) -> Explanation:
    """Return the explanation of a request, which is prepared but not executed."""
    session: Any = get_session(request.connection)
    if not can_prepare(session):
        reason = "execute() of the session or the mapper is replaced" if PREPARING else "CQLENG_PREPARE=0 is set"
        return _by_text(request, session, reason)
    shape, values = request.shaped()
    known = prepared_of(session)
    prepared = known.find(shape, request.consistency, request.fetch_size)
    if prepared is None:
        try:
            prepared = known.add(shape, session.prepare(shape.cql), request.consistency, request.fetch_size)
        except REFUSED as error:
            return _by_text(request, session, f"preparing failed: {error}")
    try:
        bound = prepared.bind(values)
    except (TypeError, ValueError, OverflowError) as error:
        return _by_text(request, session, f"the values cannot be bound: {error}")
    token, replicas = _replicas(session, bound.keyspace, bound.routing_key)
    return Explanation(shape.cql, values, True, "", token, replicas)


def _by_text(request: Request, session: Any, reason: str) -> Explanation:
    statement = request.written()
    query = simple(request.model, statement, request.consistency, session)
    token, replicas = _replicas(session, query.keyspace, query.routing_key)
    return Explanation(str(statement), statement.get_context(), False, reason, token, replicas)


def _replicas(session: Any, keyspace: str | None, key: bytes | None) -> tuple[int | None, Sequence[Any]]:
    metadata: Any = getattr(session.cluster, "metadata", None)
    ring = getattr(metadata, "token_map", None)
    if key is None or keyspace is None or ring is None:
        return None, ()
    token = ring.token_class.from_key(key)
    return token.value, metadata.get_replicas(keyspace, key)
