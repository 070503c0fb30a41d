"""Own classes and wrappers in the way of requests."""

# mypy: ignore-errors
import threading
import time

from cases import HOST, KEYSPACE, PORT, connect, show

from cassandra import policies, protocol
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, ResponseFuture, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.connection import DefaultEndPointFactory
from cassandra.policies import AddressTranslator, RoundRobinPolicy
from cassandra.protocol import ProtocolHandler, QueryMessage, ResultMessage, _MessageType
from cassandra.query import SimpleStatement, tuple_factory


def group(name):
    def run(function):
        print("----", name)
        function()

    return run


with connect() as session:
    cluster = session.cluster
    session.execute("CREATE TABLE t (p int PRIMARY KEY, c text)")
    for p in range(7):
        session.execute("INSERT INTO t (p, c) VALUES (%s, %s)", (p, str(p)))
    time.sleep(1)

    @group("sessions by hand")
    def _():
        made = Session(cluster, cluster.metadata.all_hosts(), KEYSPACE)
        print(made.keyspace, len(list(made.execute("SELECT * FROM t"))), made.is_shutdown)
        made.shutdown()
        print(made.is_shutdown)

        class Own(Session):
            calls = 0

            def execute_async(self, *args, **kwargs):
                self.calls += 1
                return super().execute_async(*args, **kwargs)

        made = Own(cluster, cluster.metadata.all_hosts())
        made.set_keyspace(KEYSPACE)
        made.calls = 0
        print(len(list(made.execute("SELECT * FROM t"))), made.calls, len(made.get_pools()))
        prepared = made.prepare("SELECT c FROM t WHERE p = ?")
        print(
            [r.result_or_exc.one().c for r in execute_concurrent_with_args(made, prepared, [(i,) for i in range(7)])],
            made.calls,
        )
        made.shutdown()

        class OwnCluster(Cluster):
            def connect(self, keyspace=None, wait_for_all_pools=False):
                found = super().connect(keyspace, wait_for_all_pools)
                found.mine = True
                return found

        with OwnCluster([HOST], port=int(PORT)) as c:
            print(c.connect(KEYSPACE).mine)

    @group("handlers")
    def _():
        class Counting(ProtocolHandler):
            seen = []

            @classmethod
            def decode_message(cls, *args, **kwargs):
                found = super().decode_message(*args, **kwargs)
                cls.seen.append(isinstance(found, ResultMessage))
                return found

            @classmethod
            def encode_message(cls, *args, **kwargs):
                cls.seen.append(type(args[0]).__name__)
                return super().encode_message(*args, **kwargs)

        s = cluster.connect(KEYSPACE)
        s.client_protocol_handler = Counting
        print(len(list(s.execute("SELECT * FROM t"))), Counting.seen)
        del Counting.seen[:]
        prepared = s.prepare("SELECT c FROM t WHERE p = ?")
        del Counting.seen[:]
        print(s.execute(prepared, (1,)).one().c, Counting.seen)
        show("bad", lambda: s.execute("SELECT x FROM t"))

        class OwnResult(ResultMessage):
            my = True

            def recv_results_rows(self, *args, **kwargs):
                OwnResult.called = True
                super().recv_results_rows(*args, **kwargs)

        class Own(ProtocolHandler):
            my_opcodes = ProtocolHandler.message_types_by_opcode.copy()
            my_opcodes[ResultMessage.opcode] = OwnResult
            message_types_by_opcode = my_opcodes

        s.client_protocol_handler = Own
        print(len(list(s.execute("SELECT * FROM t"))), OwnResult.called)

        class Typed(ResultMessage):
            my_type_codes = dict(ResultMessage.type_codes)
            type_codes = my_type_codes

        class Own2(ProtocolHandler):
            my_opcodes = ProtocolHandler.message_types_by_opcode.copy()
            my_opcodes[Typed.opcode] = Typed
            message_types_by_opcode = my_opcodes

        s.client_protocol_handler = Own2
        print(sorted(r.p for r in s.execute("SELECT * FROM t")))
        s.shutdown()

    @group("messages")
    def _():
        class OwnQuery(QueryMessage):
            def send_body(self, f, protocol_version, protocol_features=None):
                OwnQuery.sent = True
                try:
                    super().send_body(f, protocol_version, protocol_features)
                except TypeError:
                    super().send_body(f, protocol_version)

        s = cluster.connect(KEYSPACE)

        def swap(future):
            if isinstance(future.message, QueryMessage):
                m = future.message
                future.message = OwnQuery(m.query, m.consistency_level)

        s.add_request_init_listener(swap)
        print(len(list(s.execute("SELECT * FROM t"))), OwnQuery.sent)
        s.shutdown()

    @group("own message")
    def _():
        class Raw(_MessageType):
            opcode = 0x07
            name = "QUERY"
            consistency_level = 1
            query = "raw"

            def send_body(self, f, *args):
                protocol.write_longstring(f, f"SELECT p FROM {KEYSPACE}.t WHERE p = 3")
                protocol.write_short(f, 1)
                if args[0] >= 5:
                    protocol.write_uint(f, 0)
                else:
                    f.write(b"\0")

        future = ResponseFuture(session, Raw(), SimpleStatement("x"), 10, row_factory=tuple_factory)
        future.send_request()
        print(list(future.result()))

    @group("policies")
    def _():
        class Asking(RoundRobinPolicy):
            def __init__(self):
                super().__init__()
                self.asked = []
                self.events = []

            def make_query_plan(self, working_keyspace=None, query=None):
                self.asked.append((working_keyspace, threading.current_thread().name == "MainThread"))
                return super().make_query_plan(working_keyspace, query)

            def populate(self, cluster, hosts):
                self.events.append("populate")
                super().populate(cluster, hosts)

            def on_add(self, host):
                self.events.append("add")
                super().on_add(host)

            def on_up(self, host):
                self.events.append("up")
                super().on_up(host)

            def check_supported(self):
                self.events.append("check_supported")
                super().check_supported()

        policy = Asking()
        with Cluster([HOST], port=int(PORT), execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)}) as c:
            s = c.connect(KEYSPACE)
            print(policy.events[-1])
            del policy.asked[:]
            s.prepare("SELECT c FROM t WHERE p = ?")
            print([keyspace for keyspace, _ in policy.asked])
            del policy.asked[:]
            s.execute("SELECT * FROM t")
            s.execute(SimpleStatement("SELECT * FROM t"))
            print(policy.asked)

    @group("translation")
    def _():
        class Translator(AddressTranslator):
            seen = []

            def translate(self, addr):
                self.seen.append(str(addr))
                return addr

        class Factory(DefaultEndPointFactory):
            seen = []

            def create(self, row):
                self.seen.append(row)
                return super().create(row)

        factory = Factory(port=int(PORT))
        with Cluster([HOST], port=int(PORT), endpoint_factory=factory) as c:
            c.connect()
            print(len(factory.seen) > 0)

        class Moving(AddressTranslator):
            def translate(self, addr):
                return "localhost" if str(addr) == "1" else addr

        with Cluster([HOST], port=int(PORT), address_translator=Moving()) as c:
            print([h.endpoint.address == HOST for h in (c.connect(), c.metadata.all_hosts())[1]])

    @group("listeners")
    def _():
        class Listener(policies.HostStateListener):
            seen = []

            def on_add(self, host):
                self.seen.append(("add", host.datacenter is not None))

            def on_up(self, host):
                self.seen.append(("up", host.datacenter is not None))

            def on_down(self, host):
                self.seen.append("down")

            def on_remove(self, host):
                self.seen.append("remove")

        listener = Listener()
        c = Cluster([HOST], port=int(PORT))
        c.register_listener(listener)
        c.connect()
        time.sleep(0.5)
        print(listener.seen)
        c.shutdown()
