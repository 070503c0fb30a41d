"""The benchmarks' responder compiles, answers what was recorded, and says what that took."""

from __future__ import annotations

from benchmarks.capture import execute_frames
from benchmarks.responder import Responder
from benchmarks.responder.recording import answers
from cassandra.cluster import Cluster


def test_the_responder_plays_pages() -> None:
    with Responder() as responder, Cluster(["127.0.0.1"], port=responder.port, protocol_version=4) as cluster:
        session = cluster.connect()
        select = session.prepare("SELECT id, name, score, ratio FROM bench.pages4")
        rows = list(session.execute(select))
        assert len(rows) == 5000 and rows[0]._fields == ("id", "name", "score", "ratio")
        assert session.execute(
            session.prepare("SELECT id, score, name, ratio, at FROM bench.points WHERE id = ?"), (1,)
        )
    assert responder.answers > 10 and responder.cpu >= 0
    assert responder.line().reached is None


def test_the_bytes_of_our_own_requests_are_captured() -> None:
    with Responder() as responder:
        captured = execute_frames(responder.port)
    for frame in captured.values():
        assert frame[0] == 4 and frame[4] == 0x0A and int.from_bytes(frame[5:9], "big") == len(frame) - 9
    assert b"point 1" in captured["insert"] and b"point 1" not in captured["read"]


def test_who_asks_for_metadata_gets_it() -> None:
    found = [answer.body for key, answer in answers().items() if key[:2] == b"X0" and b"point 1" in answer.body]
    assert len(found) == 1 and b"ratio" in found[0]
