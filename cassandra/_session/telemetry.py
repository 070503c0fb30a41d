"""OpenTelemetry: spans and durations of requests, by the semantic conventions for databases (cassandra.telemetry).

L5. :class:`OpenTelemetry` is a request tracker. Its gate (``SpanGate``) is native and decides before a request is made:
a request under a span that is not sampled stays untracked. The attributes of a statement are made once and kept by
text, keyspace and settings. A span is made when its request is about to be sent, on the thread of the caller, under the
caller's context, and ended on the thread that processes the response. Its times are those at which the request began
and its response arrived.
``opentelemetry`` is imported when an object is made.
"""

from __future__ import annotations

import os
import re
import sys
from concurrent.futures import CancelledError
from contextvars import copy_context
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from cassandra._base import errors
from cassandra._base.constants import ConsistencyLevel
from cassandra._base.objects import public
from cassandra._base.server_errors import ErrorMessage
from cassandra._base.version import __version__
from cassandra._core.transport import SpanGate
from cassandra._net.endpoint import is_numeric
from cassandra._wire.markers import sanitized

from .request.columns import load_library
from .request.observers import BulkRequest, RequestTracker
from .statements.batch import BatchStatement
from .statements.prepared import BoundStatement, PreparedStatement
from .statements.statement import SimpleStatement

if TYPE_CHECKING:
    from cassandra._routing.host import Host

    from .request.future import ResponseFuture
    from .request.observers import TrackedAttempt


# ---- descriptions of statements for observability: operation, table and keyspace of a text
#
# ``describe`` takes any text, also one that a server would refuse.


_NAME = r'(?:"(?:[^"]|"")+"|[^\W\d]\w*)'
_TARGET = rf"(?:(?P<keyspace>{_NAME})\s*\.\s*)?(?P<name>{_NAME})"
_KINDS = (
    "TABLE|COLUMNFAMILY|MATERIALIZED\\s+VIEW|KEYSPACE|SCHEMA|TYPE|(?:CUSTOM\\s+)?INDEX|FUNCTION|AGGREGATE|TRIGGER|"
    "ROLE|USER|SERVICE\\s+LEVEL"
)
_READ_OR_DELETE = re.compile(rf"(?P<verb>SELECT|DELETE)\b.*?\bFROM\s+{_TARGET}", re.IGNORECASE | re.DOTALL)
_WRITE = re.compile(
    rf"(?:(?P<verb>INSERT)\s+INTO|(?P<update>UPDATE)|(?P<truncate>TRUNCATE)(?:\s+(?:TABLE|COLUMNFAMILY)\b)?)\s+{_TARGET}",
    re.IGNORECASE,
)
_SCHEMA = re.compile(
    rf"(?P<verb>(?:CREATE|ALTER|DROP)(?:\s+OR\s+REPLACE)?\s+(?P<kind>{_KINDS}))\b"
    rf"(?:\s+IF\s+(?:NOT\s+)?EXISTS\b)?(?:\s+{_TARGET})?",
    re.IGNORECASE,
)
_USE = re.compile(rf"(?P<verb>USE)\s+(?P<name>{_NAME})", re.IGNORECASE)
_BATCH = re.compile(r"BEGIN\s+(?:UNLOGGED\s+|COUNTER\s+)?(?P<verb>BATCH)\b", re.IGNORECASE)
_WORD = re.compile(r"(?P<verb>[^\W\d]\w*)")
_OF_TABLES = ("TABLE", "COLUMNFAMILY", "MATERIALIZED VIEW")
_OF_KEYSPACES = ("KEYSPACE", "SCHEMA")

MOST_SUMMARY = 255  # characters


class Description(NamedTuple):
    """Operation, table and keyspace of a text, each as in the text; None for those it does not name. *summary*:
    operation and target, of few different values."""

    operation: str | None
    summary: str | None
    table: str | None
    keyspace: str | None


