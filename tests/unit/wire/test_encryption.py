"""AES-256 for columns, with recorded bytes of scylla-driver 3.29.12 and cassandra-driver 3.30.1, and the compiling of
policies."""

from __future__ import annotations

import copy
import datetime
import gc
import pickle
import subprocess
import sys
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from cassandra import DriverException
from cassandra._base import encryption as watching
from cassandra._core.codec import BindPlan, ResultPlan, TypeContext, scalar
from cassandra._wire.encryption import bind_plan_by, context_by, policy_of, resolver, result_plan_by
from cassandra.cqltypes import BytesType, Int32Type, UTF8Type
from cassandra.policies import ColDesc, ColumnEncryptionPolicy
from cassandra.query import PreparedStatement
from tests.packages import module, require

policies = module("cassandra.column_encryption.policies")
AES256_BLOCK_SIZE, AES256_BLOCK_SIZE_BYTES = policies.AES256_BLOCK_SIZE, policies.AES256_BLOCK_SIZE_BYTES
AES256_KEY_SIZE, AES256_KEY_SIZE_BYTES = policies.AES256_KEY_SIZE, policies.AES256_KEY_SIZE_BYTES
AES256ColumnEncryptionPolicy, ColData = policies.AES256ColumnEncryptionPolicy, policies.ColData

KEY, IV = bytes(range(32)), bytes(range(16))
COLUMN = ColDesc("ks", "t", "c")


@pytest.fixture(autouse=True)
def _is_installed() -> None:
    require("cryptography")


BLOB, INT = scalar(0x03), scalar(0x09)
SPECS = [("ks", "t", "k", INT), ("ks", "t", "c", BLOB), ("ks", "t", "d", BLOB)]

#: The value behind the vector, as both others store it under KEY and IV.
RECORDED = [
    ("int", -5, "b1475304f6d3890686cb0a0acb4570a0"),
    ("bigint", 1152921504606846976, "6a0cf49505b8d7c96023ab5ff9e90f93"),
    ("text", "gruß", "a49969928318a8106452a340e0cc66f5"),
    ("ascii", "a", "2fce7827f3d8d1d5e02c3ef493ecfeb1"),
    (
        "varchar",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "a4cd054c7e4ba6a4359c1b02e48d2a7bffa02acf8b86c68c3ee1e88e61c60110faaa08c9db25efe5bb35e44f2265a8cc",
    ),
    (
        "blob",
        b"\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01",
        "c05cbacb21d7e02f18dcce3f17b470101765def8bbd1fe4a893b5cce7e5ebe3d",
    ),
    ("boolean", True, "bf6982265ca7868a640b6afb28c677c8"),
    ("double", 1.5, "b28cac31e7b429300d3c922c1d5f85c5"),
    ("float", -0.25, "f6a03083cb28607dd7905ada185e7825"),
    (
        "uuid",
        UUID("00000000-0000-0000-0000-000000000007"),
        "6707727b78e59a3721269918fcf48480e3d57a680b6586d4d0a860aebcf8bf36",
    ),
    ("varint", -1180591620717411303424, "cc4916314b59236a0723370527d9068c"),
    ("decimal", Decimal("1.10"), "3558b2ae5484526adab94be2f103f548"),
    ("timestamp", datetime.datetime(2024, 2, 29, 12, 0), "ba89a8b20a02ceac6579a75ad6fd5e89"),
    ("smallint", 3, "e2bac87e0934faf6e43190719a090b29"),
    ("tinyint", -1, "52aa0282bfcfe4b44cca6602fc91ff48"),
    ("inet", "10.0.0.1", "eabe8cb998399ca861e0fe8a32761e3f"),
]


def policy_of_int() -> AES256ColumnEncryptionPolicy:
    policy = AES256ColumnEncryptionPolicy(iv=IV)
    policy.add_column(COLUMN, KEY, "int")
    return policy


@pytest.mark.parametrize(("name", "value", "stored"), RECORDED)
def test_stored_bytes_are_those_of_the_other_drivers(name: str, value: Any, stored: str) -> None:
    policy = AES256ColumnEncryptionPolicy(iv=IV)
    policy.add_column(COLUMN, KEY, name)
    encrypted = policy.encode_and_encrypt(COLUMN, value)
    assert encrypted == IV + bytes.fromhex(stored)
    kind = policy.column_type(COLUMN)
    assert kind.from_binary(policy.decrypt(COLUMN, encrypted), 4) == value


def test_sizes() -> None:
    assert (AES256_BLOCK_SIZE, AES256_BLOCK_SIZE_BYTES) == (128, 16)
    assert (AES256_KEY_SIZE, AES256_KEY_SIZE_BYTES) == (256, 32)


