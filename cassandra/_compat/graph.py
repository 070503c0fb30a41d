"""Statements, options and profiles for DSE graph (L6). They can be created and read, but not executed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, ClassVar
from warnings import warn

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.objects import public
from cassandra._routing.policies import DefaultLoadBalancingPolicy, NeverRetryPolicy
from cassandra._session.profiles import ExecutionProfile, default_lbp_factory
from cassandra._session.statements.statement import NOT_SET, SimpleStatement, Statement

from .graph_values import Result, element

GRAPH_TIMEOUT, ANALYTICS_TIMEOUT = 30.0, 7 * 24 * 3600.0  # seconds

_graph_options = (
    ("graph_name", "Name of the graph.", "graph-name"),
    ("graph_source", "The traversal source of the server.", "graph-source"),
    ("graph_language", "The language of queries.", "graph-language"),
    ("graph_protocol", "The format of results.", "graph-results"),
    ("graph_read_consistency_level", "For reads, if different from the statement's.", "graph-read-consistency"),
    (
        "graph_write_consistency_level",
        "For writes, if different from the statement's.",
        "graph-write-consistency",
    ),
)
_graph_option_names = {name: key for name, _, key in _graph_options}
_LEVELS = ("graph-read-consistency", "graph-write-consistency")


@public("cassandra.datastax.graph.query")
class GraphProtocol:
    """Formats of results."""

    GRAPHSON_1_0 = b"graphson-1.0"
    GRAPHSON_2_0 = b"graphson-2.0"
    GRAPHSON_3_0 = b"graphson-3.0"


@public("cassandra.datastax.graph.query")
class GraphOptions:
    """Options of graph queries; each is an attribute, None if it was not given. Text is stored as bytes."""

    DEFAULT_GRAPH_PROTOCOL = GraphProtocol.GRAPHSON_1_0
    DEFAULT_GRAPH_LANGUAGE = b"gremlin-groovy"

    _sources: ClassVar[dict[str, bytes]] = {"default": b"default", "analytics": b"a", "graph": b"g"}

    def __init__(self, **kwargs: Any) -> None:
        self._graph_options: dict[str, Any] = {}
        kwargs.setdefault("graph_source", "g")
        kwargs.setdefault("graph_language", self.DEFAULT_GRAPH_LANGUAGE)
        for name, value in kwargs.items():
            if name not in _graph_option_names:
                warn(f"Unknown keyword argument received for GraphOptions: {name}", stacklevel=2)
            setattr(self, name, value)

    def copy(self) -> GraphOptions:
        """Return another object with the same options."""
        made = GraphOptions()
        made._graph_options = dict(self._graph_options)
        return made

    def update(self, options: GraphOptions) -> None:
        """Set the options that are set in *options*."""
        self._graph_options.update(options._graph_options)

    def get_options_map(self, other_options: GraphOptions | None = None) -> dict[str, bytes]:
        """Return the options of a request, where *other_options* take precedence."""
        merged = {**self._graph_options, **(other_options._graph_options if other_options else {})}
        for key in _LEVELS:
            if key in merged:
                merged[key] = ConsistencyLevel.value_to_name[merged[key]].encode()
        return merged

    def set_source_default(self) -> None:
        """Let the server choose the source."""
        self._graph_options["graph-source"] = self._sources["default"]

    def set_source_analytics(self) -> None:
        """Use the analytical source."""
        self._graph_options["graph-source"] = self._sources["analytics"]

    def set_source_graph(self) -> None:
        """Use the graph itself as the source."""
        self._graph_options["graph-source"] = self._sources["graph"]

    def set_graph_protocol(self, protocol: bytes) -> None:
        """Set the format of results, one of :class:`GraphProtocol`."""
        self.graph_protocol = protocol

    def _is_source(self, name: str) -> bool:
        return bool(self._graph_options.get("graph-source") == self._sources[name])

    is_default_source = property(lambda self: self._is_source("default"))
    is_analytics_source = property(lambda self: self._is_source("analytics"))
    is_graph_source = property(lambda self: self._is_source("graph"))

    graph_protocol: Any


def _option(key: str, text: str) -> property:
    def get(self: GraphOptions) -> Any:
        return self._graph_options.get(key)

    def put(self: GraphOptions, value: Any) -> None:
        if value is None:
            self._graph_options.pop(key, None)
        else:
            self._graph_options[key] = value.encode() if isinstance(value, str) else value

    def remove(self: GraphOptions) -> None:
        self._graph_options.pop(key, None)

    return property(get, put, remove, text)


for _name, _text, _key in _graph_options:
    setattr(GraphOptions, _name, _option(_key, _text))


@public("cassandra.datastax.graph.query")
class GraphStatement(Statement):
    """A query of a graph."""

    @property
    def query(self) -> Any:
        """The text of the query."""
        raise NotImplementedError

    def __str__(self) -> str:
        return f'<GraphStatement query="{self.query}">'

    __repr__ = __str__


@public("cassandra.datastax.graph.query")
class SimpleGraphStatement(GraphStatement, SimpleStatement):
    """A query of a graph as text."""

    @property
    def query(self) -> Any:
        return self.query_string


@public("cassandra.cluster")
class GraphExecutionProfile(ExecutionProfile):
    """An execution profile with :class:`GraphOptions`."""

    graph_options: Any = None

    def __init__(
        self,
        load_balancing_policy: Any = NOT_SET,
        retry_policy: Any = None,
        consistency_level: Any = NOT_SET,
        serial_consistency_level: int | None = None,
        request_timeout: float | None = GRAPH_TIMEOUT,
        row_factory: Any = None,
        graph_options: GraphOptions | None = None,
        continuous_paging_options: Any = NOT_SET,
    ) -> None:
        super().__init__(
            load_balancing_policy,
            retry_policy or NeverRetryPolicy(),
            consistency_level,
            serial_consistency_level,
            request_timeout,
            row_factory,
            continuous_paging_options=continuous_paging_options,
        )
        self.graph_options = graph_options or GraphOptions()


@public("cassandra.cluster")
class GraphAnalyticsExecutionProfile(GraphExecutionProfile):
    """An execution profile for analytical queries."""

    def __init__(
        self,
        load_balancing_policy: Any = None,
        retry_policy: Any = None,
        consistency_level: Any = NOT_SET,
        serial_consistency_level: int | None = None,
        request_timeout: float | None = ANALYTICS_TIMEOUT,
        row_factory: Any = None,
        graph_options: GraphOptions | None = None,
    ) -> None:
        super().__init__(
            load_balancing_policy or DefaultLoadBalancingPolicy(default_lbp_factory()),
            retry_policy,
            consistency_level,
            serial_consistency_level,
            request_timeout,
            row_factory,
            graph_options,
        )
        self.graph_options.set_source_analytics()


@public("cassandra.datastax.graph.query")
def single_object_row_factory(column_names: Any, rows: Iterable[Any]) -> list[Any]:
    """Return the first column of each row."""
    return [row[0] for row in rows]


@public("cassandra.datastax.graph.query")
def graph_result_row_factory(column_names: Any, rows: Iterable[Any]) -> list[Result]:
    """Return each row's JSON as a :class:`Result`."""
    return [Result(json.loads(row[0])["result"]) for row in rows]


@public("cassandra.datastax.graph.query")
def graph_object_row_factory(column_names: Any, rows: Iterable[Any]) -> Iterable[Any]:
    """Return an iterator over each row's JSON as a vertex, an edge or a :class:`Result`."""
    return (element(json.loads(row[0])["result"]) for row in rows)