NOTHING = Description(None, None, None, None)


def describe(text: str) -> Description:
    """Return the description of a text that is sanitized."""
    text = text.lstrip()
    found = _READ_OR_DELETE.match(text) or _WRITE.match(text) or _SCHEMA.match(text) or _USE.match(text)
    if found is None:
        word = _BATCH.match(text) or _WORD.match(text)
        return NOTHING if word is None else Description(word["verb"], word["verb"], None, None)
    parts = found.groupdict()
    verb = " ".join((parts["verb"] or parts.get("update") or parts["truncate"]).split())
    kind = " ".join((parts.get("kind") or "").upper().split())
    name, keyspace = parts["name"], parts.get("keyspace")
    if name is None or (kind.endswith("INDEX") and name.upper() == "ON") or kind in ("ROLE", "USER"):
        return Description(verb, verb, None, None)
    target = name if keyspace is None else f"{keyspace}.{name}"
    if kind in _OF_KEYSPACES or verb.upper() == "USE":
        table, keyspace = None, name
    else:
        table = name if not kind or kind in _OF_TABLES else None
    return Description(verb, f"{verb} {target}"[:MOST_SUMMARY], _bare(table), _bare(keyspace))


def _bare(name: str | None) -> str | None:
    """Return *name* without the quotes around it."""
    return name[1:-1].replace('""', '"') if name is not None and name[:1] == '"' else name


SCHEMA = "https://opentelemetry.io/schemas/1.45.0"
OPT_IN = "OTEL_SEMCONV_STABILITY_OPT_IN"

SYSTEM = "db.system.name"
NAMESPACE = "db.namespace"
COLLECTION = "db.collection.name"
OPERATION = "db.operation.name"
BATCH_SIZE = "db.operation.batch.size"
TEXT = "db.query.text"
SUMMARY = "db.query.summary"
STATUS_CODE = "db.response.status_code"
ERROR_TYPE = "error.type"
EXCEPTION_TYPE = "exception.type"
EXCEPTION_MESSAGE = "exception.message"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"
PEER_ADDRESS = "network.peer.address"
PEER_PORT = "network.peer.port"
CONSISTENCY = "cassandra.consistency.level"
COORDINATOR_DC = "cassandra.coordinator.dc"
COORDINATOR_ID = "cassandra.coordinator.id"
PAGE_SIZE = "cassandra.page.size"
IDEMPOTENT = "cassandra.query.idempotent"
SPECULATIVE = "cassandra.speculative_execution.count"

#: Names in the conventions before the stable ones.
OLD_NAMES = {
    SYSTEM: "db.system",
    NAMESPACE: "db.name",
    COLLECTION: "db.cassandra.table",
    OPERATION: "db.operation",
    TEXT: "db.statement",
    CONSISTENCY: "db.cassandra.consistency_level",
    COORDINATOR_DC: "db.cassandra.coordinator.dc",
    COORDINATOR_ID: "db.cassandra.coordinator.id",
    PAGE_SIZE: "db.cassandra.page_size",
    IDEMPOTENT: "db.cassandra.idempotence",
    SPECULATIVE: "db.cassandra.speculative_execution_count",
}
DURATION = "db.client.operation.duration"
DURATION_BOUNDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
#: Attributes of the metric.
OF_DURATION = (
    SYSTEM, NAMESPACE, COLLECTION, OPERATION, SUMMARY, STATUS_CODE, ERROR_TYPE, SERVER_ADDRESS, SERVER_PORT,
    PEER_ADDRESS,
)  # fmt: skip

