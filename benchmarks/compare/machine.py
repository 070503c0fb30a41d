"""The machine and the versions that figures are about: classes of hardware and software, no names of hosts."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.compare.workloads import DRIVERS
from benchmarks.cores import CORES
from benchmarks.measure import FASTCQL
from benchmarks.peers import PEERS, ROOT
from cassandra import __version__
from tests.servers.config import CURRENT, find_java


def about(processes: Mapping[str, int], absent: Mapping[str, str]) -> dict[str, Any]:
    """Date, commit, machine, versions; *processes* of each driver by server; *absent* are drivers and the reason."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "commit": _commit(),
        "machine": machine(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "drivers": versions(),
        "absent": dict(absent),
        "server": {"cassandra": CURRENT, "java": _java()} if "cassandra" in processes else {},
        "processes": dict(processes),
    }


def machine() -> dict[str, Any]:
    """Processor, number of cores, memory, hypervisor and kernel."""
    info = cpu_info(Path("/proc/cpuinfo").read_text()) if Path("/proc/cpuinfo").exists() else {}
    return {
        "cpu": info.get("model name", platform.processor() or platform.machine()),
        "family": "/".join(info.get(name, "?") for name in ("cpu family", "model", "stepping")),
        "cores": len(CORES) or os.cpu_count(),
        "memory": f"{round(os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30)} GiB",
        "virtual": "hypervisor" in info.get("flags", "").split(),
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
    }


def cpu_info(text: str) -> dict[str, str]:
    """The fields of the first processor in /proc/cpuinfo."""
    lines = text.split("\n\n")[0].splitlines()
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def versions() -> dict[str, str]:
    return {driver: __version__ if driver == FASTCQL else PEERS[driver].version for driver in DRIVERS}


def _commit() -> str:
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def _java() -> str:
    shown = subprocess.run([find_java(), "-version"], capture_output=True, text=True, check=False).stderr
    return shown.split('"')[1] if '"' in shown else ""
