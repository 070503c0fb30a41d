"""PoolSet: which hosts have a pool, and that none has two; over pools that open when the test says so."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import AuthenticationFailed, InvalidRequest
from cassandra._net.backoff import Pace
from cassandra._session.hosts import pools as pools_module
from cassandra._session.hosts.pools import PoolSet
from cassandra._session.scheduler import Task
from cassandra.connection import ConnectionException, DefaultEndPoint
from cassandra.policies import HostDistance, SimpleConvictionPolicy
from cassandra.pool import Host

pytestmark = pytest.mark.usefixtures("as_driver_thread")


class ManualPool:
    """Stands in for HostPool."""

    made: list[ManualPool] = []

    def __init__(self, host: Host, distance: int, session: Any, **options: Any) -> None:
        self.host = host
        self.host_distance = distance
        self.options = options
        self.keyspace = options["keyspace"]
        self.is_shutdown = False
        self.on_done: Callable[[BaseException | None], None] | None = None
        ManualPool.made.append(self)

    def open(self, on_done: Callable[[BaseException | None], None]) -> None:
        self.on_done = on_done

    def finish(self, error: BaseException | None = None) -> None:
        assert self.on_done is not None
        self.is_shutdown = error is not None
        self.on_done(error)

    def set_keyspace(self, keyspace: str, on_done: Callable[[list[BaseException]], None]) -> None:
        self.keyspace_asked = keyspace
        self.on_keyspace = on_done

    def finish_keyspace(self, *errors: BaseException) -> None:
        if not errors:
            self.keyspace = self.keyspace_asked
        self.on_keyspace(list(errors))

    def close(self, drain: bool = False) -> None:
        self.is_shutdown = True


class FakeCluster:
    max_requests_per_host = max_requests_per_session = retry_budget = None
    shard_aware_options = None
    idle_heartbeat_interval = idle_heartbeat_timeout = 30.0

    def __init__(self, hosts: list[Host]) -> None:
        self.hosts = hosts
        self.distances: dict[Host, int] = {}
        self.opened: list[Host] = []
        self.failures: list[tuple[Host, BaseException, bool]] = []
        self.reactor = self.type_context = None
        self.membership = SimpleNamespace(
            new_schedule=lambda: [1.0, 2.0],
            on_suspect=lambda host: None,
            on_drain=lambda host: None,
            on_pool_opened=self.opened.append,
            pace_of=lambda host: Pace(),
        )
        self.connections = SimpleNamespace(options=lambda keyspace: SimpleNamespace(keyspace=keyspace))
        self.waiting: list[tuple[float, Task]] = []
        self.topology = SimpleNamespace(is_at_contact_point=lambda host: False)
        self.scheduler = SimpleNamespace(schedule=self._schedule)
        self.profile_manager = SimpleNamespace(distance=lambda host: self.distances.get(host, HostDistance.LOCAL))
        self.metadata = SimpleNamespace(all_hosts=lambda: list(self.hosts))

    def _schedule(self, delay: float, fn: Callable[..., object], *args: Any) -> Task:
        task = Task(fn, args)
        self.waiting.append((delay, task))
        return task

    def run(self) -> list[float]:
        """Run the waiting tasks that were not cancelled; returns their delays."""
        due, self.waiting = [one for one in self.waiting if not one[1].cancelled], []
        for _, task in due:
            task.run()
        return [delay for delay, _ in due]

    def signal_connection_failure(self, host: Host, error: BaseException, is_host_addition: bool = False) -> bool:
        self.failures.append((host, error, is_host_addition))
        return True


@pytest.fixture
def hosts() -> list[Host]:
    made = [Host(DefaultEndPoint(f"10.0.0.{n}"), SimpleConvictionPolicy) for n in range(3)]
    for host in made:
        host.set_up()
    return made


@pytest.fixture
def cluster(hosts: list[Host], monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    monkeypatch.setattr(pools_module, "HostPool", ManualPool)
    monkeypatch.setattr(ManualPool, "made", [])
    return FakeCluster(hosts)


@pytest.fixture
def pool_set(cluster: FakeCluster) -> PoolSet:
    session = SimpleNamespace(cluster=cluster, keyspace="app", _on_io_thread=lambda: True)
    return PoolSet(session)  # type: ignore[arg-type]


def test_a_pool_is_used_when_it_is_open(pool_set: PoolSet, cluster: FakeCluster, hosts: list[Host]) -> None:
    future = pool_set.add_or_renew(hosts[0], is_host_addition=False)
    assert future is not None and not future.done()
    assert dict(pool_set.pools) == {}
    ManualPool.made[0].finish()
    assert future.result(0) is True
    assert list(pool_set.pools) == [hosts[0]]
    assert cluster.opened == [hosts[0]]
    assert ManualPool.made[0].options["keyspace"] == "app"


def test_one_at_a_time(pool_set: PoolSet, hosts: list[Host]) -> None:
    first = pool_set.add_or_renew(hosts[0], False)
    second = pool_set.add_or_renew(hosts[0], True)
    assert first is second
    assert len(ManualPool.made) == 1


def test_renewed_only_when_the_new_one_is_open(pool_set: PoolSet, hosts: list[Host]) -> None:
    """Requests always find one of them."""
    pool_set.add_or_renew(hosts[0], False)
    old = ManualPool.made[0]
    old.finish()
    pool_set.add_or_renew(hosts[0], False)
    assert pool_set.pools[hosts[0]] is old and not old.is_shutdown
    ManualPool.made[1].finish()
    assert pool_set.pools[hosts[0]] is ManualPool.made[1]
    assert old.is_shutdown


def test_a_failed_renewal_keeps_the_old_one(pool_set: PoolSet, cluster: FakeCluster, hosts: list[Host]) -> None:
    pool_set.add_or_renew(hosts[0], False)
    ManualPool.made[0].finish()
    future = pool_set.add_or_renew(hosts[0], False)
    ManualPool.made[1].finish(OSError("refused"))
    assert future is not None and future.result(0) is False
    assert pool_set.pools[hosts[0]] is ManualPool.made[0]
    assert len(cluster.failures) == 1


def test_failures_are_told(pool_set: PoolSet, cluster: FakeCluster, hosts: list[Host]) -> None:
    error = OSError("refused")
    future = pool_set.add_or_renew(hosts[0], is_host_addition=True)
    ManualPool.made[0].finish(error)
    assert future is not None and future.result(0) is False
    assert cluster.failures == [(hosts[0], error, True)]
    assert pool_set.errors == {hosts[0]: error}
    pool_set.add_or_renew(hosts[0], False)
    ManualPool.made[1].finish()
    assert pool_set.errors == {}


def test_a_refused_log_in_is_a_failed_connection(pool_set: PoolSet, cluster: FakeCluster, hosts: list[Host]) -> None:
    pool_set.add_or_renew(hosts[0], False)
    ManualPool.made[0].finish(AuthenticationFailed("wrong password"))
    ((_, error, _),) = cluster.failures
    assert isinstance(error, ConnectionException) and "wrong password" in str(error)


def test_ignored_hosts_get_none(pool_set: PoolSet, cluster: FakeCluster, hosts: list[Host]) -> None:
    cluster.distances[hosts[1]] = HostDistance.IGNORED
    assert pool_set.add_or_renew(hosts[1], False) is None
    assert len(pool_set.update()) == 2
    assert {pool.host for pool in ManualPool.made} == {hosts[0], hosts[2]}


def test_update_follows_states_and_distances(pool_set: PoolSet, cluster: FakeCluster, hosts: list[Host]) -> None:
    hosts[2].set_down()
    pool_set.update()
    for pool in ManualPool.made:
        pool.finish()
    assert set(pool_set.pools) == {hosts[0], hosts[1]}

    cluster.distances[hosts[0]] = HostDistance.REMOTE
    cluster.distances[hosts[1]] = HostDistance.IGNORED
    hosts[2].set_up()
    ignored = pool_set.pools[hosts[1]]
    (opening,) = pool_set.update()
    assert pool_set.pools[hosts[0]].host_distance == HostDistance.REMOTE
    assert ignored.is_shutdown and hosts[1] not in pool_set.pools
    ManualPool.made[-1].finish()
    assert opening.result(0) is True
    assert set(pool_set.pools) == {hosts[0], hosts[2]}


def test_update_closes_pools_of_hosts_that_left(pool_set: PoolSet, cluster: FakeCluster, hosts: list[Host]) -> None:
    pool_set.update()
    for pool in ManualPool.made:
        pool.finish()
    gone = cluster.hosts.pop()
    left = pool_set.pools[gone]
    assert pool_set.update() == set()
    assert left.is_shutdown and gone not in pool_set.pools


def test_update_replaces_a_pool_that_was_shut_down(pool_set: PoolSet, hosts: list[Host]) -> None:
    pool_set.add_or_renew(hosts[0], False)
    ManualPool.made[0].finish()
    ManualPool.made[0].is_shutdown = True
    pool_set.update()
    assert [pool.host for pool in ManualPool.made].count(hosts[0]) == 2


def test_remove(pool_set: PoolSet, hosts: list[Host]) -> None:
    assert pool_set.remove(hosts[0]) is False
    pool_set.add_or_renew(hosts[0], False)
    ManualPool.made[0].finish()
    assert pool_set.remove(hosts[0]) is True
    assert ManualPool.made[0].is_shutdown
    assert pool_set.remove(hosts[0]) is False


def test_removed_while_it_opens(pool_set: PoolSet, cluster: FakeCluster, hosts: list[Host]) -> None:
    future = pool_set.add_or_renew(hosts[0], False)
    first = ManualPool.made[0]
    assert pool_set.remove(hosts[0]) is True
    assert first.is_shutdown
    second = pool_set.add_or_renew(hosts[0], False)
    first.finish(ConnectionException("closed by us"))
    assert future is not None and future.result(0) is False
    assert cluster.failures == []
    ManualPool.made[1].finish()
    assert second is not None and second.result(0) is True
    assert pool_set.pools[hosts[0]] is ManualPool.made[1]


def test_the_shared_future_of_a_pool_cannot_be_cancelled(pool_set: PoolSet, hosts: list[Host]) -> None:
    future = pool_set.add_or_renew(hosts[0], False)
    assert future is not None and not future.cancel()
    ManualPool.made[0].finish()
    assert future.result(0) is True


class TestRetry:
    """A host that stays up though its pool could not be opened: it refused us, or another session reaches it."""

    @staticmethod
    def fail(pool_set: PoolSet, host: Host) -> None:
        pool_set.add_or_renew(host, False)
        ManualPool.made[-1].finish(InvalidRequest("no such keyspace yet"))

    def test_on_schedule_until_it_works(self, pool_set: PoolSet, cluster: FakeCluster, hosts: list[Host]) -> None:
        self.fail(pool_set, hosts[0])
        for delay in (1.0, 2.0, 2.0):
            made = len(ManualPool.made)
            assert cluster.run() == [delay]
            assert len(ManualPool.made) == made + 1
            ManualPool.made[-1].finish(InvalidRequest("no such keyspace yet"))
        cluster.run()
        ManualPool.made[-1].finish()
        assert pool_set.pools[hosts[0]] is ManualPool.made[-1]
        assert cluster.run() == []
        pool_set.remove(hosts[0])
        self.fail(pool_set, hosts[0])
        assert cluster.run() == [1.0], "a fresh schedule"

    def test_no_retry_after_another_call_opened_the_pool(
        self, pool_set: PoolSet, cluster: FakeCluster, hosts: list[Host]
    ) -> None:
        self.fail(pool_set, hosts[0])
        pool_set.add_or_renew(hosts[0], False)
        ManualPool.made[-1].finish()
        assert cluster.run() == []
        assert len(ManualPool.made) == 2

    @pytest.mark.parametrize("why", ["down", "removed", "left", "closed"])
    def test_not_when_it_is_not_wanted_any_more(
        self, pool_set: PoolSet, cluster: FakeCluster, hosts: list[Host], why: str
    ) -> None:
        self.fail(pool_set, hosts[0])
        if why == "down":
            hosts[0].set_down()
        elif why == "removed":
            pool_set.remove(hosts[0])
        elif why == "left":
            cluster.hosts.remove(hosts[0])
        else:
            pool_set.close()
        cluster.run()
        assert len(ManualPool.made) == 1
        assert (pool_set._retries, pool_set._delays) == ({}, {})

    def test_a_failed_renewal_leaves_it_to_the_pool_there_is(
        self, pool_set: PoolSet, cluster: FakeCluster, hosts: list[Host]
    ) -> None:
        pool_set.add_or_renew(hosts[0], False)
        ManualPool.made[-1].finish()
        self.fail(pool_set, hosts[0])
        cluster.run()
        assert len(ManualPool.made) == 2

    def test_one_try_waits_at_a_time(self, pool_set: PoolSet, cluster: FakeCluster, hosts: list[Host]) -> None:
        self.fail(pool_set, hosts[0])
        self.fail(pool_set, hosts[0])
        assert cluster.run() == [2.0]


class TestKeyspace:
    def test_pools_that_are_open_follow(self, pool_set: PoolSet, hosts: list[Host]) -> None:
        pool_set.add_or_renew(hosts[0], False)
        ManualPool.made[0].finish()
        assert list(pool_set.use("other")) == [hosts[0]]
        pool_set.add_or_renew(hosts[1], False)
        assert ManualPool.made[1].keyspace == "other"

    def test_one_that_was_being_opened_follows_before_it_is_used(self, pool_set: PoolSet, hosts: list[Host]) -> None:
        """Else requests would run in the keyspace of before, and write there."""
        future = pool_set.add_or_renew(hosts[0], False)
        (pool,) = ManualPool.made
        pool_set.use("other")
        pool.finish()
        assert dict(pool_set.pools) == {} and future is not None and not future.done()
        pool_set.use("third")
        pool.finish_keyspace()
        assert dict(pool_set.pools) == {}
        pool.finish_keyspace()
        assert pool.keyspace == "third"
        assert pool_set.pools[hosts[0]] is pool and future.result(0) is True

    def test_and_is_not_used_when_it_cannot(self, pool_set: PoolSet, cluster: FakeCluster, hosts: list[Host]) -> None:
        future = pool_set.add_or_renew(hosts[0], False)
        (pool,) = ManualPool.made
        pool_set.use("other")
        pool.finish()
        pool.finish_keyspace(ConnectionException("no such keyspace"))
        assert dict(pool_set.pools) == {} and pool.is_shutdown
        assert future is not None and future.result(0) is False
        assert len(cluster.failures) == 1


class TestClose:
    def test_all(self, pool_set: PoolSet) -> None:
        pool_set.update()
        for pool in ManualPool.made:
            pool.finish()
        pool_set.close()
        pool_set.close()
        assert all(pool.is_shutdown for pool in ManualPool.made)
        assert dict(pool_set.pools) == {}

    def test_one_that_opens_afterwards_is_closed(
        self, pool_set: PoolSet, cluster: FakeCluster, hosts: list[Host]
    ) -> None:
        future = pool_set.add_or_renew(hosts[0], False)
        pool_set.close()
        assert ManualPool.made[0].is_shutdown
        ManualPool.made[0].finish()
        assert ManualPool.made[0].is_shutdown
        assert future is not None and future.result(0) is False
        assert dict(pool_set.pools) == {} and cluster.opened == []

    def test_none_is_opened_afterwards(self, pool_set: PoolSet, hosts: list[Host]) -> None:
        pool_set.close()
        future = pool_set.add_or_renew(hosts[0], False)
        assert future is not None and future.result(0) is False
        assert ManualPool.made == []

    def test_a_failure_afterwards_marks_no_host_down(
        self, pool_set: PoolSet, cluster: FakeCluster, hosts: list[Host]
    ) -> None:
        """The pools of a session that was shut down end with errors; the hosts are fine."""
        pool_set.add_or_renew(hosts[0], False)
        pool_set.close()
        ManualPool.made[0].finish(ConnectionException("closed by us"))
        assert cluster.failures == []
