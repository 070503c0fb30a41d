"""Encrypted columns: the settings of a :class:`ColumnEncryptionPolicy`, compiled into the codecs of columns (L2).

A column of the policy gets a codec that wraps the codec of the plain values: bind plans and row plans run it like any
other, without a look-up per value. Its kind is that of the column on the server, a blob, and metadata has the same
type.

The column of a bind marker is read from the statement's text (``markers.py``), and compared with the server's metadata.
Where a table has encrypted columns, a statement is rejected unless it is certain that no value is stored in one of
them, or compared with one, without being encrypted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from cassandra._base.constants import TypeId
from cassandra._base.encryption import CANNOT_DECRYPT, ColDesc, ColumnEncryptionPolicy, DecryptionError
from cassandra._base.errors import DriverException
from cassandra._base.names import escape_name
from cassandra._core.codec import (
    BindPlan,
    Codec,
    ResultPlan,
    TypeContext,
    encrypted_codec,
    list_codec,
    scalar,
    tuple_codec,
)
from cassandra._wire.types.registry import resolve_custom

from . import markers
from .markers import Analysis, Marker, Place, analyse

Resolve = Callable[[str, str, str, Codec, bool], Codec]
Spec = tuple[str, str, str, Codec]

_HINT = "prepare the statement and bind each value to its column by a marker of its own, as in column = ?"
#: Server names of markers other than the column's own name: for a part of the operand that the column is compared with.
_SERVER_NAME = re.compile(r"(?:in|value)\((.*)\)", re.DOTALL)
_TOKEN_ARGUMENT = re.compile(r"arg[0-9]+\(system\.token\)")
#: In a result of a text without AS, columns have their own names, and functions have names that no column has.
_RENAMES = re.compile(r"\bas\b", re.IGNORECASE)


class Schema(Protocol):
    """Schema metadata of tables. Any thread."""

    def base_table(self, keyspace: str, table: str) -> str | None:
        """Return the base table of *table*, a materialized view; None for other tables."""

    def columns(self, keyspace: str, table: str) -> Iterable[str]:
        """Return the names of its columns; none if they are not known."""

    def key_columns(self, keyspace: str, table: str) -> Iterable[str]:
        """Return the names of its primary key columns; none if they are not known."""


class ColumnResolver:
    """``TypeContext.resolve_column`` for *policy*, and the same resolution for statements with a known text."""

    def __init__(self, policy: ColumnEncryptionPolicy, schema: Schema | None = None) -> None:
        self.policy = policy
        self.schema = schema

    def __call__(self, keyspace: str, table: str, name: str, codec: Codec, is_bound: bool) -> Codec:
        """Return *codec*, or a decrypting codec around it. A result column that is not a blob is not the encrypted
        column, and stays unchanged. Parameters are resolved by :meth:`bound`, as their names may differ from those of
        columns."""
        if is_bound:
            return _without_encryption(codec)
        if codec.cipher is not None:
            name = codec.cipher.name  # an alias may have the name of another column
        return self._resolve(keyspace, table, name, codec)

    def _resolve(self, keyspace: str, table: str, name: str | None, codec: Codec) -> Codec:
        stored = _without_encryption(codec)
        if name is None or stored.kind != TypeId.BLOB:
            return stored
        column = self.column(keyspace, table, name)
        return stored if column is None else self._encrypting_codec(column, codec, name)

    # ---- the policy's answers

    def column(self, keyspace: str, table: str, name: str) -> ColDesc | None:
        """Return the column as named in the policy; None if it is not encrypted. For a view, also that of its table."""
        base = None if self.schema is None else self.schema.base_table(keyspace, table)
        for known in (table,) if base is None else (table, base):
            column = ColDesc(keyspace, known, name)
            try:
                if self.policy.contains_column(column):
                    return column
            except Exception as error:
                raise _policy_error(column, error) from error
        return None

    def has_encrypted(self, keyspace: str, table: str, words: Iterable[str]) -> bool:
        """True if one of the known columns of the table is encrypted; *words* may be names of further columns."""
        names = set(words)
        tables: tuple[str, ...] = (table,)
        if self.schema is not None:
            names.update(self.schema.columns(keyspace, table))
            tables = (table, self.schema.base_table(keyspace, table) or table)
        names.update(known.col for known in self._listed_columns() if known.ks == keyspace and known.table in tables)
        return any(self.column(keyspace, table, name) is not None for name in names)

    def _listed_columns(self) -> list[ColDesc]:
        """Return all encrypted columns; none if the policy does not list them."""
        for kind in type(self.policy).__mro__:
            if "encrypted_columns" in vars(kind):
                return [ColDesc(*column) for column in self.policy.encrypted_columns()]
            if "contains_column" in vars(kind):
                break
        return []

    def _encrypting_codec(self, column: ColDesc, known: Codec, name: str) -> Codec:
        """Return the codec for *column*: *known* itself if it is equal, so that equal plans stay the same object."""
        try:
            inner = _codec_of(self.policy, column)
        except Exception as error:
            raise _policy_error(column, error) from error
        made_by = (self.policy, column, inner)
        if known.cipher is not None and _is_made_by(known.cipher, made_by):
            return known
        return encrypted_codec(_without_encryption(known), ColumnCipher(self.policy, column, inner, name))

    # ---- by names only

    def named(self, spec: Spec) -> Codec:
        """Return the codec of a parameter whose name is that of its column."""
        column = self.column(*spec[:3])
        return _without_encryption(spec[3]) if column is None else self._for_blob(column, spec[3], spec[2])

    def _for_blob(self, column: ColDesc, codec: Codec, name: str) -> Codec:
        if codec.kind != TypeId.BLOB:
            raise DriverException(
                f"{_column_text(column)} is encrypted, so its type must be blob, not {codec.cql()}. Nothing is sent"
            )
        return self._encrypting_codec(column, codec, name)

    # ---- by the text

    def bound(
        self, specs: Sequence[Spec], text: str, keyspace: str | None, pk_indexes: Sequence[int] | None
    ) -> list[Codec]:
        """Return the codecs of the parameters of *text*, where *keyspace* is that of names without one. Raise
        DriverException if values could be stored in encrypted columns, or compared with them, unencrypted."""
        analysis = analyse(text)
        tables = {spec[:2] for spec in specs}
        tables.update((one.keyspace or keyspace or "", one.table) for one in analysis.statements)
        found = {table for table in tables if self.has_encrypted(*table, analysis.words)}
        if not analysis.understood:
            self.check_text(text, specs[0][0] if specs else keyspace)
        if not found:
            return [_without_encryption(spec[3]) for spec in specs]
        self._check_literals(analysis, keyspace)
        keys = [index + 1 for index in pk_indexes or ()]
        made = []
        for number, (spec, group) in enumerate(zip(specs, _markers_of_parameters(specs, analysis), strict=True), 1):
            if spec[:2] not in found:
                made.append(_without_encryption(spec[3]))
                continue
            codecs = [self._of_marker(spec, number, marker, analysis, number in keys) for marker in group]
            if len({_columns_in(codec) for codec in codecs}) > 1:
                raise _refusal(spec, number, "is the value of several columns that are encrypted differently")
            made.append(_reuse_if_equal(spec[3], codecs[0]))
        return made

    def _of_marker(self, spec: Spec, number: int, marker: Marker | None, analysis: Analysis, is_key: bool) -> Codec:
        keyspace, table, _, codec = spec
        stored = _without_encryption(codec)
        place = None if marker is None else _confirmed_place(spec, marker, analysis)
        if place is None:
            if _may_hold_blob(stored):
                raise _refusal(spec, number, "cannot be assigned to a column from the text")
            return stored
        columns = [(name, self.column(keyspace, table, name)) for name in place.columns]
        if all(column is None for _, column in columns):
            return stored
        if place.form == markers.PART:
            raise _refusal(spec, number, "belongs to an expression over an encrypted column")
        for name, column in columns:
            if column is None or self.policy.is_deterministic(column):
                continue
            keys = [] if self.schema is None else self.schema.key_columns(keyspace, table)
            if is_key or place.is_compared or name in keys:
                raise DriverException(
                    f"{_column_text(column)} is encrypted to different bytes each time, and cannot be compared or in a "
                    "key: add it to the policy with deterministic=True"
                )
        each = place.form == markers.EACH
        wanted = stored.children[0] if each and stored.kind == TypeId.LIST else stored
        values = wanted.children if len(columns) > 1 else (wanted,)
        if (each and stored.kind != TypeId.LIST) or len(values) != len(columns):
            raise _refusal(spec, number, "is of another type than its columns")
        codecs = [
            value if column is None else self._for_blob(column, value, name)
            for (name, column), value in zip(columns, values, strict=True)
        ]
        made = tuple_codec(codecs) if len(columns) > 1 else codecs[0]
        return list_codec(made) if each else made

    def _check_literals(self, analysis: Analysis, keyspace: str | None) -> None:
        """Raise DriverException for values in the text that the policy has not encrypted."""
        for one in analysis.statements:
            space = one.keyspace or keyspace or ""
            if one.is_json and self.has_encrypted(space, one.table, analysis.words):
                raise DriverException(
                    f"{space}.{one.table} has encrypted columns, and INSERT JSON would store their values unencrypted: "
                    "name the columns and bind a value to each. Nothing is sent"
                )
            for given in one.given:
                column = None if given.kind == markers.NULL else self.column(space, one.table, given.column)
                if column is None or (given.kind == markers.BLOB and self._is_decryptable(column, given.text)):
                    continue
                what = "a value" if given.kind in (markers.BLOB, markers.CONSTANT) else "an expression"
                raise DriverException(
                    f"{_column_text(column)} is encrypted, and the text of the statement has {what} for it that is "
                    f"not: {_HINT}, or put policy.encode_and_encrypt(column, value) into the text. Nothing is sent"
                )

    def _is_decryptable(self, column: ColDesc, literal: str) -> bool:
        """True if the policy can decrypt a blob literal of a text."""
        try:
            data = bytes.fromhex(literal[2:])
            ColumnCipher(self.policy, column, _codec_of(self.policy, column), column.col).decrypt(data)
        except Exception:
            return False
        return True

    def check_text(self, text: str, keyspace: str | None) -> None:
        """Raise DriverException if *text*, a statement that is not prepared, has unencrypted values for encrypted
        columns, or compares these with unencrypted values."""
        all_known = self._listed_columns()
        if all_known and not _may_name(text, all_known):
            return
        analysis = analyse(text)
        if not analysis.is_data:
            return
        if analysis.understood:
            self._check_literals(analysis, keyspace)
            return
        known = all_known or [
            ColDesc(keyspace or "", table, name) for table in analysis.words for name in analysis.words
        ]
        for column in known:
            spaces = analysis.words if keyspace is None else {*analysis.words, keyspace}
            if column.table in analysis.words and column.ks in spaces and self.column(*column) is not None:
                raise DriverException(
                    f"{column.ks}.{column.table} has encrypted columns, and the driver cannot parse the text of the "
                    f"statement, so it cannot check whether values in it are encrypted: {_HINT}. Nothing is sent"
                )

    def result(self, specs: Sequence[Spec], text: str) -> list[Codec]:
        """Return the codecs of the result columns of *text*, which may rename columns."""
        analysis = analyse(text) if _RENAMES.search(text) else None
        if analysis is not None and len(analysis.statements) == 1:
            selected = analysis.statements[0].selected
            if selected is not None and len(selected) == len(specs):
                return [self._resolve(*spec[:2], name, spec[3]) for name, spec in zip(selected, specs, strict=True)]
        return [self._resolve(*spec) for spec in specs]


def resolver(policy: ColumnEncryptionPolicy | None, schema: Schema | None = None) -> ColumnResolver | None:
    """Return the resolver for *policy*; None without a policy, so that there is no cost."""
    return None if policy is None else ColumnResolver(policy, schema)


def policy_of(context: Any) -> ColumnEncryptionPolicy | None:
    """Return the policy that plans of *context* are made with."""
    resolve = context.resolve_column if isinstance(context, TypeContext) else None
    return resolve.policy if isinstance(resolve, ColumnResolver) else None


class Origin(NamedTuple):
    """The text of a statement, and the keyspace of unqualified names in it."""

    text: str
    keyspace: str | None


def bind_plan_by(resolve: ColumnResolver | None, plan: BindPlan, origin: Origin | None = None) -> BindPlan:
    """Return *plan* with the encryption of *resolve* instead of its own. Without *origin* parameters have the names of
    columns."""
    if resolve is None:
        codecs = [_without_encryption(spec[3]) for spec in plan.specs]
    elif origin is None:
        codecs = [resolve.named(spec) for spec in plan.specs]
    else:
        codecs = resolve.bound(plan.specs, *origin, plan.pk_indexes)
    specs = _with_codecs(codecs, plan.specs)
    return plan if specs is plan.specs else BindPlan(specs, plan.pk_indexes)


def result_plan_by(resolve: ColumnResolver | None, plan: ResultPlan, origin: Origin | None = None) -> ResultPlan:
    """Return *plan* with the decryption of *resolve* instead of its own."""
    if resolve is None:
        codecs = [_without_encryption(spec[3]) for spec in plan.specs]
    elif origin is None:
        codecs = [resolve(*spec, False) for spec in plan.specs]
    else:
        codecs = resolve.result(plan.specs, origin.text)
    specs = _with_codecs(codecs, plan.specs)
    return plan if specs is plan.specs else ResultPlan(specs)


def encrypted_columns(plan: BindPlan) -> list[tuple[ColDesc, ...]]:
    """Return for each parameter the columns that it is encrypted for."""
    return [_columns_in(spec[3]) for spec in plan.specs]


def is_same_plan(one: ResultPlan, other: ResultPlan) -> bool:
    """True if both plans decode the same columns in the same way."""
    if one is other or len(one) != len(other):
        return one is other
    pairs = zip(one.specs, other.specs, strict=True)
    return all(mine[:3] == theirs[:3] and _are_equal(mine[3], theirs[3]) for mine, theirs in pairs)


def context_by(policy: ColumnEncryptionPolicy | None, context: TypeContext) -> TypeContext:
    """Return *context*, or a similar one with *policy* for one message if *policy* is not its own."""
    if policy is None or policy is policy_of(context):
        return context
    made = TypeContext(resolve_custom, context.user_type, 0)
    made.resolve_column = ColumnResolver(policy)
    return made


def readers_of(policy: ColumnEncryptionPolicy, columns: Sequence[Any]) -> list[Any]:
    """Return *columns*, (keyspace, table, name, type) each, where the type of an encrypted column decrypts."""
    resolve = ColumnResolver(policy)
    codecs = [
        resolve(keyspace, table, name, kind.codec(), is_bound=False) for keyspace, table, name, kind, *_ in columns
    ]
    return [
        (*column[:3], column[3] if codec.stored is None else _EncryptedType(codec))
        for column, codec in zip(columns, codecs, strict=True)
    ]


class _EncryptedType:
    """The part of a type class that decoding uses."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self.cql_parameterized_type = codec.cql

    def from_binary(self, data: bytes | None, version: int) -> Any:
        return self._codec.decode(data, version)