def test_a_policy_reads_values_written_with_another_initial_vector() -> None:
    one, other = AES256ColumnEncryptionPolicy(), AES256ColumnEncryptionPolicy()
    for policy in (one, other):
        policy.add_column(COLUMN, KEY, "text")
    stored = one.encode_and_encrypt(COLUMN, "secret")
    assert stored == one.encode_and_encrypt(COLUMN, "secret") != other.encode_and_encrypt(COLUMN, "secret")
    assert other.decrypt(COLUMN, stored) == b"secret" and one.decrypt(COLUMN, one.encrypt(COLUMN, b"")) == b""


def test_zero_and_the_empty_string_are_values() -> None:
    policy = policy_of_int()
    assert policy.decrypt(COLUMN, policy.encode_and_encrypt(COLUMN, 0)) == bytes(4)


def test_columns() -> None:
    policy = policy_of_int()
    assert policy.contains_column(COLUMN) and not policy.contains_column(ColDesc("ks", "t", "x"))
    assert policy.column_type(COLUMN) is Int32Type
    policy.add_column(COLUMN, KEY, "varchar")
    assert issubclass(policy.column_type(COLUMN), UTF8Type)
    with pytest.raises(KeyError):
        policy.column_type(ColDesc("ks", "t", "x"))


def test_ciphers_are_kept() -> None:
    policy = policy_of_int()
    assert (policy.cache_info().hits, policy.cache_info().misses, policy.cache_info().maxsize) == (0, 0, 128)
    for _ in range(5):
        policy.decrypt(COLUMN, policy.encrypt(COLUMN, b"x"))
    assert (policy.cache_info().hits, policy.cache_info().misses) == (9, 1)
    assert AES256ColumnEncryptionPolicy().cache_info().misses == 0  # each has its own


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((None, KEY, "int"), ValueError, "ColDesc"),
        ((COLUMN, None, "int"), ValueError, "Key"),
        ((COLUMN, KEY, None), ValueError, "Type"),
        ((COLUMN, b"short", "int"), ValueError, "256-bit"),
        ((COLUMN, "s" * 32, "int"), TypeError, "bytes, not str"),
        ((COLUMN, KEY, "nosuch"), ValueError, "'nosuch' is not a supported type"),
        ((COLUMN, KEY, "list"), ValueError, "without parameters"),
    ],
)
def test_wrong_columns(arguments: tuple[Any, ...], error: type[Exception], text: str) -> None:
    policy = AES256ColumnEncryptionPolicy()
    with pytest.raises(error, match=text):
        policy.add_column(*arguments)
    assert not policy.coldata


def test_wrong_calls() -> None:
    policy, unknown = policy_of_int(), ColDesc("ks", "t", "x")
    with pytest.raises(ValueError, match="128-bit"):
        AES256ColumnEncryptionPolicy(iv=b"short")
    with pytest.raises(ValueError, match="Could not find column"):
        policy.encrypt(unknown, b"")
    with pytest.raises(ValueError, match="Could not find ColData"):
        policy.encode_and_encrypt(unknown, 1)
    with pytest.raises(ValueError, match=r"cannot be None"):
        policy.encode_and_encrypt(COLUMN, None)
    for broken in (b"", b"x" * 10, b"x" * 16, b"x" * 32, b"x" * 33):
        with pytest.raises(ValueError):
            policy.decrypt(COLUMN, broken)


def test_the_key_is_not_shown_and_not_pickled() -> None:
    policy = policy_of_int()
    shown = f"{policy!r} {policy} {vars(policy)} {policy.coldata} {policy.coldata[COLUMN]!r}"
    assert repr(KEY[16:])[2:-1] not in shown and KEY.hex() not in shown and "ks.t.c" in shown
    assert isinstance(policy.coldata[COLUMN], ColData)
    for secret in (policy, policy.coldata, policy.coldata[COLUMN]):
        with pytest.raises(TypeError, match="keys"):
            pickle.dumps(secret)


def test_copies_have_the_same_columns() -> None:
    policy = policy_of_int()
    for again in (copy.copy(policy), copy.deepcopy(policy)):
        again.add_column(ColDesc("ks", "t", "d"), KEY, "int")
        assert again.encode_and_encrypt(COLUMN, 1) == policy.encode_and_encrypt(COLUMN, 1)
    assert not policy.contains_column(ColDesc("ks", "t", "d"))


def test_import_without_cryptography_names_the_package_to_install() -> None:
    program = "import sys; sys.modules['cryptography'] = None; import cassandra.column_encryption.policies"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "ImportError: cassandra.column_encryption.policies needs the package cryptography" in done.stderr
    assert "fastcql[encryption]" in done.stderr


