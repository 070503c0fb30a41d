"""What is done to the nodes, and to the clients."""

from __future__ import annotations

import time

from benchmarks.drill.scene import Fault, Scene, at_once

OTHER = 10  # what is added to the last number of an address: still the same node for ``orders.node_of``
FORKS = 3
FLOODED = 1.5  # seconds before and after the kill, so that there is much in flight


def kill(scene: Scene, seconds: float) -> None:
    scene.command(f"flood {2 * FLOODED}")
    time.sleep(FLOODED)
    scene.nodes[1].kill()
    scene.begin()
    scene.hold(seconds)
    scene.start(1)


def pause(scene: Scene, seconds: float) -> None:
    scene.nodes[1].pause()
    scene.begin()
    scene.hold(seconds)
    scene.nodes[1].resume()
    scene.back(1)


def cut(scene: Scene, seconds: float) -> None:
    assert scene.network is not None
    relay = scene.network.relays[1]
    relay.cut()
    scene.begin()
    scene.hold(seconds)
    relay.heal()
    scene.back(1)


def drain(scene: Scene, seconds: float) -> None:
    scene.begin()
    scene.nodes[2].stop()
    scene.hold(seconds)
    scene.start(2)


def restart_all(scene: Scene, seconds: float) -> None:
    scene.begin()
    at_once(lambda node: scene.nodes[node].stop(), range(3))
    scene.hold(seconds)
    scene.start(*range(3))


def address(scene: Scene, seconds: float) -> None:
    node = scene.nodes[2]
    scene.begin()
    node.stop()
    scene.hold(seconds)
    front, _, last = node.address.rpartition(".")
    node.address = f"{front}.{int(last) + OTHER}"
    scene.start(2)


def ddl(scene: Scene, seconds: float) -> None:
    scene.begin()
    scene.command(f"ddl {seconds}")
    scene.hold(seconds)


def fork(scene: Scene, seconds: float) -> None:
    scene.begin()
    for _ in range(FORKS):
        scene.command("fork")
        time.sleep(seconds / FORKS)
    scene.hold(0)


def shutdown(scene: Scene, seconds: float) -> None:
    scene.begin()


FAULTS = {
    fault.name: fault
    for fault in (
        Fault("kill", "a node is killed (SIGKILL) and started again", kill),
        Fault("pause", "a node is stopped (SIGSTOP) and resumed", pause),
        Fault("cut", "a node's network loses everything in silence, and is healed", cut, after=18.0, through=True),
        Fault("drain", "a node is shut down (SIGTERM) and started again", drain),
        Fault("ddl", "tables come, are altered, and go", ddl, after=4.0),
        Fault("fork", "the process forks, the children execute", fork, after=4.0),
        Fault("shutdown", "clusters are shut down with requests in flight", shutdown, module="cycles"),
        Fault("scan-kill", "a node is killed while tables are scanned, and started again", kill, module="scans"),
        Fault("scan-pause", "a node is stopped while tables are scanned, and resumed", pause, module="scans"),
        Fault("scan-drain", "a node is shut down while tables are scanned, and started again", drain, module="scans"),
        # one replica is enough, so that the first node that answers can serve
        Fault("restart", "all nodes are restarted", restart_all, after=30.0, consistency="ONE"),
        Fault("address", "a node returns with another address", address, after=20.0),  # the last: it stays there
    )
}