class ColumnCipher:
    """Converts values of *column*, which are of type *inner*, to stored bytes and back. *name* is the name of the
    column in its table or view."""

    def __init__(self, policy: ColumnEncryptionPolicy, column: ColDesc, inner: Codec, name: str) -> None:
        self.made_by = (policy, column, inner)
        self.inner = inner
        self.name = name
        self._column = column
        self._encrypt, self._decrypt = policy.encrypt, policy.decrypt

    def encode(self, value: Any, version: int) -> bytes:
        """Return the bytes to store for *value*. Raise TypeError without the value in its text."""
        try:
            plain = self.inner.encode(value, version)
        except (TypeError, ValueError, OverflowError) as error:
            what = type(value).__name__
            reason = f"got {what}" if isinstance(error, TypeError) else f"this {what} is not valid"
            failure = TypeError(f"expected a value of type {self.inner.cql()} to encrypt: {reason}")
        else:
            return self.seal(plain)
        raise failure

    def seal(self, plain: bytes) -> bytes:
        """Return the bytes to store for a value that :attr:`inner` has encoded."""
        return self._encrypt(self._column, plain)

    def decode(self, data: bytes, version: int) -> Any:
        """Return the value of stored bytes. Raise DecryptionError, which does not show the cause."""
        try:
            return self.inner.decode(self._decrypt(self._column, data), version)
        except Exception:
            pass
        raise DecryptionError(CANNOT_DECRYPT)  # outside the handler, so that the error has no context with details

    def decrypt(self, data: bytes) -> bytes:
        """Return the plain bytes of the value, valid for its type. Raise DecryptionError as :meth:`decode` does."""
        try:
            plain = self._decrypt(self._column, data)
            self.inner.decode(plain)
            return plain
        except Exception:
            pass
        raise DecryptionError(CANNOT_DECRYPT)


