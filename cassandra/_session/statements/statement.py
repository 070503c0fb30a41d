"""Statements of applications (cassandra.query): CQL, and per-statement overrides of the profile.

L5. A statement holds no request state: it may be executed from many threads at once, which is why the token and the
tablet of a request are attributes of the request (see ``request/future.py``) and never of the statement.

A :class:`Sentinel` distinguishes "not given" from None in the public signatures.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from cassandra._base.constants import ConsistencyLevel

if TYPE_CHECKING:
    from cassandra._routing.policies import RetryPolicy
    from cassandra._wire.encoder import Encoder

RoutingKey = bytes | bytearray | str | Sequence[bytes | str]
Payload = Mapping[str, bytes | None]


class Sentinel:
    """A named marker; its repr is shown in signatures."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<{self._name}>"

    def __reduce__(self) -> str:
        return self._name  # unpickles to the attribute of that name of this module, so identity survives


NOT_SET: Final = Sentinel("NOT_SET")  #: Stands for an argument that was not given.
FETCH_SIZE_UNSET: Final = Sentinel("FETCH_SIZE_UNSET")  #: Stands for a ``fetch_size`` that was not given.
EXEC_PROFILE_DEFAULT: Final = Sentinel("EXEC_PROFILE_DEFAULT")  #: Key of the profile of requests without a profile.


def pack_routing_key(components: Sequence[bytes | str]) -> bytes:
    """Serialise a composite partition key in the form that the server hashes: each part as <length><bytes><0>. Text is
    UTF-8."""
    components = [part.encode() if isinstance(part, str) else part for part in components]
    return b"".join(struct.pack(f">H{len(part)}sB", len(part), part, 0) for part in components)


class Statement:
    """Options that every statement can override; None (or the unset marker) uses the value of the execution profile.

    :param retry_policy: overrides the profile's.
    :param consistency_level: a :class:`~cassandra.ConsistencyLevel`.
    :param routing_key: serialised partition key, or a sequence of its serialised components; text is UTF-8.
    :param serial_consistency_level: SERIAL or LOCAL_SERIAL; ValueError otherwise.
    :param fetch_size: rows per page; None and 0 request one unlimited page.
    :param keyspace: keyspace of unqualified names in its text, if it is not the session's; also routes it. Protocols
        before 5 cannot send it: there a keyspace other than the session's is rejected (UnsupportedOperation).
    :param custom_payload: ``{str: bytes}`` sent along.
    :param is_idempotent: True allows the driver to retry it when it may have been executed.
    """

    retry_policy: RetryPolicy | None = None  #: Decides what to do after an error; None: that of the profile.
    consistency_level: int | None = None  #: Consistency level; None: that of the profile.
    keyspace: str | None = None  #: Keyspace, for routing.
    table: str | None = None  #: Table, for routing.
    custom_payload: Payload | None = None  #: Custom payload of its requests, a dict of bytes.
    #: True if it may be executed twice: it may then be sent again after errors, and speculatively.
    is_idempotent: bool = False
    #: Rows of a page; None turns paging off. Default: that of the session.
    fetch_size: int | Sentinel | None = FETCH_SIZE_UNSET

    #: A Murmur3 token: the request goes to a replica of it, and to its shard, regardless of the partition key. For
    #: statements about a range of tokens. Not in scylla-driver.
    routing_token: int | None = None

    _serial_consistency_level: int | None = None
    _routing_key: RoutingKey | None = None

    __module__ = "cassandra.query"

    def __init__(
        self,
        retry_policy: RetryPolicy | None = None,
        consistency_level: int | None = None,
        routing_key: RoutingKey | None = None,
        serial_consistency_level: int | None = None,
        fetch_size: int | Sentinel | None = FETCH_SIZE_UNSET,
        keyspace: str | None = None,
        custom_payload: Payload | None = None,
        is_idempotent: bool = False,
        table: str | None = None,
    ) -> None:
        # Only values that differ from the class default are stored: most statements override nothing.
        if retry_policy is not None:
            if not hasattr(retry_policy, "on_read_timeout"):
                raise ValueError("retry_policy should implement cassandra.policies.RetryPolicy")
            self.retry_policy = retry_policy
        if consistency_level is not None:
            self.consistency_level = consistency_level
        if routing_key is not None:
            self._routing_key = routing_key
        if serial_consistency_level is not None:
            #: Serial consistency level; None: that of the profile.
            self.serial_consistency_level = serial_consistency_level
        if fetch_size is not FETCH_SIZE_UNSET:
            self.fetch_size = fetch_size
        if keyspace is not None:
            self.keyspace = keyspace
        if custom_payload is not None:
            self.custom_payload = custom_payload
        if is_idempotent:
            self.is_idempotent = True
        if table is not None:
            self.table = table

    @property
    def routing_key(self) -> Any:
        """The serialised partition key that requests are routed by, or None. Settable, also with a list of components.
        Text, which stands for its UTF-8, stays text."""
        key = self._routing_key
        if key is None or isinstance(key, str):
            return key
        if isinstance(key, bytes | bytearray):
            return bytes(key)
        return key[0] if len(key) == 1 else pack_routing_key(key)

    @routing_key.setter
    def routing_key(self, key: RoutingKey | None) -> None:
        self._routing_key = key

    @routing_key.deleter
    def routing_key(self) -> None:
        self._routing_key = None

    @property
    def serial_consistency_level(self) -> int | None:
        """Consistency of the Paxos phase of a conditional statement: SERIAL or LOCAL_SERIAL, or None."""
        return self._serial_consistency_level

    @serial_consistency_level.setter
    def serial_consistency_level(self, level: int | None) -> None:
        if level is not None and level not in (ConsistencyLevel.SERIAL, ConsistencyLevel.LOCAL_SERIAL):
            raise ValueError(
                "serial_consistency_level must be either ConsistencyLevel.SERIAL or ConsistencyLevel.LOCAL_SERIAL"
            )
        self._serial_consistency_level = level

    @serial_consistency_level.deleter
    def serial_consistency_level(self) -> None:
        self._serial_consistency_level = None

    def is_lwt(self) -> bool:
        """True if the statement is known to be a lightweight transaction (only for prepared statements)."""
        return False

    def _consistency_name(self) -> str:
        level = self.consistency_level
        return ConsistencyLevel.value_to_name.get(level, "Not Set") if level is not None else "Not Set"


