"""AES-SIV for columns: stored values, refused values, replaced keys, and values of the policy before."""

from __future__ import annotations

import copy
import datetime
import pickle
from decimal import Decimal
from typing import Any

import pytest

from cassandra.policies import ColDesc
from tests.packages import module, require

policies = module("cassandra.column_encryption.policies")
AES256ColumnEncryptionPolicy = policies.AES256ColumnEncryptionPolicy
AESSIVColumnEncryptionPolicy = policies.AESSIVColumnEncryptionPolicy
DecryptionError = policies.DecryptionError

primitives = "cryptography.hazmat.primitives"
AESSIV = module(f"{primitives}.ciphers.aead").AESSIV
SHA256 = module(f"{primitives}.hashes").SHA256
HKDF = module(f"{primitives}.kdf.hkdf").HKDF

KEY, OTHER = bytes(range(32)), bytes(range(50, 82))
COLUMN = ColDesc("ks", "t", "c")


@pytest.fixture(autouse=True)
def _is_installed() -> None:
    require("cryptography")


def policy_of(kind: str = "text", deterministic: bool = False, **options: Any) -> AESSIVColumnEncryptionPolicy:
    legacy = options.pop("legacy", None)
    policy = AESSIVColumnEncryptionPolicy(legacy=legacy)
    policy.add_column(COLUMN, options.pop("key", KEY), kind, deterministic=deterministic, **options)
    return policy


VALUES = [
    ("text", "gruß"), ("text", ""), ("ascii", "a"), ("int", -5), ("bigint", 1 << 60), ("blob", b""),
    ("blob", bytes(1000)), ("boolean", True), ("decimal", Decimal("1.10")),
    ("timestamp", datetime.datetime(2024, 2, 29, 12, 0)),
]  # fmt: skip


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_round_trip(kind: str, value: Any, deterministic: bool) -> None:
    policy = policy_of(kind, deterministic)
    stored, again = policy.encode_and_encrypt(COLUMN, value), policy.encode_and_encrypt(COLUMN, value)
    assert (stored == again) is deterministic is policy.is_deterministic(COLUMN)
    plain = policy.decrypt(COLUMN, stored)
    assert policy.column_type(COLUMN).from_binary(plain, 4) == value
    assert len(stored) == len(plain) + (26 if deterministic else 42)


def test_the_stored_format_matches_the_documented_format() -> None:
    """Made again by hand: programs in other languages may have to."""

    def derived(use: bytes, size: int) -> bytes:
        return HKDF(SHA256(), size, None, b"fastcql column encryption: " + use).derive(KEY)

    stored = policy_of(deterministic=True).encode_and_encrypt(COLUMN, "text")
    head = b"\x8ffq\x01" + derived(b"id", 4) + b"\0"
    assert stored[:9] == head
    assert AESSIV(derived(b"AES-SIV", 64)).decrypt(stored[9:], [head, b"ks", b"t", b"c"]) == b"text\x80"
    stored = policy_of().encode_and_encrypt(COLUMN, "text")
    head, nonce = head[:-1] + b"\1", stored[9:25]
    assert stored[:9] == head
    assert AESSIV(derived(b"AES-SIV", 64)).decrypt(stored[25:], [head, b"ks", b"t", b"c", nonce]) == b"text\x80"


@pytest.mark.parametrize("deterministic", [True, False])
def test_every_changed_byte_is_noticed(deterministic: bool) -> None:
    policy = policy_of(deterministic=deterministic)
    stored = policy.encode_and_encrypt(COLUMN, "secret")
    changed = [stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :] for at in range(len(stored))]
    for broken in (*changed, *(stored[:at] for at in range(len(stored))), stored + b"\0", b"", b"secret"):
        with pytest.raises(DecryptionError) as failed:
            policy.decrypt(COLUMN, broken)
        assert str(failed.value) == str(DECRYPTION_FAILED) and failed.value.__context__ is None


DECRYPTION_FAILED = "it cannot be decrypted: it was encrypted by another key, for another column, or not at all"


@pytest.mark.parametrize("other", [ColDesc("ks2", "t", "c"), ColDesc("ks", "t2", "c"), ColDesc("ks", "t", "c2")])
def test_values_belong_to_their_column(other: ColDesc) -> None:
    policy = policy_of()
    policy.add_column(other, KEY, "text")
    with pytest.raises(DecryptionError):
        policy.decrypt(other, policy.encode_and_encrypt(COLUMN, "secret"))