def _may_name(text: str, columns: Iterable[ColDesc]) -> bool:
    """True if *text* may use one of these columns: all statements name them, except INSERT JSON."""
    lowered = text.lower()
    return "json" in lowered or any(escape_name(column.col.lower())[1:-1] in lowered for column in columns)


def _markers_of_parameters(specs: Sequence[Spec], analysis: Analysis) -> list[list[Marker | None]]:
    """Return the markers of each parameter. Some servers have one parameter for all markers of one name."""
    found = analysis.markers
    if len(found) == len(specs):
        return [[marker] for marker in found]
    by_name: dict[Any, list[Marker | None]] = {}
    for number, marker in enumerate(found):
        by_name.setdefault(number if marker.name is None else marker.name, []).append(marker)
    return list(by_name.values()) if len(by_name) == len(specs) else [[None]] * len(specs)


def _confirmed_place(spec: Spec, marker: Marker, analysis: Analysis) -> Place | None:
    """Return the place of *marker*; None if the server's metadata contradict it."""
    place = marker.place
    if place is None or place.form == markers.OPTION:
        return place
    one = analysis.statements[marker.statement]
    keyspace, table, name, _ = spec
    if one.table != table or one.keyspace not in (None, keyspace):
        return None
    if marker.name is not None:
        return place if marker.name == name else None
    if place.form != markers.VALUE or len(place.columns) > 1:
        return place
    if place.is_compared and _TOKEN_ARGUMENT.fullmatch(name):
        return place
    while name != place.columns[0]:
        inside = _SERVER_NAME.fullmatch(name)
        if inside is None:
            return None
        name = inside[1]
    return place


