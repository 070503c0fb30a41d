"""The jars of a Cassandra version: resolved once by Maven, remembered as a list of paths.

The jars stay in Maven's own repository; ``.servers/classpath-<version>`` in the checkout only lists them. Each is
compared with ``checksums/<version>.txt``, the SHA-256 of all that a version consists of, before a server runs it:
``python -m tests.servers checksums VERSION`` writes that file, for a version whose jars were checked by other means.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".servers"
CHECKSUMS = Path(__file__).with_name("checksums")

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath"
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>fastcql.tests</groupId>
  <artifactId>server</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.cassandra</groupId>
      <artifactId>cassandra-all</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""


def resolve(version: str) -> list[Path]:
    """The jars of ``cassandra-all`` *version*; downloads only what Maven's repository lacks."""
    HOME.mkdir(exist_ok=True)
    listing = HOME / f"classpath-{version}"
    with (HOME / "classpath.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        jars = _read(listing)
        if not jars:
            _run_maven(version, listing)
            jars = _read(listing)
    if not jars:
        raise RuntimeError(f"Maven resolved no jars for Cassandra {version}; see {listing}")
    verify(jars, CHECKSUMS / f"{version}.txt")
    return jars


def verify(jars: Sequence[Path], checksums: Path) -> None:
    """Raise RuntimeError unless *jars* are those that *checksums* lists, byte by byte."""
    if not checksums.exists():
        raise RuntimeError(f"there is no {checksums} to compare the jars with")
    expected = {name: digest for digest, name in map(str.split, checksums.read_text().splitlines())}
    wrong = [jar.name for jar in jars if expected.get(jar.name) != digest_of(jar)]
    missing = sorted(expected.keys() - {jar.name for jar in jars})
    if wrong or missing:
        raise RuntimeError(f"jars that differ from {checksums.name}: {wrong}; that are missing: {missing}")


def write_checksums(version: str) -> Path:
    """List what is there now of *version*."""
    path = CHECKSUMS / f"{version}.txt"
    jars = _read(HOME / f"classpath-{version}")
    path.write_text("".join(f"{digest_of(jar)}  {jar.name}\n" for jar in sorted(jars, key=lambda jar: jar.name)))
    return path


@cache
def digest_of(jar: Path) -> str:
    """SHA-256, once per process."""
    return hashlib.sha256(jar.read_bytes()).hexdigest()


def _read(listing: Path) -> list[Path]:
    """The listed jars, or nothing when the list or one of them is missing."""
    if not listing.exists():
        return []
    jars = [Path(entry) for entry in listing.read_text().strip().split(":") if entry]
    return jars if all(jar.exists() for jar in jars) else []


def _run_maven(version: str, listing: Path, attempts: int = 3) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise RuntimeError("Cassandra's jars need Maven; 'mvn' is missing ('make server-tools' helps)")
    pom = HOME / f"pom-{version}.xml"
    pom.write_text(_POM.format(version=version))
    command = [maven, "-B", "-C", "-q", "-f", str(pom), _PLUGIN, f"-Dmdep.outputFile={listing}"]
    for attempt in range(1, attempts + 1):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        time.sleep(2 * attempt)  # registries have bad moments
    raise RuntimeError(f"Maven could not resolve Cassandra {version}:\n{done.stdout}{done.stderr}")