def test_names_are_not_run_together() -> None:
    policy = AESSIVColumnEncryptionPolicy()
    one, other = ColDesc("a", "bc", "d"), ColDesc("ab", "c", "d")
    for column in (one, other):
        policy.add_column(column, KEY, "text")
    with pytest.raises(DecryptionError):
        policy.decrypt(other, policy.encode_and_encrypt(one, "secret"))


def test_keys_are_replaced() -> None:
    old = policy_of().encode_and_encrypt(COLUMN, "old")
    policy = policy_of(key=OTHER, old_keys=[KEY])
    assert policy.decrypt(COLUMN, old) == b"old"
    new = policy.encode_and_encrypt(COLUMN, "new")
    assert policy_of(key=OTHER).decrypt(COLUMN, new) == b"new"
    for without in (policy_of(key=OTHER), policy_of()):
        with pytest.raises(DecryptionError):
            without.decrypt(COLUMN, old if without.encode_and_encrypt(COLUMN, "")[:8] == new[:8] else new)
    assert policy_of(key=KEY, old_keys=[KEY]).decrypt(COLUMN, old) == b"old"


def test_values_of_the_policy_before_are_read() -> None:
    before = AES256ColumnEncryptionPolicy()
    before.add_column(COLUMN, OTHER, "text")
    old = before.encode_and_encrypt(COLUMN, "old")
    policy = policy_of(legacy=before)
    assert policy.decrypt(COLUMN, old) == b"old"
    assert policy.decrypt(COLUMN, policy.encode_and_encrypt(COLUMN, "new")) == b"new"
    for broken in (old[:-1], policy.encode_and_encrypt(COLUMN, "new")[:-1], b""):
        with pytest.raises(DecryptionError, match="by another key") as failed:
            policy.decrypt(COLUMN, broken)
        assert failed.value.__context__ is None
    with pytest.raises(DecryptionError):
        policy_of().decrypt(COLUMN, old)
    with pytest.raises(TypeError, match="legacy must be a ColumnEncryptionPolicy, not str"):
        AESSIVColumnEncryptionPolicy(legacy="aes")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((None, KEY, "int"), ValueError, "ColDesc"),
        ((COLUMN, None, "int"), ValueError, "Key"),
        ((COLUMN, KEY, None), ValueError, "Type"),
        ((COLUMN, b"short", "int"), ValueError, "keys of 32 bytes, not 5"),
        ((COLUMN, "s" * 32, "int"), TypeError, "bytes, not str"),
        ((COLUMN, KEY, "list"), ValueError, "without parameters"),
    ],
)
def test_wrong_columns(arguments: tuple[Any, ...], error: type[Exception], text: str) -> None:
    policy = AESSIVColumnEncryptionPolicy()
    with pytest.raises(error, match=text):
        policy.add_column(*arguments)
    with pytest.raises(ValueError, match="keys of 32 bytes"):
        policy.add_column(COLUMN, KEY, "int", old_keys=[b"short"])
    assert not policy.encrypted_columns()


def test_wrong_calls() -> None:
    policy, unknown = policy_of(), ColDesc("ks", "t", "x")
    for call in (policy.encrypt, policy.decrypt, policy.encode_and_encrypt):
        with pytest.raises(ValueError, match="Could not find column"):
            call(unknown, b"")
    with pytest.raises(ValueError, match="cannot be None"):
        policy.encode_and_encrypt(COLUMN, None)
    with pytest.raises(KeyError):
        policy.column_type(unknown)


def test_keys_are_not_shown_and_not_pickled() -> None:
    policy = policy_of()
    shown = f"{policy!r} {policy} {vars(policy)}"
    assert repr(KEY[16:])[2:-1] not in shown and KEY.hex() not in shown and "ks.t.c" in shown
    with pytest.raises(TypeError, match="keys"):
        pickle.dumps(policy)


def test_copies() -> None:
    policy = policy_of()
    for again in (copy.copy(policy), copy.deepcopy(policy)):
        again.add_column(ColDesc("ks", "t", "d"), KEY, "int")
        assert again.decrypt(COLUMN, policy.encode_and_encrypt(COLUMN, "x")) == b"x"
    assert policy.encrypted_columns() == [COLUMN]
