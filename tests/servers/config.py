"""What a node reads and how Java is called: pure text, no processes."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.servers.certificates import Certificates

CURRENT = "5.0.6"
PREVIOUS = "4.1.10"
TOKENS_PER_NODE = 4


@dataclass(frozen=True)
class Options:
    """How a cluster is set up. *datacenters*: one name per node, ``datacenter1`` for all by default."""

    nodes: int = 1
    version: str = CURRENT
    auth: bool = False
    tls: bool = False
    client_auth: bool = False  # with tls: the server asks for a client certificate
    datacenters: Sequence[str] = ()
    port: int = 9042
    storage_port: int = 7000
    heap: str = "512M"
    as_installed: bool = False  # with the compiler, the collector, caches and memtables of an installation: measured
    timeout: str = "10s"  # of reads, writes and everything else a coordinator waits for
    durable: bool = False  # a killed node comes back with its schema; schema changes take longer

    def datacenter(self, index: int) -> str:
        return self.datacenters[index] if self.datacenters else "datacenter1"


def tokens(index: int, nodes: int) -> list[int]:
    """Evenly spread and interleaved, so that the ring is the same in every run."""
    slots = TOKENS_PER_NODE * nodes
    return [-(2**63) + (2**64 // slots) * (slot * nodes + index) + 1 for slot in range(TOKENS_PER_NODE)]


def write(home: Path, options: Options, index: int, address: str, seed: str, tls: Certificates | None) -> None:
    """Write the configuration of node *index* into *home*."""
    conf = home / "conf"
    conf.mkdir(parents=True, exist_ok=True)
    (home / "tmp").mkdir(exist_ok=True)
    (conf / "cassandra.yaml").write_text(_yaml(home, options, index, address, seed, tls))
    place = f"dc={options.datacenter(index)}\nrack=rack1\n"
    (conf / "cassandra-rackdc.properties").write_text(place)
    (conf / "logback.xml").write_text(_LOGBACK)


@functools.cache
def find_java() -> str:
    """A Java 17: that of JAVA_HOME, of PATH or of the system's packages, whichever is one."""
    places = [f"{os.environ.get('JAVA_HOME')}/bin/java", shutil.which("java") or ""]
    places += map(str, Path("/usr/lib/jvm").glob("*17*/bin/java"))
    for java in places:
        if Path(java).is_file():
            shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
            if 'version "17' in shown.stderr:
                return java
    raise RuntimeError("Cassandra needs Java 17 and there is none ('make server-tools' helps)")


def command(home: Path, jars: Sequence[Path], options: Options) -> list[str]:
    """The Java command line of the node configured in *home*."""
    conf = home / "conf"
    agents = [f"-javaagent:{jar}" for jar in jars if jar.name.startswith("jamm-")]
    properties = {
        "cassandra.config": f"file://{conf / 'cassandra.yaml'}",
        "cassandra.storagedir": home,
        "logback.configurationFile": conf / "logback.xml",
        "java.io.tmpdir": home / "tmp",
        "cassandra-foreground": "yes",
        "cassandra.ring_delay_ms": 10000,
        "cassandra.skip_wait_for_gossip_to_settle": 0,
        "cassandra.superuser_setup_delay_ms": 0,
        "cassandra.unsafesystem": str(not options.durable).lower(),  # system tables flushed at schema changes or not
        "java.net.preferIPv4Stack": "true",
        "jdk.attach.allowAttachSelf": "true",
        "io.netty.tryReflectionSetAccessible": "true",
    }
    return [
        find_java(),
        f"-Xms{options.heap}",
        f"-Xmx{options.heap}",
        "-Xss512k",
        f"-XX:MaxDirectMemorySize={options.heap if options.as_installed else '256M'}",
        # A node of a test does not live long enough for what the optimizing compiler does to it while it starts.
        *(["-XX:+UseG1GC"] if options.as_installed else ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]),
        "-XX:+PerfDisableSharedMem",
        *agents,
        *(flag for package in _EXPORTS for flag in ("--add-exports", f"{package}=ALL-UNNAMED")),
        *(flag for package in _OPENS for flag in ("--add-opens", f"{package}=ALL-UNNAMED")),
        *(f"-D{name}={value}" for name, value in properties.items()),
        "-cp",
        ":".join([str(conf), *map(str, jars)]),
        "org.apache.cassandra.service.CassandraDaemon",
    ]


def _yaml(home: Path, options: Options, index: int, address: str, seed: str, tls: Certificates | None) -> str:
    text = _YAML.format(
        home=home,
        address=address,
        seed=seed,
        port=options.port,
        storage_port=options.storage_port,
        timeout=options.timeout,
        num_tokens=TOKENS_PER_NODE,
        tokens=",".join(map(str, tokens(index, options.nodes))),
        authenticator="PasswordAuthenticator" if options.auth else "AllowAllAuthenticator",
        authorizer="CassandraAuthorizer" if options.auth else "AllowAllAuthorizer",
    )
    if not options.as_installed:
        text += _SMALL
    if options.version != PREVIOUS:
        text += "dynamic_data_masking_enabled: true\n"
    if tls is not None:
        text += _TLS.format(server=tls.server, ca=tls.ca, client_auth=str(options.client_auth).lower())
    return text


_YAML = """\
cluster_name: fastcql tests
num_tokens: {num_tokens}
initial_token: "{tokens}"
auto_bootstrap: false
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: GossipingPropertyFileSnitch
dynamic_snitch: false
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "{seed}:{storage_port}"

listen_address: {address}
rpc_address: {address}
storage_port: {storage_port}
native_transport_port: {port}
start_native_transport: true

authenticator: {authenticator}
authorizer: {authorizer}
role_manager: CassandraRoleManager

data_file_directories:
  - {home}/data
commitlog_directory: {home}/commitlog
cdc_raw_directory: {home}/cdc
saved_caches_directory: {home}/saved_caches
hints_directory: {home}/hints
commitlog_sync: periodic
commitlog_sync_period: 200ms
commitlog_segment_size: 32MiB
commitlog_total_space: 256MiB
disk_failure_policy: stop
commit_failure_policy: stop

auto_snapshot: false
hinted_handoff_enabled: false

read_request_timeout: {timeout}
range_request_timeout: {timeout}
write_request_timeout: {timeout}
counter_write_request_timeout: {timeout}
cas_contention_timeout: {timeout}
truncate_request_timeout: 60s
request_timeout: {timeout}

user_defined_functions_enabled: true
materialized_views_enabled: true
sasi_indexes_enabled: false
"""

_SMALL = """\
memtable_heap_space: 96MiB
memtable_offheap_space: 64MiB
key_cache_size: 8MiB
file_cache_size: 32MiB
networking_cache_size: 32MiB
"""

_TLS = """\
client_encryption_options:
  enabled: true
  optional: false
  require_client_auth: {client_auth}
  ssl_context_factory:
    class_name: org.apache.cassandra.security.PEMBasedSslContextFactory
  keystore: {server}
  truststore: {ca}
"""

_LOGBACK = """\
<configuration scan="false">
  <appender name="STDOUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{HH:mm:ss.SSS} %-5level [%thread] %logger{30} - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="STDOUT"/></root>
</configuration>
"""

# Cassandra's own jvm17-server.options.
_EXPORTS = (
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.rmi/sun.rmi.transport.tcp",
    "java.sql/java.sql",
    "jdk.unsupported/sun.misc",
)
_OPENS = (
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.lang.module",
    "java.base/java.lang.reflect",
    "java.base/java.math",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch",
    "jdk.management/com.sun.management.internal",
)
