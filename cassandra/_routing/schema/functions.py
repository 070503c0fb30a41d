"""Public model of user types, functions and aggregates, in ``cluster.metadata`` (L4)."""

from __future__ import annotations

from collections.abc import Sequence

from cassandra._base.names import SignatureDescriptor
from cassandra._base.objects import public


@public("cassandra.metadata")
class UserType:
    """A user-defined type."""

    keyspace: str = None  # type: ignore[assignment]
    name: str = None  # type: ignore[assignment]
    #: Names of the fields, in order.
    field_names: list[str] = None  # type: ignore[assignment]
    #: Types of the fields in CQL, in order.
    field_types: list[str] = None  # type: ignore[assignment]

    def __init__(self, keyspace: str, name: str, field_names: Sequence[str], field_types: Sequence[str]) -> None:
        self.keyspace = keyspace
        self.name = name
        self.field_names = list(field_names or ())
        self.field_types = list(field_types or ())

    def as_cql_query(self, formatted: bool = False) -> str:
        """Return the statement that creates the type; with line breaks if *formatted*."""
        from . import ddl

        return ddl.create_type(self, formatted)

    def export_as_string(self) -> str:
        """Return the same statement with line breaks and a semicolon."""
        return self.as_cql_query(formatted=True) + ";"


@public("cassandra.metadata")
class Function:
    """A user-defined function."""

    keyspace: str = None  # type: ignore[assignment]
    name: str = None  # type: ignore[assignment]
    #: Types of the arguments in CQL.
    argument_types: list[str] = None  # type: ignore[assignment]
    argument_names: list[str] = None  # type: ignore[assignment]
    return_type: str = None  # type: ignore[assignment]
    #: Language of the body, such as ``java``.
    language: str = None  # type: ignore[assignment]
    body: str = None  # type: ignore[assignment]
    #: True if it is called when an argument is null (otherwise the result is null).
    called_on_null_input: bool = None  # type: ignore[assignment]
    #: Attributes of DSE; false or empty for other servers.
    deterministic: bool = None  # type: ignore[assignment]
    monotonic: bool = None  # type: ignore[assignment]
    monotonic_on: list[str] = None  # type: ignore[assignment]

    def __init__(
        self,
        keyspace: str,
        name: str,
        argument_types: Sequence[str],
        argument_names: Sequence[str],
        return_type: str,
        language: str,
        body: str,
        called_on_null_input: bool,
        deterministic: bool,
        monotonic: bool,
        monotonic_on: Sequence[str],
    ) -> None:
        self.keyspace = keyspace
        self.name = name
        self.argument_types = list(argument_types or ())
        self.argument_names = list(argument_names or ())
        self.return_type = return_type
        self.language = language
        self.body = body
        self.called_on_null_input = called_on_null_input
        self.deterministic = deterministic
        self.monotonic = monotonic
        self.monotonic_on = list(monotonic_on or ())

    @property
    def signature(self) -> str:
        """Name and argument types: the key in :attr:`KeyspaceMetadata.functions`."""
        return SignatureDescriptor.format_signature(self.name, self.argument_types)

    def as_cql_query(self, formatted: bool = False) -> str:
        """Return the statement that creates the function; with line breaks if *formatted*."""
        from . import ddl

        return ddl.create_function(self, formatted)

    def export_as_string(self) -> str:
        """Return the same statement with line breaks and a semicolon."""
        return self.as_cql_query(formatted=True) + ";"


@public("cassandra.metadata")
class Aggregate:
    """A user-defined aggregate."""

    keyspace: str = None  # type: ignore[assignment]
    name: str = None  # type: ignore[assignment]
    #: Types of the arguments in CQL.
    argument_types: list[str] = None  # type: ignore[assignment]
    #: Function called for every row, with the state and the arguments.
    state_func: str = None  # type: ignore[assignment]
    #: Type of the state.
    state_type: str = None  # type: ignore[assignment]
    #: Function that computes the result from the last state, or None.
    final_func: str | None = None
    #: First state as a CQL literal, or None.
    initial_condition: str | None = None
    return_type: str = None  # type: ignore[assignment]
    #: Attribute of DSE; false for other servers.
    deterministic: bool = None  # type: ignore[assignment]

    def __init__(
        self,
        keyspace: str,
        name: str,
        argument_types: Sequence[str],
        state_func: str,
        state_type: str,
        final_func: str | None,
        initial_condition: str | None,
        return_type: str,
        deterministic: bool,
    ) -> None:
        self.keyspace = keyspace
        self.name = name
        self.argument_types = list(argument_types or ())
        self.state_func = state_func
        self.state_type = state_type
        self.final_func = final_func
        self.initial_condition = initial_condition
        self.return_type = return_type
        self.deterministic = deterministic

    @property
    def signature(self) -> str:
        """Name and argument types: the key in :attr:`KeyspaceMetadata.aggregates`."""
        return SignatureDescriptor.format_signature(self.name, self.argument_types)

    def as_cql_query(self, formatted: bool = False) -> str:
        """Return the statement that creates the aggregate; with line breaks if *formatted*."""
        from . import ddl

        return ddl.create_aggregate(self, formatted)

    def export_as_string(self) -> str:
        """Return the same statement with line breaks and a semicolon."""
        return self.as_cql_query(formatted=True) + ";"
