"""Prepared and bound statements (cassandra.query).

L5. A PreparedStatement owns two compiled things: the bind plan of its parameters, fixed for its life, and a *snapshot*
``(ResultPlan | None, metadata id | None)`` of its result shape. The snapshot is replaced as a whole when the server
sends new metadata, and a request keeps the snapshot it was built with, so that two responses in flight around a schema
change never mix.

A statement whose parameters have other types by now is *outdated*, for good, and not executed any more. When a table is
dropped and created again, prepared statements may have parameters of other types, with the same text and so the same
id: values bound by the old types would be stored as other values of the new ones. The server returns the types whenever
the statement is prepared again; for parameters that are columns its schema tables have them, without that. The
functions that compare types are pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.display import rich_display
from cassandra._base.errors import DriverException, UnsupportedOperation
from cassandra._base.names import protect_value
from cassandra._core.codec import UNSET, BindPlan, Bound, ResultPlan, custom_codec
from cassandra._core.routing import LastUse, PlanCache
from cassandra._routing.schema.cqltype import CqlType, parse_cql_type
from cassandra._session.display import prepared_tables
from cassandra._wire.encryption import (
    ColumnResolver,
    Origin,
    bind_plan_by,
    encrypted_columns,
    is_same_plan,
    resolver,
    result_plan_by,
)
from cassandra._wire.messages.reading import ColumnMetadata, columns_of, specs_of
from cassandra._wire.rows import column_types

from .statement import FETCH_SIZE_UNSET, Payload, RoutingKey, Sentinel, Statement
from .user_types import read_as

if TYPE_CHECKING:
    from cassandra._base.encryption import ColumnEncryptionPolicy
    from cassandra._core.codec import Codec
    from cassandra._core.transport import ResultCache
    from cassandra._routing.metadata import Metadata
    from cassandra._routing.policies import RetryPolicy
    from cassandra._session.prepared import PreparedRegistry

UNSET_VALUE = UNSET  #: Value of a marker that leaves the column unchanged.
_AS_THEY_ARE = custom_codec("bytes")  # for values that are serialised already

Specs = Sequence[tuple[str, str, str, Any]]


def routing_key_indexes(specs: Specs, metadata: Metadata | None) -> tuple[int, ...] | None:
    """Return the bind positions of the partition key's components, from the schema: protocol 3 does not send them. None
    if not all are bound."""
    if not specs or metadata is None:
        return None
    keyspace = metadata.keyspaces.get(specs[0][0])
    table = keyspace.tables.get(specs[0][1]) if keyspace is not None else None
    if table is None:
        return None
    position = {spec[2]: index for index, spec in enumerate(specs)}
    indexes = [position.get(column.name) for column in table.partition_key]
    return None if not indexes or None in indexes else tuple(i for i in indexes if i is not None)


@rich_display(prepared_tables)
class PreparedStatement:
    """A statement prepared by the server; made by :meth:`Session.prepare`, immutable except for the result metadata.

    Settable attributes apply to every statement bound from it: ``consistency_level``, ``serial_consistency_level``,
    ``fetch_size``, ``retry_policy``, ``is_idempotent``, ``custom_payload``; ``strict_binding``, True or False,
    overrides that of the execution profile and the cluster.

    Example::

        insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
        session.execute(insert, (1, "one"))
    """

    keyspace: str | None = None  #: Keyspace of the statement.
    consistency_level: int | None = None  #: Consistency level; None: that of the profile.
    serial_consistency_level: int | None = None  #: Serial consistency level; None: that of the profile.
    retry_policy: RetryPolicy | None = None  #: Decides what to do after an error; None: that of the profile.
    custom_payload: Payload | None = None  #: Custom payload of its requests, a dict of bytes.
    #: Rows of a page; None turns paging off. Default: that of the session.
    fetch_size: int | Sentinel | None = FETCH_SIZE_UNSET
    is_idempotent: bool = False  #: True if it may be executed twice.
    strict_binding: bool | None = None  #: See :attr:`Cluster.strict_binding`; None: as the profile or cluster.
    column_encryption_policy: ColumnEncryptionPolicy | None = None  #: Policy of encrypted columns, or None.

    _plans: PlanCache
    _last_use: LastUse  # shared by copies
    _cache: ResultCache | None = None  # of its results, see ``caching.py``
    _binds_strictly: bool = False  # option of the cluster at the time of preparing
    _session_keyspace: str | None = None  # keyspace of the session at the time of preparing
    _outdated: str | None = None  # description of the difference
    _refused: str | None = None  # the reason why its values cannot be encrypted
    _encrypts: bool = False  # True if some of its values are encrypted
    _encryption_state: object = None  # state of the cluster's policy when it was compiled
    _resolver: ColumnResolver | None = None
    _registry: PreparedRegistry | None = None  # registry of copies

    __module__ = "cassandra.query"

    def __init__(
        self,
        column_metadata: Specs | BindPlan,
        query_id: bytes,
        routing_key_indexes: Sequence[int] | None,
        query: str,
        keyspace: str | None,
        protocol_version: int,
        result_metadata: Specs | ResultPlan | None,
        result_metadata_id: bytes | None,
        is_lwt: bool = False,
        column_encryption_policy: Any = None,
    ) -> None:
        if isinstance(column_metadata, BindPlan):
            self._bind_plan = column_metadata
        else:
            self._bind_plan = BindPlan(specs_of(column_metadata), routing_key_indexes)
        self.query_id = query_id  #: Id of the statement at the servers.
        self.query_string = query  #: Text of the statement.
        self.keyspace = keyspace
        self.protocol_version = protocol_version  #: Version of the protocol that it was prepared with.
        self._is_lwt = is_lwt
        self._last_use = LastUse(monotonic())
        self._snapshot = (_plan_of(result_metadata), result_metadata_id)
        if column_encryption_policy is not None:
            self.column_encryption_policy = column_encryption_policy

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "column_encryption_policy":
            self._encrypt_by(resolver(value))
            self._check_encryption()
        super().__setattr__(name, value)
        self._discard_plans()

    def _discard_plans(self) -> None:
        before = getattr(self, "_plans", None)
        super().__setattr__("_plans", PlanCache())
        if before is not None:
            before.discard()  # caches of the mapper refer to it

    @classmethod
    def from_message(
        cls,
        query_id: bytes,
        column_metadata: Specs | BindPlan,
        pk_indexes: Sequence[int] | None,
        cluster_metadata: Metadata | None,
        query: str,
        prepared_keyspace: str | None,
        protocol_version: int,
        result_metadata: Specs | ResultPlan | None,
        result_metadata_id: bytes | None,
        is_lwt: bool = False,
        column_encryption_policy: Any = None,
    ) -> PreparedStatement:
        """Build from the fields of a PREPARED response; find the partition key in the schema when the response has
        none."""
        plan = (
            column_metadata
            if isinstance(column_metadata, BindPlan)
            else BindPlan(specs_of(column_metadata), pk_indexes)
        )
        if plan.pk_indexes is None:
            indexes = routing_key_indexes(plan.specs, cluster_metadata)
            if indexes is not None:
                plan = BindPlan(plan.specs, indexes)
        return cls(
            plan,
            query_id,
            plan.pk_indexes,
            query,
            prepared_keyspace,
            protocol_version,
            result_metadata,
            result_metadata_id,
            is_lwt,
            column_encryption_policy,
        )

    @property
    def column_metadata(self) -> list[ColumnMetadata]:
        """One (keyspace_name, table_name, name, type) per bind marker."""
        return columns_of(self._bind_plan.specs)

    @column_metadata.setter
    def column_metadata(self, columns: Specs) -> None:
        self._bind_plan = BindPlan(specs_of(columns), self._bind_plan.pk_indexes)

    @property
    def routing_key_indexes(self) -> list[int] | None:
        """Bind positions of the partition key's components, in key order; None if they are not all bound."""
        indexes = self._bind_plan.pk_indexes
        return None if indexes is None else list(indexes)

    @routing_key_indexes.setter
    def routing_key_indexes(self, indexes: Sequence[int] | None) -> None:
        self._bind_plan = BindPlan(self._bind_plan.specs, indexes)

    def is_routing_key_index(self, i: int) -> bool:
        """True if bind position *i* is part of the partition key."""
        indexes = self._bind_plan.pk_indexes
        return indexes is not None and i in indexes

    @property
    def result_metadata(self) -> list[ColumnMetadata] | None:
        """One (keyspace_name, table_name, name, type) per result column; None for a statement without rows."""
        plan = self._snapshot[0]
        return None if plan is None else columns_of(plan.specs)

    @property
    def result_metadata_id(self) -> bytes | None:
        """The server's hash of the result metadata (protocol 5, or Scylla's extension)."""
        return self._snapshot[1]

    @property
    def result_metadata_and_id(self) -> tuple[list[ColumnMetadata] | None, bytes | None]:
        """Result metadata and their id, from the same snapshot."""
        plan, metadata_id = self._snapshot
        return (None if plan is None else columns_of(plan.specs)), metadata_id

    def update_result_metadata(
        self, result_metadata: Specs | ResultPlan | None, result_metadata_id: bytes | None
    ) -> None:
        """Replace metadata and id together; requests already built keep the pair they were built with."""
        plan = _plan_of(result_metadata)
        snapshot = (plan if plan is None else self._with_result_columns(plan), result_metadata_id)
        if snapshot != self._snapshot:  # many requests may get the same metadata after a restart
            self._snapshot = snapshot

    def _read_as(self, keyspace: str, user_type: str, klass: Any) -> None:
        """Decode values of that user type as instances of *klass* from now on."""
        plan, metadata_id = self._snapshot
        changed_plan = None if plan is None else read_as(plan, keyspace, user_type, klass)
        if changed_plan is not plan:
            self._snapshot = (changed_plan, metadata_id)

    @property
    def _origin(self) -> Origin:
        return Origin(self.query_string, self._home)

    def _with_result_columns(self, plan: ResultPlan) -> ResultPlan:
        """Return *plan* of a response, decrypting the columns that the text selects; the plan of the statement, if that
        is equal."""
        if self._resolver is None:
            return plan
        known, found = self._snapshot[0], result_plan_by(self._resolver, plan, self._origin)
        return known if known is not None and is_same_plan(known, found) else found

    def _encrypt_by(self, resolve: ColumnResolver | None) -> None:
        """Apply *resolve* to values bound from now on, and to responses to requests made from now on. If it rejects the
        statement, that is not executed any more."""
        set_ = super().__setattr__
        origin = self._origin
        try:
            self._bind_plan = bind_plan_by(resolve, self._bind_plan, origin)
        except DriverException as error:
            set_("_refused", str(error))
        else:
            set_("_refused", None)
            set_("_encrypts", any(encrypted_columns(self._bind_plan)))
        plan, metadata_id = self._snapshot
        changed_plan = None if plan is None else result_plan_by(resolve, plan, origin)
        if changed_plan is not plan:
            self._snapshot = (changed_plan, metadata_id)
        set_("_resolver", resolve)
        self._discard_plans()
        self.__dict__["column_encryption_policy"] = None if resolve is None else resolve.policy

    def _compare(self, bind_plan: BindPlan | None) -> None:
        """Compare with the parameters that the server has now. Raise the error of :meth:`_check` if they have other
        types."""
        if bind_plan is not self._bind_plan and self._outdated is None:
            difference = describe_change(self._bind_plan, bind_plan)
            if difference is not None:
                self._outdated = difference
        self._check()

    def _check(self) -> None:
        """Raise DriverException if the statement is outdated, or its values cannot be encrypted."""
        self._check_encryption()
        if self._outdated is not None:
            raise self._make_outdated_error()

    def _check_encryption(self) -> None:
        if self._refused is not None:
            raise DriverException(f"{self._refused}. Query: {self.query_string}")

    def _make_outdated_error(self) -> DriverException:
        return DriverException(
            "The table has changed since the statement was prepared: "
            f"{self._outdated}. Values bound to it would be stored as other values; prepare it again. "
            f"Query: {self.query_string}"
        )

    @property
    def _result_col_names(self) -> list[str] | None:
        plan = self._snapshot[0]
        return None if plan is None else list(plan.names)

    @property
    def _result_col_types(self) -> list[Any] | None:
        plan = self._snapshot[0]
        return None if plan is None else column_types(plan)

    def bind(self, values: Sequence[Any] | Mapping[str, Any] | None) -> BoundStatement:
        """Return a :class:`BoundStatement` with *values*, a sequence in marker order or a mapping by name.

        Missing values are left UNSET on protocol 4 and newer, and unknown names are ignored with a warning, unless
        binding is strict (``strict_binding`` of the statement or of the cluster). Raises TypeError naming the parameter
        for a value that does not match its type, ValueError for too many; for missing ones, if binding is strict or
        with protocol 3, ValueError, or KeyError for a name.
        """
        return self._bind(values, self._binds_strictly if self.strict_binding is None else self.strict_binding)

    def _is_strict(self, profile: bool | None) -> bool:
        """True if incomplete values are an error; *profile*: the option of the execution profile."""
        if self.strict_binding is not None:
            return self.strict_binding
        return self._binds_strictly if profile is None else profile

    def _bind(self, values: Sequence[Any] | Mapping[str, Any] | None, strict: bool) -> BoundStatement:
        place = self._plans.place or self._place()
        if not place:
            return BoundStatement(self)._bind(values, strict)
        made = _new_bound(BoundStatement)
        made.prepared_statement = self  # in the order of __init__(): instances share the keys of their dicts
        made.keyspace, made.table = place
        made._bound = self._bind_plan.bind(values, self.protocol_version, strict=strict)
        made.raw_values = values
        return made

    def _place(self) -> tuple[str, str] | tuple[()]:
        """Return keyspace and table of bound statements without further attributes; empty if they have some."""
        cache = self._plans
        if cache.place is not None:
            return cache.place
        specs = self._bind_plan.specs
        inherited = _new_bound(BoundStatement)
        inherited._inherit(self)
        is_bare = inherited.__dict__.keys() == {"keyspace", "table"}
        cache.place = (specs[0][0], specs[0][1]) if is_bare and specs else ()
        return cache.place

    @property
    def _home(self) -> str | None:
        """The keyspace of unqualified names in its text: the one it was prepared with, else that of its session."""
        return self.keyspace or self._session_keyspace

    def is_lwt(self) -> bool:
        """True if the server marked this statement as a lightweight transaction."""
        return self._is_lwt

    def __copy__(self) -> PreparedStatement:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.__dict__["_plans"] = PlanCache()
        if self._registry is not None:
            self._registry.note_copy(made)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle text, metadata and attributes that were set. A column encryption policy is pickled, too, or raises."""
        set_later = {name: value for name, value in self.__dict__.items() if name not in _MADE}
        plan, metadata_id = self._snapshot
        made_of = (columns_of(self._bind_plan.specs), self._bind_plan.pk_indexes)
        return (
            _restored,
            (type(self), *made_of, self.result_metadata if plan is not None else None, metadata_id),
            set_later,
        )

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        level = Statement._consistency_name(self)  # type: ignore[arg-type]
        return f'<PreparedStatement query="{self.query_string}", consistency={level}>'

    __str__ = __repr__


#: Attributes that a copy creates anew.
_MADE = frozenset(
    (
        "_bind_plan",
        "_snapshot",
        "_plans",
        "_last_use",
        "_resolver",
        "_refused",
        "_encrypts",
        "_encryption_state",
        "_registry",
        "_cache",
    )
)


def _restored(
    kind: type[PreparedStatement], columns: Specs, pk_indexes: Any, result: Specs | None, metadata_id: bytes | None
) -> PreparedStatement:
    made = kind.__new__(kind)
    made._bind_plan = BindPlan(specs_of(columns), pk_indexes)
    made._snapshot = (_plan_of(result), metadata_id)
    made._last_use = LastUse(monotonic())
    return made


def _plan_of(metadata: Specs | ResultPlan | None) -> ResultPlan | None:
    """Return None for no columns: the result columns of such a statement (``[applied]`` …) are not known in advance, so
    the server must send the metadata."""
    if not metadata:
        return None
    return metadata if isinstance(metadata, ResultPlan) else ResultPlan(specs_of(metadata))


def _bind_plan_of(statement: PreparedStatement) -> BindPlan:
    """Return the bind plan of *statement*, which may be a double of a test, with ``column_metadata`` only."""
    plan = statement._bind_plan
    return plan if type(plan) is BindPlan else BindPlan(specs_of(statement.column_metadata))


_new_bound = object.__new__


class BoundStatement(Statement):
    """A prepared statement with its values, ready to execute; overrides start as the prepared statement's."""

    __module__ = "cassandra.query"

    prepared_statement: PreparedStatement  #: The prepared statement.
    raw_values: Any = None  #: The values before they were encoded.
    _bound: Bound | None = None

    def __init__(
        self,
        prepared_statement: PreparedStatement,
        retry_policy: RetryPolicy | None = None,
        consistency_level: int | None = None,
        routing_key: RoutingKey | None = None,
        serial_consistency_level: int | None = None,
        fetch_size: int | Sentinel | None = FETCH_SIZE_UNSET,
        keyspace: str | None = None,
        custom_payload: Payload | None = None,
    ) -> None:
        self.prepared_statement = prepared_statement
        if (
            type(prepared_statement) is PreparedStatement
            and (place := prepared_statement._plans.place or prepared_statement._place())
            and fetch_size is FETCH_SIZE_UNSET
            and consistency_level is None
            and serial_consistency_level is None
            and retry_policy is None
            and routing_key is None
            and keyspace is None
            and custom_payload is None
        ):
            self.keyspace, self.table = place
            return
        self._inherit(prepared_statement)
        Statement.__init__(
            self,
            retry_policy,
            consistency_level,
            routing_key,
            serial_consistency_level,
            fetch_size,
            keyspace,
            custom_payload,
        )

    def _inherit(self, prepared_statement: PreparedStatement) -> None:
        """Take the options of *prepared_statement*. As in Statement, only values that differ from the class default are
        stored."""
        if prepared_statement.consistency_level is not None:
            #: Consistency level; None: that of the profile.
            self.consistency_level = prepared_statement.consistency_level
        if prepared_statement.retry_policy is not None:
            #: Decides what to do after an error; None: that of the profile.
            self.retry_policy = prepared_statement.retry_policy
        if prepared_statement.custom_payload is not None:
            self.custom_payload = prepared_statement.custom_payload  #: Custom payload of its requests, a dict of bytes.
        if prepared_statement.fetch_size is not FETCH_SIZE_UNSET:
            #: Rows of a page; None turns paging off. Default: that of the session.
            self.fetch_size = prepared_statement.fetch_size
        if prepared_statement.is_idempotent:
            self.is_idempotent = True  #: True if it may be executed twice.
        if prepared_statement.serial_consistency_level is not None:
            #: Serial consistency level; None: that of the profile.
            self.serial_consistency_level = prepared_statement.serial_consistency_level
        specs = _bind_plan_of(prepared_statement).specs
        if specs:
            self.keyspace = specs[0][0]
            self.table = specs[0][1]  #: Name of the table.
        elif prepared_statement._home is not None:
            self.keyspace = prepared_statement._home

    def bind(self, values: Sequence[Any] | Mapping[str, Any] | None) -> BoundStatement:
        """Bind *values* (see :meth:`PreparedStatement.bind`) in place and return self."""
        prepared = self.prepared_statement
        plan = prepared._bind_plan
        if type(plan) is not BindPlan:
            plan, strict = _bind_plan_of(prepared), False
        else:
            strict = prepared._binds_strictly if prepared.strict_binding is None else prepared.strict_binding
        self._bound = plan.bind(values, prepared.protocol_version, strict=strict)
        self.raw_values = values
        return self

    def _bind(self, values: Sequence[Any] | Mapping[str, Any] | None, strict: bool) -> BoundStatement:
        prepared = self.prepared_statement
        self._bound = prepared._bind_plan.bind(values, prepared.protocol_version, strict=strict)
        self.raw_values = values
        return self

    @property
    def values(self) -> list[Any]:
        """The serialised values: bytes, None, or UNSET_VALUE each."""
        return [] if self._bound is None else self._bound.values

    @values.setter
    def values(self, values: Sequence[Any]) -> None:
        prepared = self.prepared_statement
        plan = prepared._bind_plan
        raw = [(keyspace, table, name, _AS_THEY_ARE) for keyspace, table, name, _ in plan.specs]
        self._bound = BindPlan(raw, plan.pk_indexes).bind(values, prepared.protocol_version)

    @property
    def routing_key(self) -> bytes | None:
        """The serialised partition key, from the bound values unless one was given."""
        if self._routing_key is not None:
            return Statement.routing_key.fget(self)  # type: ignore[attr-defined, no-any-return]
        return None if self._bound is None else self._bound.routing_key

    @routing_key.setter
    def routing_key(self, key: RoutingKey | None) -> None:
        self._routing_key = key

    def _check_keyspace(self) -> None:
        """Raise UnsupportedOperation if its keyspace differs from the one that the server has prepared it for."""
        prepared, said = self.prepared_statement, self.keyspace
        specs = prepared._bind_plan.specs
        if said is None or (specs and said == specs[0][0]):
            return
        known = {spec[0] for spec in specs}
        if not specs:
            plan = prepared._snapshot[0]
            known = {prepared._home or "", *(spec[0] for spec in (plan.specs if plan is not None else ()))}
        if said not in known:
            names = " or ".join(repr(name) for name in sorted(known) if name) or "none"
            raise UnsupportedOperation(
                f"keyspace={said!r} of a bound statement: it would run in the keyspace it was prepared for ({names}). "
                f"Use prepare(keyspace={said!r}), or leave it out. Query: {prepared.query_string}"
            )

    def is_lwt(self) -> bool:
        """True if the server marked this statement as a lightweight transaction."""
        return self.prepared_statement.is_lwt()

    def _values_text(self) -> str:
        """Return the values for a repr; those of statements with encrypted values are hidden."""
        return "<encrypted>" if self.prepared_statement._encrypts else repr(self.raw_values)

    def __repr__(self) -> str:
        return (
            f'<BoundStatement query="{self.prepared_statement.query_string}", values={self._values_text()}, '
            f"consistency={self._consistency_name()}>"
        )

    __str__ = __repr__


