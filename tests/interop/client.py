"""A client of the simulation, for whichever driver the interpreter has: lines of JSON are commands and answers.

It runs in a process of its own, because two drivers have the same package name. Nothing of the test suite is imported.
"""

from __future__ import annotations

import json
import sys
import warnings

warnings.simplefilter("ignore")  # of a driver about its own options; errors are answers here

from cassandra import ConsistencyLevel  # noqa: E402
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile  # noqa: E402
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy, TokenAwarePolicy  # noqa: E402
from cassandra.query import BatchStatement, SimpleStatement, dict_factory  # noqa: E402

DEADLINE = 30


class Client:
    """One cluster object at a time."""

    cluster = None

    def connect(self, contact_points, port, version=None, keyspace=None, compression=True, route=None):
        profile = ExecutionProfile(
            TokenAwarePolicy(RoundRobinPolicy()), row_factory=dict_factory, request_timeout=DEADLINE
        )
        options = {} if version is None else {"protocol_version": version}
        if route is not None:
            from cassandra.client_routes import ClientRouteProxy, ClientRoutesConfig

            options["client_routes_config"] = ClientRoutesConfig([ClientRouteProxy(route)])
        self.cluster = Cluster(
            contact_points, port=port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}, compression=compression,
            reconnection_policy=ConstantReconnectionPolicy(0.2, None), topology_event_refresh_window=0,
            status_event_refresh_window=0, **options,
        )  # fmt: skip
        self.session = self.cluster.connect(keyspace, wait_for_all_pools=True)  # faults send requests to the others
        self.prepared = {}
        return self.cluster.protocol_version

    def close(self):
        if self.cluster is not None:  # else the process was restarted
            self.cluster.shutdown()

    def execute(self, query, values=None, fetch_size=None, consistency="ONE", trace=False, idempotent=False):
        statement = SimpleStatement(query, consistency_level=ConsistencyLevel.name_to_value[consistency])
        statement.is_idempotent = idempotent
        if fetch_size is not None:
            statement.fetch_size = fetch_size
        result = self.session.execute(statement, values, trace=trace)
        rows = [{name: shown(value) for name, value in row.items()} for row in result]
        if trace:
            return [event.description for event in result.get_query_trace(DEADLINE).events]
        return rows

    def prepare(self, query, idempotent=False):
        statement = self.prepared[query] = self.session.prepare(query)
        statement.is_idempotent = idempotent
        return {"lwt": bool(statement.is_lwt()), "routing": statement.routing_key_indexes}

    def run(self, query, values):
        """A prepared statement with each row of *values*; several are in flight, as in an application."""
        statement = self.prepared[query]
        rows, running = [], []
        for row in values:
            running.append(self.session.execute_async(statement, row))
            if len(running) == 8:
                rows += running.pop(0).result()
        for future in running:
            rows += future.result()
        return [{name: shown(value) for name, value in row.items()} for row in rows]

    def batch(self, query, values):
        batch = BatchStatement()
        for row in values:
            batch.add(self.prepared[query], row)
        self.session.execute(batch)

    def hosts(self):
        hosts = self.cluster.metadata.all_hosts()
        return sorted([host.address, host.datacenter, host.rack, str(host.host_id), bool(host.is_up)] for host in hosts)

    def schema(self, keyspace):
        found = self.cluster.metadata.keyspaces.get(keyspace)
        return None if found is None else found.export_as_string()


def shown(value):
    """A value in a form that JSON has, the same for equal values of both drivers."""
    return value if isinstance(value, (int, str, bool, type(None))) else repr(value)


def main():
    client = Client()
    for line in sys.stdin:
        name, options = json.loads(line)
        try:
            answer = {"result": getattr(client, name)(**options)}
        except Exception as error:
            answer = {"error": type(error).__name__, "message": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