def _without_encryption(codec: Codec) -> Codec:
    """Return *codec* without encryption."""
    if codec.stored is not None:
        return codec.stored
    if not _columns_in(codec):
        return codec
    children = [_without_encryption(child) for child in codec.children]
    return list_codec(*children) if codec.kind == TypeId.LIST else tuple_codec(children)


def _columns_in(codec: Codec) -> tuple[Any, ...]:
    """Return the encrypted columns of a parameter."""
    if codec.cipher is not None:
        return (codec.cipher.made_by[1],)
    return tuple(column for child in codec.children for column in _columns_in(child))


def _is_made_by(cipher: Any, made_by: tuple[Any, ...]) -> bool:
    return cipher.made_by[0] is made_by[0] and cipher.made_by[1:] == made_by[1:]


def _reuse_if_equal(known: Codec, made: Codec) -> Codec:
    """Return *known* if it is equal to *made*, else *made*."""
    return known if _are_equal(known, made) else made


def _are_equal(one: Codec, other: Codec) -> bool:
    if one is other:
        return True
    if one.cipher is not None and other.cipher is not None:
        return _is_made_by(one.cipher, other.cipher.made_by)
    same_type = (one.kind, one.name, one.keyspace, one.type_name, one.field_names, one.dimensions) == (
        (other.kind, other.name, other.keyspace, other.type_name, other.field_names, other.dimensions)
    )
    if not same_type or not one.children or len(one.children) != len(other.children):
        return False
    return all(map(_are_equal, one.children, other.children))