#: Codes of the errors of servers that the driver raises as exceptions without a code.
CODES: dict[type[BaseException], int] = {
    errors.Unavailable: 0x1000,
    errors.WriteTimeout: 0x1100,
    errors.ReadTimeout: 0x1200,
    errors.ReadFailure: 0x1300,
    errors.FunctionFailure: 0x1400,
    errors.WriteFailure: 0x1500,
    errors.CDCWriteFailure: 0x1600,
    errors.CASWriteUnknown: 0x1700,
    errors.Unauthorized: 0x2100,
    errors.InvalidRequest: 0x2200,
    errors.AlreadyExists: 0x2400,
}
#: Errors whose messages quote the text of the statement.
QUOTES_TEXT = (0x2000, 0x2200)
#: The instrumentation that wraps Session.execute_async: it makes a span of each request already.
OTHER_INSTRUMENTATION = "opentelemetry.instrumentation.cassandra"

KEPT = 2000  # statements whose attributes are kept
MOST_TEXTS = 32  # different texts of a batch that are recorded
MOST_EVENTS = 32  # of a span

Attributes = dict[str, Any]


@public("cassandra.telemetry")
class OpenTelemetry(RequestTracker):
    """Makes a span of each request, and records durations, with OpenTelemetry. Needs ``opentelemetry-api``
    (``pip install fastcql[otel]``), and an SDK for anything to be recorded.

    :param tracer_provider: makes the tracer; default: the global provider. Set that before this object is made.
    :param meter_provider: makes the meter; default: the global provider.
    :param metrics: record the histogram ``db.client.operation.duration``. It gets every request, also those whose spans
        are not sampled, which costs as much as recording one value with the meter.
    :param query_text: ``db.query.text``: ``"sanitized"`` replaces the literals of a text by ``?`` unless it is prepared
        and has markers; ``"raw"`` leaves all texts as they are; None omits it. Bound values are never recorded.
    :param root_spans: False makes spans only under another span.

    ImportError if ``opentelemetry`` is missing, ValueError for another *query_text*. Example::

        cluster = Cluster(["127.0.0.1"], request_tracker=OpenTelemetry())

    .. versionadded:: 4.0
    """

    def __init__(
        self,
        *,
        tracer_provider: Any = None,
        meter_provider: Any = None,
        metrics: bool = False,
        query_text: Literal["sanitized", "raw"] | None = "sanitized",
        root_spans: bool = True,
    ) -> None:
        if query_text not in ("sanitized", "raw", None):
            raise ValueError(f"query_text must be 'sanitized', 'raw' or None, not {query_text!r}")
        trace = load_library("opentelemetry.trace", "otel")
        self._query_text = query_text
        self._is_dup = "database/dup" in [part.strip() for part in os.environ.get(OPT_IN, "").split(",")]
        self._kind = trace.SpanKind.CLIENT
        self._get_current_span = trace.get_current_span
        self._error = trace.StatusCode.ERROR
        self._status = trace.Status
        self._start_span = trace.get_tracer("fastcql", __version__, tracer_provider, SCHEMA).start_span
        self._duration = _duration(meter_provider) if metrics or meter_provider is not None else None
        #: See :class:`~cassandra.metrics.RequestTracker`.
        self.selects = _gate(self._start_span.__self__, root_spans, self._duration is not None)  # type: ignore[method-assign]
        self._statements: dict[tuple[Any, ...], tuple[str, Attributes]] = {}
        # By id(host), with what they derive from: no host is kept alive, and another one may get its id.
        self._hosts: dict[int, tuple[Any, str | None, Any, Attributes]] = {}

    # ---- requests

    def on_request(self, request: ResponseFuture | BulkRequest) -> RequestTracker | Literal[False]:
        """Begin the span of *request*."""
        if OTHER_INSTRUMENTATION in sys.modules:
            scope = getattr(self._get_current_span(), "instrumentation_scope", None)
            if scope is not None and scope.name == OTHER_INSTRUMENTATION:
                return False
        name, attributes = self._described(request)
        passed = monotonic() - request._start_time
        started = time_ns() - int(passed * 1e9)
        span = self._start_span(name, None, self._kind, attributes, None, started)
        if span.is_recording():
            return _TracedRequest(self, span, attributes, started)
        return False if self._duration is None else _TracedRequest(self, None, attributes, started)

    def _message(self, error: BaseException) -> str:
        """Return the message of *error*; without the part that may quote literals of the statement."""
        if self._query_text != "raw" and _code_of(error) in QUOTES_TEXT:
            return f"{type(error).__name__}: the message may quote the statement, and is not recorded"
        return str(error)

    # ---- attributes

    def _described(self, request: ResponseFuture | BulkRequest) -> tuple[str, Attributes]:
        """Return the name of the span of *request*, and the attributes that it begins with."""
        query: Any
        session_keyspace = request.session.keyspace
        if isinstance(request, BulkRequest):
            query, level, size = request.query, request.consistency_level, request.page_size
        elif (plan := request._execute_plan) is not None and request._is_on_fast_path:
            if plan.description is None or plan.description[0] != session_keyspace:
                described = self._of_statement(plan.prepared, plan.levels[0], plan.fetch_size, session_keyspace)
                plan.description = session_keyspace, described
            return plan.description[1]
        else:
            content = request._execution.content
            query, level = content.statement, content.consistency
            size = getattr(content.message, "fetch_size", None)
        return self._of_statement(query, level, size, session_keyspace)

    def _of_statement(
        self, query: Any, level: int | None, size: int | None, session_keyspace: str | None
    ) -> tuple[str, Attributes]:
        if isinstance(query, BoundStatement):
            idempotent, query = query.is_idempotent, query.prepared_statement
        else:
            idempotent = getattr(query, "is_idempotent", False)
        if isinstance(query, BatchStatement):
            return self._batch(query, session_keyspace, level, idempotent)
        text = query.query_string if isinstance(query, (PreparedStatement, SimpleStatement)) else ""
        is_prepared = isinstance(query, PreparedStatement)
        keyspace = query._home if is_prepared else query.keyspace
        key = (text, keyspace or session_keyspace, level, size, idempotent, is_prepared)
        found = self._statements.get(key)
        if found is None:
            text = self._text(query, text)
            found = self._attributes(describe(text), text, *key[1:5], 1)
            if len(self._statements) >= KEPT:
                self._statements.clear()
            self._statements[key] = found
        return found

    def _text(self, query: Any, text: str) -> str:
        """Return the *text* of *query* as it is recorded."""
        if self._query_text == "raw" or (isinstance(query, PreparedStatement) and len(query._bind_plan)):
            return text
        return sanitized(text)

    def _batch(
        self, batch: BatchStatement, session_keyspace: str | None, level: int | None, idempotent: bool | None
    ) -> tuple[str, Attributes]:
        entries = batch._statements_and_parameters
        texts: dict[str, None] = {}  # in the order of the batch
        query: Any
        for is_prepared, query, _ in entries:
            statement = batch._prepared[query] if is_prepared else None
            texts[self._text(statement, query if statement is None else statement.query_string)] = None
            if len(texts) > MOST_TEXTS:
                break
        several = [describe(text) for text in texts] or [Description(None, None, None, None)]
        same: list[Any] = [found[0] if len(set(found)) == 1 else None for found in zip(*several, strict=True)]
        keyspace = batch.keyspace or session_keyspace
        description = Description(*same)
        if len(entries) != 1:
            description = description._replace(
                operation=_of_batch(description.operation), summary=_of_batch(description.summary)
            )
        recorded = "; ".join(list(texts)[:MOST_TEXTS])
        return self._attributes(description, recorded, keyspace, level, None, idempotent, len(entries))

    def _attributes(
        self,
        description: Description,
        text: str,
        keyspace: str | None,
        level: int | None,
        page_size: int | None,
        idempotent: bool | None,
        count: int,
    ) -> tuple[str, Attributes]:
        keyspace = description.keyspace or keyspace
        found: Attributes = {SYSTEM: "cassandra"}
        if keyspace:
            found[NAMESPACE] = keyspace
        if description.table is not None:
            found[COLLECTION] = description.table
        if description.operation is not None:
            found[OPERATION] = description.operation
        if description.summary is not None:
            found[SUMMARY] = description.summary
        if count != 1:
            found[BATCH_SIZE] = count
        if text and self._query_text is not None:
            found[TEXT] = text
        if level is not None:
            found[CONSISTENCY] = ConsistencyLevel.value_to_name.get(level, str(level)).lower()
        if page_size:
            found[PAGE_SIZE] = page_size
        found[IDEMPOTENT] = bool(idempotent)
        return description.summary or keyspace or "cassandra", self._named(found)

    def _host_attributes(self, host: Host) -> Attributes:
        endpoint, datacenter, host_id = host.endpoint, host.datacenter, host.host_id
        known = self._hosts.get(id(host))
        if known is not None and known[0] is endpoint and known[1] == datacenter and known[2] is host_id:
            return known[3]
        address, port = endpoint.address, endpoint.port
        found: Attributes = {SERVER_ADDRESS: address}
        if port is not None:
            found[SERVER_PORT] = port
        if is_numeric(address):
            found[PEER_ADDRESS] = address
            if port is not None:
                found[PEER_PORT] = port
        if datacenter is not None:
            found[COORDINATOR_DC] = datacenter
        if host_id is not None:
            found[COORDINATOR_ID] = str(host_id)
        if len(self._hosts) >= KEPT:
            self._hosts.clear()
        found = self._named(found)
        self._hosts[id(host)] = (endpoint, datacenter, host_id, found)
        return found

    def _named(self, attributes: Attributes) -> Attributes:
        """Return *attributes*, with their old names as well if that is chosen."""
        if self._is_dup:
            old = {OLD_NAMES[name]: value for name, value in attributes.items() if name in OLD_NAMES}
            return {**attributes, **old}
        return attributes


