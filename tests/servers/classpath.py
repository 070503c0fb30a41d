"""The jars of a Cassandra version: resolved once by Maven, remembered as a list of paths.

The jars stay in Maven's own repository; ``.servers/classpath-<version>`` in the checkout only lists them.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".servers"

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
    return jars


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
    command = [maven, "-B", "-q", "-f", str(pom), _PLUGIN, f"-Dmdep.outputFile={listing}"]
    for attempt in range(1, attempts + 1):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        time.sleep(2 * attempt)  # registries have bad moments
    raise RuntimeError(f"Maven could not resolve Cassandra {version}:\n{done.stdout}{done.stderr}")
