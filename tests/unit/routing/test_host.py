"""Host: identity, state, and arguments that it refuses."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from typing import Any
from uuid import UUID

import pytest

from cassandra._base.locks import enter_driver_thread
from cassandra._net.endpoint import DefaultEndPoint
from cassandra._routing.host import Host, _handlers
from cassandra.policies import ConvictionPolicy, SimpleConvictionPolicy
from tests.patience import PATIENCE


class Judge(ConvictionPolicy):
    failures = 0

    def add_failure(self, connection_exc: BaseException) -> bool:
        self.failures += 1
        return self.failures > 1

    def reset(self) -> None:
        self.failures = 0


def test_host_attributes() -> None:
    host = Host(DefaultEndPoint("10.0.0.1", 9043), SimpleConvictionPolicy, "dc1", "r1", UUID(int=7))
    assert (host.address, host.endpoint.port) == ("10.0.0.1", 9043)
    assert (host.datacenter, host.rack, host.host_id) == ("dc1", "r1", UUID(int=7))
    assert host.is_up is None
    assert host.dse_version is host.dse_workload is host.dse_workloads is None
    assert host.sharding_info is host.listen_address is host.broadcast_rpc_port is None
    assert str(host) == "10.0.0.1:9043"
    assert repr(host) == "<Host: 10.0.0.1:9043 dc1>"
    assert type(host).__module__ == "cassandra.pool"
    host.set_location_info("dc2", "r2")
    assert (host.datacenter, host.rack) == ("dc2", "r2")


def test_an_address_is_an_endpoint() -> None:
    assert Host("10.0.0.1", SimpleConvictionPolicy).endpoint == DefaultEndPoint("10.0.0.1", 9042)


def test_hosts_compare_by_endpoint() -> None:
    one, same, two = (Host(f"10.0.0.{n}", SimpleConvictionPolicy, host_id=UUID(int=n + 5)) for n in (1, 1, 2))
    assert one == same
    assert one != two
    assert hash(one) == hash(same)
    assert one < two <= two
    assert two > one >= same
    assert one != "10.0.0.1:9042"
    assert sorted([two, one]) == [one, two]
    with pytest.raises(TypeError):
        one < "x"  # noqa: B015


def test_the_hash_follows_the_endpoint() -> None:
    host = Host("10.0.0.1", SimpleConvictionPolicy)
    host.endpoint = DefaultEndPoint("10.0.0.2")
    assert {Host("10.0.0.2", SimpleConvictionPolicy): 1}[host] == 1


def test_state_and_conviction() -> None:
    host = Host("10.0.0.1", Judge)
    assert isinstance(host.conviction_policy, Judge)
    assert host.conviction_policy.host is host
    assert not host.signal_connection_failure(OSError())
    assert host.signal_connection_failure(OSError())
    host.set_down()
    assert host.is_up is False
    host.set_up()
    assert host.is_up is True
    assert not host.signal_connection_failure(OSError())


def test_the_reconnection_handler_is_swapped_atomically() -> None:
    host = Host("10.0.0.1", SimpleConvictionPolicy)
    assert not host.is_currently_reconnecting()
    got: list[Any] = []
    barrier = threading.Barrier(8)

    def swap(number: int) -> None:
        barrier.wait()
        got.append(host.get_and_set_reconnection_handler(number))

    threads = [threading.Thread(target=swap, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert host.is_currently_reconnecting()
    last = host.get_and_set_reconnection_handler(None)
    assert sorted([*got, last], key=lambda handler: -1 if handler is None else handler) == [None, *range(8)]
    assert not host.is_currently_reconnecting()


def test_a_program_may_hold_the_lock_while_it_swaps_the_handler() -> None:
    host = Host("10.0.0.1", SimpleConvictionPolicy)
    assert host.lock is host.lock
    with host.lock, host.lock:
        assert host.get_and_set_reconnection_handler("mine") is None
    assert pickle.loads(pickle.dumps(host)).lock is not host.lock


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_reconnection_handler_is_swapped_in_a_child_forked_while_locked() -> None:
    host = Host("10.0.0.1", SimpleConvictionPolicy)
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        enter_driver_thread()
        with _handlers:
            held.set()
            release.wait(PATIENCE)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(PATIENCE)
    child = os.fork()
    if not child:
        signal.alarm(20)
        os._exit(0 if host.get_and_set_reconnection_handler("mine") is None else 1)
    release.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_host_requires_endpoint_and_conviction_policy() -> None:
    with pytest.raises(ValueError, match="endpoint"):
        Host(None, SimpleConvictionPolicy)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="conviction_policy_factory"):
        Host("10.0.0.1", None)  # type: ignore[arg-type]
