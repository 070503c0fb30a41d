"""tablets-routing-v2: the last byte of every EXECUTE shows the known version of the tablet."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from cassandra._core.codec import BindPlan, ExecuteTemplate
from cassandra._session.request.notes import use_version_blocks
from cassandra.cluster import ResponseFuture
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.protocol import ProtocolHandler
from cassandra.protocol_features import ProtocolFeatures
from cassandra.query import PreparedStatement
from cassandra.tablets import Tablet, Tablets
from tests.unit.core.codec_frames import INT
from tests.unit.session.harness import Lab, prepared, routed_lab, rows, rows_without_metadata, unprepared

V2 = ProtocolFeatures(tablets_routing_v2=True)
VERSION = 0x0123456789ABCDEF
BLOCKS = {index << 4 | VERSION >> 4 * index & 0xF for index in range(16)}
PAGE = rows_without_metadata(1)


def lab_of(version: int = 4) -> tuple[Lab, PreparedStatement]:
    """A session whose cluster has version blocks, and which knows the tablet of every token of the table."""
    lab, select = routed_lab(version)
    lab.cluster.metadata._tablets = Tablets({})
    lab.cluster.metadata._tablets.add_tablet("ks", "tbl", everything(VERSION))
    lab[0].features = V2
    lab.session._version_blocks = True
    return lab, select


def everything(version: int | None) -> Tablet:
    """The tablet of all tokens."""
    return Tablet(-(2**63), 2**63 - 1, [(UUID(int=1), 0)], version)


def length_is_right(frame: bytes) -> bool:
    return int.from_bytes(frame[5:9], "big") == len(frame) - 9


def is_compiled(future: ResponseFuture) -> bool:
    return future._frame is not None and future.request_encoded_size == len(future._frame)


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The random numbers, taken from the end; then 0."""
    numbers: list[int] = []
    for module in ("cassandra._routing.tablets", "cassandra._wire.messages.requests"):
        monkeypatch.setattr(f"{module}.getrandbits", lambda bits: numbers.pop() if numbers else 0)
    return numbers


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("how", ["compiled", "bound", "message", "handler", "explicit"])
def test_execute_shows_the_known_tablet_version(version: int, how: str, chosen: list[int]) -> None:
    lab, select = lab_of(version)
    if how == "handler":
        lab.session.client_protocol_handler = type("Own", (ProtocolHandler,), {})
    options: dict[str, Any] = {"trace": True} if how == "message" else {}
    for index in range(16):
        chosen[:] = [index]
        query = select.bind((7,)) if how in ("bound", "message") else select
        future = lab.session.execute_async(query, () if query is not select else (7,), **options)
        frame = lab[0].sent[-1].frame
        assert frame[-1] == index << 4 | VERSION >> 4 * index & 0xF
        assert length_is_right(frame)
        assert is_compiled(future) is (how in ("compiled", "bound", "explicit"))
        if is_compiled(future):  # its message is the frame without the byte
            message = future.message
            assert message.encode(version)[9:] == frame[9:-1]
            assert message.tablet_version_block is None


@pytest.mark.parametrize("version", [None, 5])
def test_the_version_block_is_random_if_no_version_is_known(version: int | None, chosen: list[int]) -> None:
    lab, select = lab_of()
    tablets = lab.cluster.metadata._tablets
    tablets.drop_tablets("ks", "tbl")
    if version is not None:
        tablets.add_tablet("ks", "tbl", everything(None))  # by version 1, or read in advance
    chosen[:] = [0x5A]
    lab.session.execute_async(select, (7,))
    assert lab[0].sent[-1].frame[-1] == 0x5A
    chosen[:] = [0xA5]
    lab.session.execute_async(select, (7,), trace=True)
    assert lab[0].sent[-1].frame[-1] == 0xA5


def test_a_learned_tablet_version_is_shown_by_the_next_request(chosen: list[int]) -> None:
    lab, select = lab_of()
    chosen[:] = [0, 0]
    lab.session.execute_async(select, (7,))
    assert lab[0].sent[-1].frame[-1] == 0x0F
    lab.cluster.metadata._tablets.add_tablet("ks", "tbl", everything(0x3))
    lab.session.execute_async(select, (7,))
    assert lab[0].sent[-1].frame[-1] == 0x03