class SimpleStatement(Statement):
    """CQL text; the driver inserts parameters given to ``execute`` as literals (``%s`` / ``%(name)s``).

    Example::

        select = SimpleStatement(
            "SELECT * FROM users WHERE id = %s", fetch_size=100
        )
        session.execute(select, (user_id,))
    """

    __module__ = "cassandra.query"

    def __init__(
        self,
        query_string: str,
        retry_policy: RetryPolicy | None = None,
        consistency_level: int | None = None,
        routing_key: RoutingKey | None = None,
        serial_consistency_level: int | None = None,
        fetch_size: int | Sentinel | None = FETCH_SIZE_UNSET,
        keyspace: str | None = None,
        custom_payload: Payload | None = None,
        is_idempotent: bool = False,
    ) -> None:
        Statement.__init__(
            self,
            retry_policy,
            consistency_level,
            routing_key,
            serial_consistency_level,
            fetch_size,
            keyspace,
            custom_payload,
            is_idempotent,
        )
        self._query_string = query_string

    @property
    def query_string(self) -> str:
        """The CQL text."""
        return self._query_string

    def __repr__(self) -> str:
        return f'<SimpleStatement query="{self._query_string}", consistency={self._consistency_name()}>'

    __str__ = __repr__


class HostTargetingStatement:
    """A statement for one host: a ``Host``, its endpoint, or its address as text. All other attributes are read from
    the inner statement.

    It is sent to that host only. A :class:`~cassandra.policies.DefaultLoadBalancingPolicy` uses an address as the host
    to try first, followed by the others. Executing it raises :exc:`~cassandra.cluster.NoHostAvailable` when no host has
    the address.
    """

    __module__ = "cassandra.query"

    def __init__(self, inner_statement: Statement, target_host: Any) -> None:
        self.__class__ = type(inner_statement.__class__.__name__, (self.__class__, inner_statement.__class__), {})
        self.__dict__ = dict(inner_statement.__dict__)  # a copy: the inner statement keeps its own attributes
        self.target_host = target_host  #: The host that gets the statement.


class BatchType:
    """Kind of a batch: atomic (LOGGED), separate writes (UNLOGGED), or counter updates."""

    LOGGED: ClassVar[BatchType]  #: All statements are executed, or none.
    UNLOGGED: ClassVar[BatchType]  #: Statements may be executed in part.
    COUNTER: ClassVar[BatchType]  #: Statements that change counters.

    __module__ = "cassandra.query"

    def __init__(self, name: str, value: int) -> None:
        self.name = name  #: Name of the kind.
        self.value = value  #: Number of the kind in the protocol.

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"BatchType.{self.name}"


BatchType.LOGGED = BatchType("LOGGED", 0)
BatchType.UNLOGGED = BatchType("UNLOGGED", 1)
BatchType.COUNTER = BatchType("COUNTER", 2)


def shortened(text: str, most: int = 200) -> str:
    """Return *text*, cut to a length for messages."""
    return text if len(text) <= most else f"{text[:most]}…"


def new_encoder() -> Encoder:
    """Return a new encoder. Imported here, with all its types: programs that only bind prepared statements never need
    it."""
    from cassandra._wire.encoder import Encoder

    return Encoder()


def bind_params(query: str, params: Sequence[Any] | Mapping[str, Any], encoder: Encoder) -> str:
    """Insert *params* into *query* as CQL literals: a mapping fills ``%(name)s``, a sequence ``%s`` in order.

    Raise TypeError, KeyError or ValueError when *query* has other placeholders.
    """
    encode = encoder.cql_encode_all_types
    if isinstance(params, Mapping):
        literals: Any = {name: encode(value) for name, value in params.items()}
    elif isinstance(params, Iterable):
        literals = tuple(encode(value) for value in params)
    else:
        raise TypeError(
            f"parameters must be a sequence or a mapping, not {type(params).__name__}; one value is given as (value,)"
        )
    try:
        text: str = query % literals
    except (TypeError, KeyError, ValueError) as error:
        given = f"parameters {list(literals)}" if isinstance(params, Mapping) else f"{len(literals)} parameter(s)"
        if isinstance(params, str):
            given += " (text counts as one per character: put it into a tuple)"
        raise type(error)(
            f"{given} do not match the placeholders of {query!r} ({error}); they are %s or %(name)s, a percent sign is "
            "%%, and ? is for prepared statements"
        ) from None
    return text