def _may_hold_blob(codec: Codec) -> bool:
    """True if its values may contain blobs, or, for a whole row, text for columns."""
    return (codec.kind in (TypeId.BLOB, TypeId.CUSTOM) and not codec.dimensions) or any(
        map(_may_hold_blob, codec.children)
    )


def _with_codecs(codecs: Sequence[Codec], specs: Sequence[Spec]) -> Sequence[Spec]:
    """Return *specs* with *codecs*; *specs* themselves if the codecs are the same."""
    if all(codec is spec[3] for codec, spec in zip(codecs, specs, strict=True)):
        return specs
    return [(*spec[:3], codec) for codec, spec in zip(codecs, specs, strict=True)]


def _codec_of(policy: ColumnEncryptionPolicy, column: ColDesc) -> Codec:
    """Return the codec of the plain values, from a type class of the driver or a compatible object."""
    column_type = getattr(policy, "column_type", None)
    if column_type is None:
        return scalar(TypeId.BLOB)
    kind: Any = column_type(column)
    codec = kind.codec()
    if not isinstance(codec, Codec):
        raise TypeError(f"column_type() must return a class of cassandra.cqltypes, not {kind!r}")
    return codec


def _policy_error(column: ColDesc, error: Exception) -> DriverException:
    return DriverException(f"The column encryption policy failed for {_column_text(column)}: {error!r}")


def _refusal(spec: Spec, number: int, why: str) -> DriverException:
    keyspace, table, name, codec = spec
    return DriverException(
        f"{keyspace}.{table} has encrypted columns, and parameter {number} of the statement ({name!r}, "
        f"{_without_encryption(codec).cql()}) {why}: bind each value to its column by a marker of its own, as in "
        "column = ?. Nothing is sent"
    )


def _column_text(column: ColDesc) -> str:
    return f"Column {column.ks}.{column.table}.{column.col}"