def test_the_driver_does_not_load_it() -> None:
    program = "import sys, cassandra.cluster; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


def test_the_base_class_does_nothing_itself() -> None:
    policy = ColumnEncryptionPolicy()
    with pytest.raises(NotImplementedError):
        policy.contains_column(COLUMN)
    for call in (policy.encrypt, policy.decrypt, policy.add_column, policy.encode_and_encrypt):
        with pytest.raises(NotImplementedError):
            call(COLUMN, b"")


class Reversing(ColumnEncryptionPolicy):
    """An application's own: bytes, back to front."""

    def __init__(self, *columns: ColDesc) -> None:
        self.columns = set(columns)

    def add_column(self, coldesc: ColDesc, key: bytes = b"") -> None:
        self.columns.add(coldesc)

    def contains_column(self, coldesc: ColDesc) -> bool:
        return coldesc in self.columns

    def encrypt(self, coldesc: ColDesc, obj_bytes: bytes) -> bytes:
        return b"!" + obj_bytes[::-1]

    def decrypt(self, coldesc: ColDesc, encrypted_bytes: bytes) -> bytes:
        if encrypted_bytes[:1] != b"!":
            raise RuntimeError("not mine")
        return encrypted_bytes[:0:-1]


def test_plans_are_made_by_a_policy() -> None:
    policy, plan = policy_of_int(), BindPlan(SPECS, [0])
    by = bind_plan_by(resolver(policy), plan)
    assert by is not plan and by.pk_indexes == (0,) and by.specs[1][3].stored is BLOB and by.specs[2][3] is BLOB
    assert (by.specs[1][3].kind, by.specs[1][3].cql()) == (BLOB.kind, "blob")
    assert by.bind((1, 5, b"d"), 4).values[1:] == [policy.encode_and_encrypt(COLUMN, 5), b"d"]
    assert by.bind((1, None, b"d"), 4).values[1] is None
    assert by.specs[1][3].decode(policy.encode_and_encrypt(COLUMN, 5)) == 5
    assert by.specs[1][3].decode(None) is None


def test_plans_are_as_they_were_without() -> None:
    plan, rows = BindPlan(SPECS), ResultPlan(SPECS)
    assert bind_plan_by(None, plan) is plan and result_plan_by(None, rows) is rows and resolver(None) is None
    nothing = AES256ColumnEncryptionPolicy()
    assert bind_plan_by(resolver(nothing), plan) is plan and result_plan_by(resolver(nothing), rows) is rows
    encrypted = result_plan_by(resolver(policy_of_int()), rows)
    assert [codec.stored for codec in encrypted.codecs] == [None, BLOB, None]
    assert result_plan_by(None, encrypted).codecs == rows.codecs
    assert result_plan_by(resolver(Reversing(ColDesc("ks", "t", "d"))), encrypted).codecs[1] is BLOB


def test_an_unchanged_policy_keeps_the_same_result_plan() -> None:
    """Answers are recognised by it."""
    policy = policy_of_int()
    rows = result_plan_by(resolver(policy), ResultPlan(SPECS))
    assert result_plan_by(resolver(policy), rows) is rows
    policy.add_column(COLUMN, KEY, "text")
    assert result_plan_by(resolver(policy), rows) is not rows
    assert result_plan_by(resolver(policy_of_int()), rows) is not rows


def test_a_partition_key_is_hashed_as_it_is_sent() -> None:
    policy, plan = policy_of_int(), BindPlan(SPECS, [1])
    bound = bind_plan_by(resolver(policy), plan).bind((1, 5, b""), 4)
    plain = plan.bind((1, policy.encode_and_encrypt(COLUMN, 5), b""), 4)
    assert (bound.token, bound.routing_key, bound.data) == (plain.token, plain.routing_key, plain.data)


def test_a_policy_of_an_application() -> None:
    by = bind_plan_by(resolver(Reversing(COLUMN)), BindPlan(SPECS))
    assert by.bind((1, b"abc", b"d"), 4).values[1:] == [b"!cba", b"d"]
    assert by.specs[1][3].decode(b"!cba") == b"abc"


def test_wrong_values() -> None:
    by = bind_plan_by(resolver(policy_of_int()), BindPlan(SPECS))
    with pytest.raises(TypeError, match=r'column "c".*ks\.t, .*expected a value of type int to encrypt: got str'):
        by.bind((1, "text", b"d"), 4)
    with pytest.raises(DriverException, match=r"cannot be decrypted: .*another key, for another column, or not at all"):
        by.specs[1][3].decode(b"plain")


