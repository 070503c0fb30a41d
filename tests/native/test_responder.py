"""The benchmarks' responder compiles, plays recorded answers, and reports the CPU time used."""

from __future__ import annotations

import pytest

from benchmarks.capture import execute_frames
from benchmarks.clients.messages import decode
from benchmarks.clients.modes import LZ4, PLAIN, TLS, V5, options
from benchmarks.responder import Responder
from benchmarks.responder.recording import LARGE, answers, load, taken_apart
from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.concurrent import execute_concurrent_with_args


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


def test_requests_for_metadata_are_answered_with_metadata() -> None:
    found = [answer.body for key, answer in answers().items() if key[:2] == b"X0" and b"point 1" in answer.body]
    assert found and all(b"ratio" in body for body in found)


@pytest.mark.parametrize("mode", [PLAIN, V5, LZ4, TLS])
def test_the_responder_speaks_as_it_is_told(mode: str) -> None:
    version = 5 if mode in (V5, LZ4) else 4
    with (
        Responder(version, tls=mode == TLS) as responder,
        Cluster(["127.0.0.1"], port=responder.port, **options(mode, responder.authority)) as cluster,
    ):
        session = cluster.connect()
        assert cluster.protocol_version == version
        rows = list(session.execute(session.prepare("SELECT id, part, name, score, ratio, mark, at FROM bench.pages7")))
        assert len(rows) == 5000 and rows[-1].name.startswith("user-")  # over several segments, in protocol 5
        point = session.prepare("SELECT id, score, name, ratio, at FROM bench.points WHERE id = ?")
        found = execute_concurrent_with_args(session, point, [(number,) for number in range(1000)])
        assert [result.one().name for ok, result in found if ok] == ["point 1"] * 1000
        # compressed requests are read, too: 300 kB in three segments, and of matches longer than their distance
        long = f"SELECT * FROM system.local WHERE key='local' /* {'long ' * 60_000} */"
        assert session.execute(long).one().host_id is not None


def test_protocol_5_is_refused_where_it_is_not_spoken() -> None:
    with (
        Responder() as responder,
        Cluster(["127.0.0.1"], port=responder.port, protocol_version=5) as cluster,
        pytest.raises(NoHostAvailable, match="supported versions are"),
    ):
        cluster.connect()


def test_plaintext_clients_are_cut_off_and_tls_clients_are_served() -> None:
    with Responder(tls=True) as responder:
        with Cluster(["127.0.0.1"], port=responder.port, protocol_version=4) as cluster, pytest.raises(NoHostAvailable):
            cluster.connect()
        with Cluster(["127.0.0.1"], port=responder.port, **options(TLS, responder.authority)) as cluster:
            assert cluster.connect().execute("SELECT * FROM system.local WHERE key='local'").one().key == "local"


def test_pages_recorded_without_metadata_are_played_with_it_on_request() -> None:
    played = taken_apart(load())
    large = {key[2:]: answer.body for key, answer in answers().items() if key[:2] == b"X1" and len(answer.body) > LARGE}
    assert len(large) == 2
    for identity, body in large.items():
        message = decode(played[b"X0" + identity].body)
        assert len(message.parsed_rows) == 5000 and message.column_names[0] == "id"
        assert played[b"X1" + identity].body == body
