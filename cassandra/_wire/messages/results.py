"""READY, SUPPORTED and RESULT (L2)."""

from __future__ import annotations

from typing import Any

from cassandra._base.constants import Opcode, ResultKind
from cassandra._base.objects import public
from cassandra._base.server_errors import slot_names
from cassandra._core.codec import Reader, Result, decode_result
from cassandra._wire.encryption import context_by, resolver, result_plan_by
from cassandra._wire.messages.base import ReadableFile, ResponseMessage, as_reader
from cassandra._wire.messages.columns import as_columns, as_context, as_plan, as_user_types, columns_of
from cassandra._wire.messages.reading import ReadsResults, uses_metadata_ids
from cassandra._wire.rows import column_types, decode_page


@public("cassandra.protocol")
class ReadyMessage(ResponseMessage):
    opcode = Opcode.READY
    name = "READY"

    @classmethod
    def recv_body(cls, *args: Any) -> ReadyMessage:
        return cls()


@public("cassandra.protocol")
class SupportedMessage(ResponseMessage):
    """The features that the server supports: CQL versions, and other options by name."""

    opcode = Opcode.SUPPORTED
    name = "SUPPORTED"
    _fields = ("cql_versions", "options")

    def __init__(self, cql_versions: list[str], options: dict[str, list[str]]) -> None:
        self.cql_versions = cql_versions
        self.options = options

    @classmethod
    def recv_body(cls, f: Reader | ReadableFile, *args: Any) -> SupportedMessage:
        options = as_reader(f).string_multimap()
        return cls(options.pop("CQL_VERSION", []), options)


_native: Any = Result  # for its descriptors, which the properties below extend


@public("cassandra.protocol")
class ResultMessage(Result, ReadsResults):
    """The response to a successful request. Rows stay bytes until they are accessed (see ``page``).

    Every attribute can be read on results of every kind; those without a value are None (``is_lwt``: False). A subclass
    may add attributes. Bodies of a subclass that overrides a step of decoding, such as ``recv_results_rows``, or
    ``type_codes``, are decoded in Python, step by step.
    """

    __slots__ = ()

    @property
    def column_types(self) -> list[Any] | None:
        """The type class of every column of rows."""
        own = _native.column_types.__get__(self)
        if own is None and self.plan is not None and self.kind == ResultKind.ROWS:
            return column_types(self.plan)
        return own  # type: ignore[no-any-return]

    @column_types.setter
    def column_types(self, value: list[Any] | None) -> None:
        _native.column_types.__set__(self, value)

    @property
    def column_metadata(self) -> list[Any] | None:
        """(keyspace, table, name, type class) of every column of rows."""
        found = _native.column_metadata.__get__(self)
        return None if found is None else columns_of(found)

    @column_metadata.setter
    def column_metadata(self, value: list[Any] | None) -> None:
        _native.column_metadata.__set__(self, value)

    @property
    def bind_metadata(self) -> list[Any] | None:
        """(keyspace_name, table_name, name, type) of every parameter of a prepared statement."""
        found = _native.bind_metadata.__get__(self)
        return None if found is None else columns_of(found)

    @bind_metadata.setter
    def bind_metadata(self, value: list[Any] | None) -> None:
        _native.bind_metadata.__set__(self, value)

    @classmethod
    def recv_body(
        cls,
        f: ReadableFile,
        protocol_version: int,
        protocol_features: Any = None,
        user_type_map: Any = None,
        result_metadata: Any = None,
        column_encryption_policy: Any = None,
    ) -> ResultMessage:
        """Decode a body without the fields that envelope flags announce."""
        if cls._has_own_steps:
            return cls._read(  # type: ignore[no-any-return]
                f,
                protocol_version,
                protocol_features,
                as_user_types(user_type_map),
                as_columns(result_metadata),
                column_encryption_policy,
            )
        lwt = getattr(protocol_features, "lwt_info", None)
        plan = as_plan(result_metadata)
        if plan is not None and column_encryption_policy is not None:
            plan = result_plan_by(resolver(column_encryption_policy), plan)
        return decode_result(
            cls,
            f.read(),
            0,
            protocol_version,
            context_by(column_encryption_policy, as_context(user_type_map)),
            plan,
            lwt_mask=lwt.lwt_meta_bit_mask if lwt else 0,
            metadata_ids=uses_metadata_ids(protocol_version, protocol_features),
        )

    def __copy__(self) -> ResultMessage:
        """Return a copy of the message that shares immutable parts, including rows that were not made yet."""
        return _restored(type(self), {name: getattr(self, name) for name in _names(self)})

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with rows (as tuples) and without plans: the copy can be read, but not used to bind or decode."""
        state = {name: getattr(self, name) for name in _names(self) if name not in _PLANS}
        if self.page is not None:
            state["parsed_rows"] = list(decode_page(self.page, None))
            state["column_names"], state["column_types"] = self.column_names, self.column_types
        state["column_metadata"], state["bind_metadata"] = self.column_metadata, self.bind_metadata
        return _restored, (type(self), state)


@public("cassandra.protocol")
class FastResultMessage(ResultMessage):
    """An alias of ResultMessage: scylla-driver's name for results of its native decoder."""

    __slots__ = ()


_PLANS = ("page", "plan", "bind_plan")
_COMPUTED = ("column_names", "column_types", "column_metadata", "bind_metadata")


def _names(message: ResultMessage) -> list[str]:
    """Return the names of the attributes of a message, without ``parsed_rows`` if the rows are still a page."""
    own = [name for name in slot_names(message) if name != "parsed_rows" or message.page is None]
    return [*own, *getattr(message, "__dict__", ())]


def _restored(cls: type[ResultMessage], state: dict[str, Any]) -> ResultMessage:
    message = cls.__new__(cls)
    for name, value in state.items():
        if value is not None and value is not False:
            setattr(message, name, value)
    return message