def test_all_failures_to_decrypt_are_alike() -> None:
    """Errors for wrong padding, wrong text and wrong lengths are equal, so that none reveals decrypted bytes."""
    policy = AES256ColumnEncryptionPolicy(iv=IV)
    policy.add_column(COLUMN, KEY, "text")
    stored = policy.encode_and_encrypt(COLUMN, "a text of more than one block")
    codec = bind_plan_by(resolver(policy), BindPlan(SPECS)).specs[1][3]
    not_text = policy.encrypt(COLUMN, b"\xff\xfe")
    forged = [
        stored[:at] + bytes([stored[at] ^ flip]) + stored[at + 1 :] for at in (0, 16, 31) for flip in range(1, 256)
    ]
    texts, chains, failed = set(), set(), 0
    for data in (b"", b"x", stored[:-1], stored[:16], not_text, *forged):
        for call in (codec.decode, codec.cipher.decrypt):
            try:
                call(data)
            except (DriverException, ValueError) as error:
                failed += 1
                texts.add(str(error).removeprefix("Failed to decode a value of type blob: "))
                last: Any = error
                while last is not None:
                    chains.add(type(last))
                    last = last.__cause__ or last.__context__
    assert failed > 500 and texts == {
        "it cannot be decrypted: it was encrypted by another key, for another column, or not at all"
    }
    assert {kind.__name__ for kind in chains} == {"DecodeError", "DecryptionError"}


def test_a_column_that_is_no_blob_is_not_sent() -> None:
    specs = [("ks", "t", "c", INT)]
    with pytest.raises(DriverException, match=r"ks\.t\.c is encrypted, so its type must be blob, not int"):
        bind_plan_by(resolver(policy_of_int()), BindPlan(specs))
    assert result_plan_by(resolver(policy_of_int()), ResultPlan(specs)).codecs == (INT,)  # an alias, most probably


def test_a_policy_that_raises_is_named() -> None:
    class Broken(Reversing):
        def contains_column(self, coldesc: ColDesc) -> bool:
            raise RuntimeError("no key service")

    class Untyped(Reversing):
        def column_type(self, coldesc: ColDesc) -> str:
            return "int"

    with pytest.raises(DriverException, match="no key service"):
        bind_plan_by(resolver(Broken(COLUMN)), BindPlan(SPECS))
    with pytest.raises(DriverException, match="policy failed for Column"):
        bind_plan_by(resolver(Untyped(COLUMN)), BindPlan(SPECS))


def test_contexts() -> None:
    context, policy = TypeContext(), policy_of_int()
    assert policy_of(context) is None and policy_of({}) is None and context_by(None, context) is context
    by = context_by(policy, context)
    assert by is not context and policy_of(by) is policy and context_by(policy, by) is by


def test_statements_made_by_hand_take_a_policy() -> None:
    policy = policy_of_int()
    columns = [("ks", "t", "k", Int32Type), ("ks", "t", "c", BytesType)]
    text = "UPDATE t SET d = 1 WHERE k = ? AND c = ?"
    given = PreparedStatement(columns, b"id", [1], text, "ks", 4, columns, None, column_encryption_policy=policy)
    later = PreparedStatement(columns, b"id", [1], text, "ks", 4, columns, None)
    assert later.bind((1, b"plain")).values[1] == b"plain"
    later.column_encryption_policy = policy
    for statement in (given, later):
        bound = statement.bind((1, 5))
        assert bound.values[1] == bound.routing_key == policy.encode_and_encrypt(COLUMN, 5)
        assert [column.type for column in statement.column_metadata] == [Int32Type, BytesType]
        assert statement._snapshot[0] is not None and statement._snapshot[0].codecs[1].stored is BLOB
    later.column_encryption_policy = None
    assert later.bind((1, b"plain")).values[1] == b"plain"


def test_watchers_hear_of_columns_and_are_not_kept_alive() -> None:
    heard: list[str] = []

    class Watcher:
        def __init__(self, name: str, policy: Any) -> None:
            self.name, self.policy = name, policy

        def columns_changed(self) -> None:
            heard.append(self.name)

    mine, other = Reversing(), Reversing()
    here, elsewhere = Watcher("here", mine), Watcher("elsewhere", other)
    watching.watch(here)
    watching.watch(elsewhere)
    mine.add_column(COLUMN)
    assert heard == ["here"] and mine.contains_column(COLUMN) and Reversing.add_column.__name__ == "add_column"
    del here
    gc.collect()
    mine.add_column(COLUMN)
    assert heard == ["here"]
