"""Encrypted columns: what a :class:`ColumnEncryptionPolicy` says, compiled into the codecs of columns (L2).

A column that the policy has gets a codec that wraps the one of the values inside: bind plans and row plans run it like
any other, and there is nothing to be looked up per value. It is of the kind of the column as the server knows it, a
blob, and so is what metadata tells of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cassandra._base.constants import TypeId
from cassandra._base.encryption import ColDesc, ColumnEncryptionPolicy
from cassandra._base.errors import DriverException
from cassandra._core.codec import BindPlan, Codec, ResultPlan, TypeContext, encrypted_codec, scalar
from cassandra._wire.types.registry import resolve_custom

Resolve = Callable[[str, str, str, Codec, bool], Codec]
Spec = tuple[str, str, str, Codec]


class ColumnResolver:
    """``TypeContext.resolve_column`` for *policy*."""

    def __init__(self, policy: ColumnEncryptionPolicy) -> None:
        self.policy = policy

    def __call__(self, keyspace: str, table: str, name: str, codec: Codec, is_bound: bool) -> Codec:
        """*codec*, or what encrypts and decrypts around it. DriverException for a parameter that is to be encrypted
        and has another type than blob; such a column of a result is something else of that name, and left alone."""
        column = ColDesc(keyspace, table, name)
        stored = codec.stored or codec
        try:
            if not self.policy.contains_column(column):
                return stored
            if stored.kind == TypeId.BLOB:
                return _encrypted(self.policy, column, codec)
        except Exception as error:
            raise DriverException(
                f"The column encryption policy cannot tell how {_shown(column)} is encrypted: {error!r}"
            ) from error
        if not is_bound:
            return stored
        raise DriverException(
            f"{_shown(column)} is to be encrypted, so its type has to be blob; it is {stored.cql()}. Nothing is sent"
        )


def resolver(policy: ColumnEncryptionPolicy | None) -> ColumnResolver | None:
    """None without a policy, so that nobody is asked."""
    return None if policy is None else ColumnResolver(policy)


def policy_of(context: Any) -> ColumnEncryptionPolicy | None:
    """The policy that plans of *context* are made with."""
    resolve = context.resolve_column if isinstance(context, TypeContext) else None
    return resolve.policy if isinstance(resolve, ColumnResolver) else None


def bind_plan_by(policy: ColumnEncryptionPolicy | None, plan: BindPlan) -> BindPlan:
    """*plan* with what *policy* says, whatever it was made with."""
    specs = specs_by(policy, plan.specs, True)
    return plan if specs is plan.specs else BindPlan(specs, plan.pk_indexes)


def result_plan_by(policy: ColumnEncryptionPolicy | None, plan: ResultPlan) -> ResultPlan:
    """*plan* with what *policy* says, whatever it was made with."""
    specs = specs_by(policy, plan.specs, False)
    return plan if specs is plan.specs else ResultPlan(specs)


def context_by(policy: ColumnEncryptionPolicy | None, context: TypeContext) -> TypeContext:
    """*context*, or for a policy that is not its own one like it, for one message."""
    if policy is None or policy is policy_of(context):
        return context
    made = TypeContext(resolve_custom, context.user_type, 0)
    made.resolve_column = ColumnResolver(policy)
    return made


def readers_of(policy: ColumnEncryptionPolicy, columns: Sequence[Any]) -> list[Any]:
    """(keyspace, table, name, type) each as *columns*, where the type of an encrypted one decrypts."""
    plain = [(*column[:3], column[3].codec()) for column in columns]
    codecs = [spec[3] for spec in specs_by(policy, plain, False)]
    return [
        (*column[:3], column[3] if codec.stored is None else _EncryptedType(codec))
        for column, codec in zip(columns, codecs, strict=True)
    ]


class _EncryptedType:
    """As much of a type class as reading takes."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self.cql_parameterized_type = codec.cql

    def from_binary(self, data: bytes | None, version: int) -> Any:
        return self._codec.decode(data, version)


def specs_by(policy: ColumnEncryptionPolicy | None, specs: Sequence[Spec], is_bound: bool) -> Sequence[Spec]:
    """*specs* themselves if nothing in them is or was encrypted."""
    resolve = resolver(policy)
    made = [(*spec[:3], (spec[3].stored or spec[3]) if resolve is None else resolve(*spec, is_bound)) for spec in specs]
    same = all(new[3] is old[3] for new, old in zip(made, specs, strict=True))
    return specs if same else made


class ColumnCipher:
    """Values of *column*, which are of type *inner*, to what is stored, and back."""

    def __init__(self, policy: ColumnEncryptionPolicy, column: ColDesc, inner: Codec) -> None:
        self.made_by = (policy, column, inner)
        self.inner = inner
        self._column = column
        self._encrypt, self._decrypt = policy.encrypt, policy.decrypt

    def encode(self, value: Any, version: int) -> bytes:
        try:
            plain = self.inner.encode(value, version)
        except (TypeError, ValueError, OverflowError) as error:
            raise TypeError(f"its values are {self.inner.cql()}, encrypted: {error}") from error
        return self.seal(plain)

    def seal(self, plain: bytes) -> bytes:
        """What is stored of a value that :attr:`inner` has encoded."""
        return self._encrypt(self._column, plain)

    def decode(self, data: bytes, version: int) -> Any:
        return self.inner.decode(self.decrypt(data), version)

    def decrypt(self, data: bytes) -> bytes:
        try:
            return self._decrypt(self._column, data)
        except Exception as error:
            raise ValueError(
                f"it cannot be decrypted ({error}): it was encrypted by another key, or not at all"
            ) from error


def _encrypted(policy: ColumnEncryptionPolicy, column: ColDesc, known: Codec) -> Codec:
    """*known* itself if it was made just so: plans that are the same stay the same object."""
    inner = _codec_of(policy, column)
    cipher = known.cipher
    if cipher is not None and cipher.made_by[0] is policy and cipher.made_by[1:] == (column, inner):
        return known
    return encrypted_codec(known.stored or known, ColumnCipher(policy, column, inner))


def _codec_of(policy: ColumnEncryptionPolicy, column: ColDesc) -> Codec:
    """Of the values inside: a type class of ours, or anything that serialises as those do."""
    column_type = getattr(policy, "column_type", None)
    if column_type is None:
        return scalar(TypeId.BLOB)
    kind: Any = column_type(column)
    codec = kind.codec()
    if not isinstance(codec, Codec):
        raise TypeError(f"column_type() is to return a class of cassandra.cqltypes, not {kind!r}")
    return codec


def _shown(column: ColDesc) -> str:
    return f"Column {column.ks}.{column.table}.{column.col}"
