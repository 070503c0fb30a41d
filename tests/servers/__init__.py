"""Real Apache Cassandra servers on loopback, for tests, benchmarks and the demo.

Nothing in here uses the driver: a server is configured, started, probed and stopped by this package alone.

``classpath``    the jars, resolved by Maven
``config``       what a node reads: cassandra.yaml, rack, logging, and its Java command line
``certificates`` a throw-away CA for client TLS
``probe``        a few raw CQL frames: is the server there, who is in the ring
``process``      one child process that cannot outlive us
``node``         one server: start, stop, kill, pause, resume, restart
``cluster``      one or more nodes as one cluster, and the loopback addresses they live on
"""

from tests.servers.certificates import Certificates
from tests.servers.cluster import ServerCluster
from tests.servers.config import Options
from tests.servers.node import ServerError, ServerNode

__all__ = ["Certificates", "Options", "ServerCluster", "ServerError", "ServerNode"]