# ---- types of parameters

COLUMNS = "SELECT column_name, type FROM system_schema.columns WHERE keyspace_name = {} AND table_name = {}"

#: Parameters with types fixed by the server.
FIXED = frozenset(("[ttl]", "[timestamp]", "[limit]", "[per_partition_limit]", "[timeout]"))


def columns_query(statement: PreparedStatement) -> str | None:
    """Return the query for the types of the columns that are parameters; None if its text does not ensure that they are
    columns: a named marker may have the name of another one."""
    specs = statement._bind_plan.specs
    tables = {spec[:2] for spec in specs}
    if len(tables) != 1 or ":" in statement.query_string:
        return None
    return COLUMNS.format(*map(protect_value, specs[0][:2]))


def has_types_of(statement: PreparedStatement, columns: Iterable[Mapping[str, Any]]) -> bool:
    """True if *columns*, rows of the schema tables, prove that each parameter still has its type. False also where they
    do not: for fields of user types, and for parameters that are not columns."""
    types = {row["column_name"]: parse_cql_type(row["type"]) for row in columns}
    for _, _, name, codec in statement._bind_plan.specs:
        if name not in FIXED and (name not in types or not _is(codec, types[name])):
            return False
    return True


def _is(codec: Codec, cql: CqlType) -> bool:
    if cql.name == "frozen" and cql.args:
        return _is(codec, cql.args[0])
    if cql.kind != "native":
        return False
    if codec.name == "vector":
        sizes = [part.name for part in cql.args[1:]]
        return cql.name == "vector" and sizes == [str(codec.dimensions)] and _is(codec.children[0], cql.args[0])
    if not codec.children:
        return not cql.args and codec.name == ("text" if cql.name == "varchar" else cql.name)
    return codec.name == cql.name and len(codec.children) == len(cql.args) and all(map(_is, codec.children, cql.args))


