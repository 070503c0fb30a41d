"""The parts that drills use: the accounts of calls, verdicts, and a relay that cuts a network."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.drill import network
from benchmarks.drill.accounts import Moments, Stored, figures, rate
from benchmarks.drill.calls import (
    APPEND,
    DDL,
    INSERT,
    NEVER,
    READ,
    SCAN,
    WRONG,
    Call,
    Child,
    Held,
    Logged,
    Report,
    load,
    save,
)
from benchmarks.drill.faults import FAULTS
from benchmarks.drill.network import Network, relayed, retransmitted
from benchmarks.drill.orders import node_of
from benchmarks.drill.verdicts import lines
from tests.patience import PATIENCE, eventually

NOTHING = Stored((), {})


def call(
    op: str = READ, number: int = 0, begin: float = 0.0, took: float = 0.1, error: str = "", node: int = 0
) -> Call:
    return Call("worker", op, number, begin, begin + took, error, node, 2.0)


def report(*calls: Call, **more: Any) -> Report:
    return Report("driver 1.0", list(calls), **{"logged": [], "left": [], "shutdown": 0.1, "children": [], **more})


# ---- accounts


def test_a_write_that_was_acknowledged_is_there_or_missing() -> None:
    calls = [
        call(INSERT, 1),
        call(INSERT, 2),
        call(APPEND, 3),
        call(APPEND, 4),
        call(INSERT, 5, error="OperationTimedOut"),  # no server acknowledged it
        call(INSERT, 6)._replace(end=NEVER),
        call(READ, 7),
    ]
    found = figures(report(*calls), Moments(), Stored({1, 4}, {3: 1, 2: 1}))
    assert found.missing == [2, 4]


def test_an_append_that_is_there_twice_was_done_twice() -> None:
    calls = [call(APPEND, 1), call(APPEND, 2, error="ConnectionException"), call(APPEND, 3)]
    found = figures(report(*calls), Moments(), Stored((), {1: 1, 2: 2, 3: 3}))
    assert found.twice == [2, 3] and found.missing == []


def test_errors_of_calls_in_flight_are_told_from_those_of_later_ones() -> None:
    calls = [
        call(APPEND, 1, begin=9.9, error="ConnectionException"),
        call(READ, 2, begin=10.0, error="OperationTimedOut"),
        call(INSERT, 3, begin=11.0, error="OperationTimedOut"),
        call(READ, 4, begin=11.0),
    ]
    found = figures(report(*calls), Moments(began=10.0), NOTHING)
    assert found.errors == {"ConnectionException": 1, "OperationTimedOut": 2}
    assert (found.beyond, found.idempotent, found.calls) == (2, 2, 4)


@pytest.mark.parametrize(("took", "hung"), [(1.9, 0), (2.5, 0), (2.6, 1)])
def test_a_call_hangs_that_ends_half_a_second_after_its_timeout(took: float, hung: int) -> None:
    assert figures(report(call(took=took)), Moments(), NOTHING).hung == hung


def test_a_call_that_never_ended_hangs() -> None:
    found = figures(report(call()._replace(end=NEVER), call(took=0.25)), Moments(), NOTHING)
    assert found.hung == 1 and found.longest == pytest.approx(0.25)


def test_the_longest_call_is_none_of_ddl_which_has_a_longer_timeout() -> None:
    assert figures(report(call(DDL, took=5.0)._replace(limit=10.0), call()), Moments(), NOTHING).longest < 1


def test_rates_are_of_successes_and_end_when_the_fault_does() -> None:
    calls = [call(begin=at / 10) for at in range(100)]  # ten a second
    calls += [call(begin=at / 10, error="Overloaded") for at in range(100)]
    moments = Moments(began=4.0, quiet=8.0, ended=9.0)
    found = figures(report(*calls), moments, NOTHING)
    assert (found.before, found.during, found.after) == (pytest.approx(10.0), pytest.approx(10.0), pytest.approx(10.0))
    assert rate(calls, 5.0, 5.0) == 0.0 and rate(calls, 20.0, 30.0) == 0.0


def test_recovery_counts_from_when_it_is_healed_to_the_last_call_that_began_and_failed() -> None:
    calls = [
        call(begin=9.0, took=2.0, error="OperationTimedOut"),  # of the fault, though it ended later
        call(begin=10.5, error="OperationTimedOut"),
        call(begin=11.5, error="NoHostAvailable"),
        call(begin=12.0),
    ]
    assert figures(report(*calls), Moments(healed=10.0), NOTHING).recovered == pytest.approx(1.5)
    assert figures(report(*calls[:1]), Moments(healed=10.0), NOTHING).recovered == 0.0
    assert figures(report(*calls), Moments(), NOTHING).recovered is None


def test_nodes_are_used_when_they_answered_a_call_after_they_came_back() -> None:
    calls = [
        call(begin=9.0, node=1),  # before
        call(begin=12.0, took=0.5, node=1, error="ServerError"),
        call(begin=13.0, took=0.5, node=1),
        call(begin=11.0, took=0.5, node=2),
    ]
    back = {1: 10.0, 2: 11.0}
    assert figures(report(*calls), Moments(answering=back), NOTHING).used == pytest.approx(3.5)
    assert figures(report(*calls), Moments(answering={**back, 0: 10.0}), NOTHING).used == float("inf")
    assert figures(report(*calls), Moments(), NOTHING).used is None


# ---- verdicts


def verdicts(
    name: str, *calls: Call, moments: Moments, stored: Stored = NOTHING, **more: Any
) -> dict[str, bool | None]:
    found = [figures(report(*calls, **more), moments, stored)]
    return {line.measure: line.reached for line in lines(FAULTS[name], found)}


def steady(seconds: float, step: float = 0.1) -> list[Call]:
    return [call(begin=index * step, node=1) for index in range(int(seconds / step))]


SILENCE = Moments(began=4.0, quiet=10.0, healed=10.0, ended=20.0, answering={1: 10.0})


def test_a_client_unaffected_by_a_silent_node_reaches_every_target() -> None:
    found = verdicts("cut", *steady(20), moments=SILENCE)
    assert all(reached is not False for reached in found.values())
    assert found["free of errors after"] and found["requests/s before / from 1 s on / at the end"]


@pytest.mark.parametrize(("errors", "reached"), [(30, True), (31, False)])
def test_few_errors_are_allowed_beyond_calls_in_flight(errors: int, reached: bool) -> None:
    timed_out = [call(begin=5.0, error="OperationTimedOut")] * errors
    in_flight = [call(begin=3.9, error="OperationTimedOut")] * 100
    found = verdicts("pause", *steady(20), *timed_out, *in_flight, moments=SILENCE)
    assert found["errors of calls that began after it"] is reached


def test_a_rate_that_falls_is_missed() -> None:
    calls = [each for each in steady(20) if not 6.0 < each.begin < 7.0]
    assert verdicts("pause", *calls, moments=SILENCE)["requests/s before / from 1 s on / at the end"] is False


@pytest.mark.parametrize(("at", "clean"), [(12.0, True), (12.5, False)])
def test_errors_long_after_it_is_healed_are_missed(at: float, clean: bool) -> None:
    found = verdicts("cut", *steady(20), call(begin=at, error="OperationTimedOut"), moments=SILENCE)
    assert found["free of errors after"] is clean


def test_a_kill_may_only_fail_non_idempotent_calls_in_flight() -> None:
    found = verdicts("kill", *steady(20), call(APPEND, begin=3.9, error="ConnectionException"), moments=SILENCE)
    assert found["errors of calls that began after it"] and found["errors of idempotent requests"]
    found = verdicts("kill", *steady(20), call(READ, begin=3.9, error="ConnectionException"), moments=SILENCE)
    assert found["errors of idempotent requests"] is False


def test_lost_or_doubled_writes_hangs_and_leaks_miss_targets_of_all_faults() -> None:
    calls = [call(INSERT, 1), call(APPEND, 2), call(took=9.0)]
    for name in (name for name, fault in FAULTS.items() if fault.module != "scans"):
        found = verdicts(name, *calls, moments=SILENCE, stored=Stored((), {2: 2}), left=["thread x"])
        for measure in (
            "acknowledged writes that are missing",
            "non-idempotent writes done twice",
            "calls that hang",
            "threads and connections left",
        ):
            assert found[measure] is False


def test_children_execute_without_an_error() -> None:
    good = verdicts("fork", *steady(5), moments=Moments(), children=[Child(30, [], 0.1)])
    bad = verdicts("fork", *steady(5), moments=Moments(), children=[Child(30, [], 0.1), Child(0, ["hangs"], 20.0)])
    assert good["executed by children"] and good["errors of children"]
    assert bad["executed by children"] and bad["errors of children"] is False
    assert verdicts("fork", *steady(5), moments=Moments())["executed by children"] is False


def test_the_peer_stands_beside_ours_and_is_not_judged() -> None:
    ours = figures(report(*steady(20)), SILENCE, NOTHING)
    theirs = figures(report(*steady(20), call(begin=15.0, error="OperationTimedOut")), SILENCE, NOTHING)
    theirs.driver = "peer 2.0"
    table = {line.measure: line for line in lines(FAULTS["cut"], [ours, theirs])}
    assert table["free of errors after"].compared == "peer 2.0 5.0 s" and table["free of errors after"].reached
    assert table["errors by class"].compared == "peer 2.0 OperationTimedOut 1"


# ---- reports of clients


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    said = report(call(READ, 1), call(APPEND, 2, error="X"), logged=["a"], left=["b"], children=[Child(1, ["Y"], 0.5)])
    save(str(tmp_path / "report"), said)
    assert load(tmp_path / "report") == said


def test_lines_are_kept_from_warning_on() -> None:
    logged = Logged()
    try:
        logger = logging.getLogger("cassandra.drilled")
        logger.warning("host %s is down", "one")
        logger.error("no")
        logger.debug("hidden")
    finally:
        logging.getLogger().removeHandler(logged)
    assert Counter(logged.lines) == {"WARNING cassandra.drilled: host %s is down": 1, "ERROR cassandra.drilled: no": 1}


def test_threads_and_connections_that_stay_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.drill.calls.PATIENCE", 0.0)
    held, end = Held(), threading.Event()
    assert held.left() == []
    thread = threading.Thread(target=end.wait, name="stays", daemon=True)
    thread.start()
    with socket.socket():
        found = held.left()
        assert found[0] == "thread stays" and found[1].startswith("connection socket:") and len(found) == 2
        assert len(held.left(but=[thread])) == 1
    end.set()
    thread.join(PATIENCE)
    assert held.left() == []


@pytest.mark.parametrize(
    ("address", "node"), [("127.0.5.1", 0), ("127.0.5.3", 2), (relayed("127.0.5.2"), 1), ("127.0.5.13", 2)]
)
def test_nodes_are_known_by_their_addresses(address: str, node: int) -> None:
    class Is:
        def __init__(self, **attributes: Any) -> None:
            self.__dict__.update(attributes)

    assert node_of(Is(response_future=Is(coordinator_host=Is(address=address)))) == node
    assert node_of(Is(response_future=Is(coordinator_host=None))) == node_of([]) == -1


# ---- the network


@pytest.mark.parametrize(("healed", "again"), [(0.1, 0.2), (0.3, 0.6), (1.0, 1.4), (8.0, 12.6), (12.6, 12.6)])
def test_old_connections_come_back_with_the_next_retransmission(healed: float, again: float) -> None:
    assert retransmitted(100.0, 100.0 + healed) == pytest.approx(100.0 + again)


@pytest.fixture
def echoing() -> Iterator[tuple[str, int]]:
    """A server at an address of its own that echoes the bytes it receives."""

    def serve(client: socket.socket) -> None:
        with client:
            while data := client.recv(4096):
                client.sendall(data)

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=serve, args=(client,)))
            threads[-1].start()

    threads = [threading.Thread(target=accept)]
    with socket.create_server(("127.0.77.1", 0)) as listener:
        threads[0].start()
        yield listener.getsockname()[:2]
        listener.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(PATIENCE)


def dial(net: Network) -> socket.socket:
    return socket.create_connection(net.relays[0].address, PATIENCE)


def echo(connection: socket.socket, data: bytes) -> bytes:
    connection.sendall(data)
    return connection.recv(4096)


def test_a_relay_passes_on_and_closes_as_others_do(echoing: tuple[str, int]) -> None:
    with Network([echoing]) as net, dial(net) as client:
        assert net.translated == {"127.0.77.1": "127.0.77.101"}
        assert echo(client, b"hello") == b"hello"
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""


def test_nothing_comes_through_a_cut_and_nothing_is_closed(
    echoing: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "FIRST_RETRY", 0.4)
    with Network([echoing]) as net, dial(net) as client:
        assert echo(client, b"before") == b"before"
        net.relays[0].cut()
        cut = time.monotonic()
        client.sendall(b"lost")
        client.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.recv(1)
        with socket.socket() as another:
            another.settimeout(0.3)
            with pytest.raises(TimeoutError):
                another.connect(net.relays[0].address)
        net.relays[0].heal()
        with dial(net) as fresh:
            assert echo(fresh, b"new") == b"new"
        client.settimeout(PATIENCE)
        assert client.recv(4) == b"lost" and time.monotonic() - cut >= 0.4


def test_connections_to_a_node_that_is_gone_are_closed() -> None:
    with socket.create_server(("127.0.77.2", 0)) as listener:
        gone = listener.getsockname()[:2]
    with Network([gone]) as net, dial(net) as client:
        assert eventually(lambda: client.recv(1) == b"")


@pytest.mark.parametrize(("errors", "missed"), [([], []), ([WRONG], [0]), (["ScanError"], [1])])
def test_a_scan_that_failed_or_has_another_sum_misses_a_target(errors: list[str], missed: list[int]) -> None:
    measures = "scans whose sum is another one", "scans that failed"
    calls = [call(SCAN, error=error)._replace(limit=120.0) for error in ["", *errors]]
    found = verdicts("scan-kill", *calls, moments=SILENCE)
    assert [measure for measure, reached in found.items() if reached is False] == [measures[one] for one in missed]
    assert verdicts("scan-pause", moments=SILENCE)["scans"] is False