def test_many_requests_show_all_of_the_version() -> None:
    lab, select = lab_of()
    for _ in range(400):  # each of 16 is missed with a probability of 6e-12
        lab.session.execute_async(select, (7,))
    assert {sent.frame[-1] for sent in lab[0].sent} == BLOCKS


def test_concurrent_requests() -> None:
    lab, select = lab_of()
    lab[0].script = [PAGE] * 50
    assert all(execute_concurrent_with_args(lab.session, select, [(n,) for n in range(50)]))
    assert len(lab[0].sent) == 50
    assert {sent.frame[-1] for sent in lab[0].sent} <= BLOCKS
    assert all(length_is_right(sent.frame) for sent in lab[0].sent)


def test_sent_again_and_further_pages() -> None:
    lab, select = lab_of()
    lab[0].script = [unprepared(), None, rows(1, more=b"p2"), rows(2)]  # type: ignore[list-item]
    future = lab.session.execute_async(select, (7,))
    assert [sent.opcode for sent in lab[0].sent] == [10, 9]
    lab[0].answer(prepared())
    result = future.result()
    assert [row.n for row in result] == [1, 2]
    assert [sent.opcode for sent in lab[0].sent] == [10, 9, 10, 10]
    executes = [sent.frame for sent in lab[0].sent if sent.opcode == 10]
    assert all(length_is_right(frame) and frame[-1] in BLOCKS for frame in executes)


@pytest.mark.parametrize("blocks", [True, False], ids=["compiled with blocks", "compiled without"])
def test_a_cluster_that_is_being_upgraded(blocks: bool) -> None:
    """Each node gets frames that it understands."""
    lab, select = lab_of()
    lab.session._version_blocks = blocks
    sizes = []
    for features in (V2, ProtocolFeatures(), V2):
        lab[0].features = features
        lab.session.execute_async(select, (7,))
        frame = lab[0].sent[-1].frame
        assert length_is_right(frame)
        assert features is not V2 or frame[-1] in BLOCKS
        sizes.append(len(frame))
    assert sizes == [sizes[1] + 1, sizes[1], sizes[1] + 1]


def test_the_control_connection_decides_on_version_blocks_at_compilation() -> None:
    lab, select = lab_of()
    lab.cluster.sessions = [lab.session]  # type: ignore[attr-defined]
    assert is_compiled(lab.session.execute_async(select, (7,)))
    scope = lab.session._settings_epoch
    use_version_blocks(lab.cluster, True)  # type: ignore[arg-type]
    assert lab.session._settings_epoch is scope  # nothing is compiled anew
    lab[0].features = ProtocolFeatures()
    assert not is_compiled(lab.session.execute_async(select, (7,)))
    use_version_blocks(lab.cluster, False)  # type: ignore[arg-type]
    assert lab.cluster._version_blocks is False
    assert is_compiled(lab.session.execute_async(select, (7,)))


def test_a_block_of_ones_own_is_kept(chosen: list[int]) -> None:
    """A message keeps the version block that its maker sets."""
    lab, select = lab_of()

    def show(future: ResponseFuture) -> None:
        future.message.tablet_version_block = 0x77

    with lab.listening(show):
        lab.session.execute_async(select, (7,))
    assert lab[0].sent[-1].frame[-1] == 0x77


def test_the_template() -> None:
    """Values and timestamp are found before the byte."""
    asked: list[int | None] = []

    def block(token: int | None) -> int:
        asked.append(token)
        return 0x42

    plan = BindPlan([("ks", "tbl", "k", INT)], [0])
    template = ExecuteTemplate(plan, 4, b"id", 1, with_timestamp=True, version_block=block)
    plain = ExecuteTemplate(plan, 4, b"id", 1, with_timestamp=True)
    frame, token = template.encode((7,), 12345)
    assert asked == [token]
    expected, _ = plain.encode((7,), 12345)
    assert frame == expected[:8] + bytes([expected[8] + 1]) + expected[9:] + b"\x42"
    assert template.timestamp(frame) == 12345
    bound = template.bound(frame, token)
    assert bound.values == [b"\0\0\0\x07"]
    assert template.encode_bound(bound, 12345) == frame
    assert asked == [token, token]