def _of_batch(name: str | None) -> str:
    return "BATCH" if name is None else f"BATCH {name}"


def _code_of(error: BaseException) -> int | None:
    """Return the code of an error that a server has sent; None for others."""
    code = error.code if isinstance(error, ErrorMessage) else CODES.get(type(error))
    return code if isinstance(code, int) else None


def _type_name(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _error_attributes(error: BaseException) -> Attributes:
    code = _code_of(error)
    return {ERROR_TYPE: _type_name(error)} if code is None else {STATUS_CODE: str(code), ERROR_TYPE: str(code)}


# ---- one request


class _TracedRequest(RequestTracker):
    """The *span* of one request, which has *started* at so many nanoseconds since 1970; None: only its duration is
    recorded."""

    __slots__ = ("_attributes", "_events", "_owner", "_span", "_speculative", "_started")

    def __init__(self, owner: OpenTelemetry, span: Any, attributes: Attributes, started: int) -> None:
        self._owner = owner
        self._span = span
        self._attributes = attributes
        self._started = started
        self._speculative = 0
        self._events = 0

    def on_attempt(self, request: ResponseFuture | BulkRequest, attempt: TrackedAttempt) -> None:
        if attempt.number:
            self._speculative += attempt.speculative
            name = "speculative execution" if attempt.speculative else "retry"
            self._add_event(name, self._owner._host_attributes(attempt.host))

    def on_attempt_end(
        self, request: ResponseFuture | BulkRequest, attempt: TrackedAttempt, error: BaseException | None
    ) -> None:
        if error is not None and not isinstance(error, CancelledError):
            host = self._owner._host_attributes(attempt.host)
            self._add_event("attempt failed", {**host, **_error_attributes(error)})

    def _add_event(self, name: str, attributes: Attributes) -> None:
        if self._span is not None and self._events < MOST_EVENTS:
            self._events += 1
            self._span.add_event(name, attributes)

    def on_request_end(
        self, request: ResponseFuture | BulkRequest, error: BaseException | None, elapsed: float
    ) -> None:
        owner, span, host = self._owner, self._span, request.coordinator_host
        found = owner._host_attributes(host) if host is not None else {}
        if error is not None:
            found = {**found, **_error_attributes(error)}
        if span is not None:
            span.set_attributes(found)
            if self._speculative:
                span.set_attributes(owner._named({SPECULATIVE: self._speculative}))
            if type(request) is BulkRequest and request.rows and request.page_size is None:
                span.set_attributes(owner._named({BATCH_SIZE: request.rows}))
            if error is not None:
                message = owner._message(error)
                span.add_event("exception", {EXCEPTION_TYPE: _type_name(error), EXCEPTION_MESSAGE: message})
                span.set_status(owner._status(owner._error, message))
            span.end(min(self._started + int(elapsed * 1e9), time_ns()))  # a pause of the thread may be in the first
        if owner._duration is not None:
            measured = {**self._attributes, **found}
            owner._duration(elapsed, {name: measured[name] for name in OF_DURATION if name in measured})


# ---- parts of OpenTelemetry


def _gate(tracer: Any, root_spans: bool, takes_all: bool) -> SpanGate:
    """Return the gate of requests whose spans *tracer* might record."""
    api: Any = load_library("opentelemetry.context", "otel")
    trace: Any = load_library("opentelemetry.trace", "otel")
    roots, unsampled = _roots_and_unsampled(tracer)
    probe = trace.set_span_in_context(trace.INVALID_SPAN, api.Context())
    (key,) = probe
    token = api.attach(probe)
    try:
        variable = next((variable for variable, value in copy_context().items() if value is probe), None)
    finally:
        api.detach(token)
    suppressing = getattr(api, "_SUPPRESS_INSTRUMENTATION_KEY", None)
    keys = ("suppress_instrumentation",) if suppressing is None else (suppressing, "suppress_instrumentation")
    roots, unsampled = takes_all or (root_spans and roots), takes_all or unsampled
    return SpanGate(variable, api.get_current, key, keys, roots, unsampled, *_items_of_span_contexts(trace))


def _items_of_span_contexts(trace: Any) -> tuple[type[tuple[Any, ...]] | None, int, int]:
    """Return the type of the contexts of spans, and where it has trace flags and validity, if it is a tuple; reading an
    item takes a third of the time of reading a property."""
    flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
    valid, invalid = trace.SpanContext(3, 5, False, flags), trace.SpanContext(0, 0, False, flags)
    if isinstance(valid, tuple):
        flags_at = [at for at, item in enumerate(valid) if item is flags]
        valid_at = [at for at, item in enumerate(valid) if item is True and invalid[at] is False]
        if len(flags_at) == len(valid_at) == 1:
            return type(valid), flags_at[0], valid_at[0]
    return None, -1, -1


def _roots_and_unsampled(tracer: Any) -> tuple[bool, bool]:
    """Return False for requests without a span, and for those under a span that is not sampled, if the sampler of
    *tracer* is one of the SDK that samples no such request."""
    sampler = getattr(tracer, "sampler", None)
    if sampler is None:
        return True, True
    text = sampler.get_description()
    if text == "AlwaysOffSampler":
        return False, False
    parent_based = text.startswith("ParentBased{")
    unsampled = not (
        parent_based
        and "remoteParentNotSampled:AlwaysOffSampler" in text
        and "localParentNotSampled:AlwaysOffSampler" in text
    )
    return not (parent_based and "{root:AlwaysOffSampler," in text), unsampled


def _duration(provider: Any) -> Any:
    """Return the function that records a duration."""
    metrics: Any = load_library("opentelemetry.metrics", "otel")
    meter = metrics.get_meter("fastcql", __version__, provider, SCHEMA)
    return meter.create_histogram(
        DURATION,
        unit="s",
        description="Duration of database client operations.",
        explicit_bucket_boundaries_advisory=DURATION_BOUNDS,
    ).record