def describe_change(before: BindPlan, now: BindPlan | None) -> str | None:
    """Return a description of the parameters that have other types; None while values bound for *before* are valid for
    *now*."""
    differences = []
    for old, new in zip(before.specs, () if now is None else now.specs, strict=False):  # of one text: same length
        if not holds(new[3], old[3]):
            types = f"{_type_text(new[3], old[3])}, where it was {_type_text(old[3], new[3])}"
            differences.append(f"{new[2]!r} of {new[0]}.{new[1]} is of type {types}")
    return "; ".join(differences) or None


def _type_text(codec: Codec, other: Codec) -> str:
    """Return the type in CQL; with the fields of user types where *other* has the same name."""
    return codec.cql() if codec.cql() != other.cql() else _in_full(codec)


def _in_full(codec: Codec) -> str:
    if codec.field_names:
        fields = (f"{name} {_in_full(child)}" for name, child in zip(codec.field_names, codec.children, strict=True))
        return f"{codec.keyspace}.{codec.type_name} ({', '.join(fields)})"
    return f"{codec.name}<{', '.join(map(_in_full, codec.children))}>" if codec.children else codec.cql()


def holds(new: Codec, old: Codec) -> bool:
    """True if the bytes of every value of *old* are the same value of *new*: for the same type, and for a user type
    that was extended by fields, or whose fields were renamed."""
    if new is old:
        return True
    mine, others = (new.kind, new.name, new.dimensions), (old.kind, old.name, old.dimensions)
    further = len(new.children) - len(old.children)
    if mine != others or further < 0 or (further and not new.field_names):
        return False
    if (new.keyspace, new.type_name) != (old.keyspace, old.type_name):
        return False
    return all(map(holds, new.children, old.children))  # additional fields have no counterpart
