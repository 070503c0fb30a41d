"""Sessions, futures and results on a server: methods, arguments, errors and their attributes."""

# mypy: ignore-errors
# ruff: noqa
import uuid
import warnings

warnings.simplefilter("ignore")
from cases import case, connect, each, show

from cassandra import ConsistencyLevel as CL
from cassandra import InvalidRequest
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    NoHostAvailable,
    ResponseFuture,
    ResultSet,
)
from cassandra.policies import FallthroughRetryPolicy, RoundRobinPolicy, WhiteListRoundRobinPolicy
from cassandra.query import (
    BatchStatement,
    BatchType,
    SimpleStatement,
    UNSET_VALUE,
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    tuple_factory,
)

with connect() as session:
    cluster = session.cluster
    session.execute("CREATE TABLE t (p int, c int, v text, PRIMARY KEY (p, c))")
    for number in range(5):
        session.execute("INSERT INTO t (p, c, v) VALUES (1, %s, %s)", (number, str(number)))
    select = session.prepare("SELECT c, v FROM t WHERE p = ? AND c = ?")
    insert = session.prepare("INSERT INTO t (p, c, v) VALUES (?, ?, ?)")
    named = session.prepare("SELECT c FROM t WHERE p = :key")
    everything = "SELECT p, c, v FROM t"

    # ---- prepared statements

    for name in (
        "keyspace",
        "query_string",
        "routing_key_indexes",
        "protocol_version",
        "consistency_level",
        "serial_consistency_level",
        "retry_policy",
        "is_idempotent",
        "custom_payload",
    ):
        show(f"prepared {name}", lambda: getattr(select, name))
    show(
        "prepared columns",
        lambda: [(c.keyspace_name, c.table_name, c.name, c.type.typename) for c in select.column_metadata],
    )
    show("prepared result columns", lambda: [(c[0], c[1], c[2], c[3].typename) for c in select.result_metadata])
    show("prepared insert result", lambda: insert.result_metadata)
    show("prepared elsewhere", lambda: session.prepare("SELECT key FROM system.local").keyspace)
    show("prepared with keyspace", lambda: session.prepare("SELECT key FROM local", keyspace="system").keyspace)
    show("bound keyspace", lambda: select.bind((1, 2)).keyspace)
    show(
        "bound elsewhere keyspace",
        lambda: session.prepare("SELECT key FROM system.local WHERE key = ?").bind(("local",)).keyspace,
    )
    show("bound routing key", lambda: select.bind((1, 2)).routing_key)
    show("bound table", lambda: select.bind((1, 2)).table)
    show("prepare nonsense", lambda: session.prepare("SELEC"))
    show("prepare empty", lambda: session.prepare(""))
    show("prepare no table", lambda: session.prepare("SELECT * FROM nothing"))

    # ---- executing

    for name, call in {
        "text": lambda: session.execute(everything),
        "simple": lambda: session.execute(SimpleStatement(everything)),
        "prepared": lambda: session.execute(select, (1, 2)),
        "prepared list": lambda: session.execute(select, [1, 2]),
        "prepared dict": lambda: session.execute(select, {"p": 1, "c": 2}),
        "prepared named": lambda: session.execute(named, {"key": 1}),
        "prepared nothing": lambda: session.execute(select),
        "prepared short": lambda: session.execute(select, (1,)),
        "prepared long": lambda: session.execute(select, (1, 2, 3)),
        "prepared wrong": lambda: session.execute(select, ("a", 2)),
        "prepared none": lambda: session.execute(select, (1, None)),
        "prepared unset": lambda: session.execute(select, (1, UNSET_VALUE)),
        "bound": lambda: session.execute(select.bind((1, 2))),
        "bound with parameters": lambda: session.execute(select.bind((1, 2)), (3,)),
        "positional": lambda: session.execute("SELECT c FROM t WHERE p = %s AND c = %s", (1, 2)),
        "positional list": lambda: session.execute("SELECT c FROM t WHERE p = %s AND c = %s", [1, 2]),
        "by name": lambda: session.execute("SELECT c FROM t WHERE p = %(p)s", {"p": 1}),
        "too few": lambda: session.execute("SELECT c FROM t WHERE p = %s AND c = %s", (1,)),
        "too many": lambda: session.execute("SELECT c FROM t WHERE p = %s", (1, 2)),
        "empty tuple": lambda: session.execute("SELECT c FROM t WHERE p = 1", ()),
        "empty dict": lambda: session.execute("SELECT c FROM t WHERE p = 1", {}),
        "percent": lambda: session.execute("SELECT c FROM t WHERE v = 'a%' ALLOW FILTERING"),
        "question mark": lambda: session.execute("SELECT c FROM t WHERE p = ?", (1,)),
        "empty": lambda: session.execute(""),
        "nonsense": lambda: session.execute("SELEC"),
        "no table": lambda: session.execute("SELECT * FROM nothing"),
        "no column": lambda: session.execute("SELECT nothing FROM t"),
        "no keyspace": lambda: session.execute("SELECT * FROM nothing.t"),
        "again": lambda: session.execute("CREATE TABLE t (p int PRIMARY KEY)"),
        "use": lambda: session.execute("USE nothing"),
        "insert": lambda: session.execute("INSERT INTO t (p, c) VALUES (2, 2)"),
        "insert prepared": lambda: session.execute(insert, (2, 3, "x")),
        "profile": lambda: session.execute(everything, execution_profile="nothing"),
        "host": lambda: session.execute(everything, host=cluster.metadata.all_hosts()[0]),
        "host unknown": lambda: session.execute(everything, host="10.9.9.9"),
        "trace": lambda: session.execute(everything, trace=True),
        "payload": lambda: session.execute(everything, custom_payload={"a": b"b"}),
        "timeout none": lambda: session.execute(everything, timeout=None),
        "unknown argument": lambda: session.execute(everything, nothing=1),
        "consistency": lambda: session.execute(SimpleStatement(everything, consistency_level=CL.LOCAL_QUORUM)),
        "consistency three": lambda: session.execute(
            SimpleStatement(everything, consistency_level=CL.THREE, retry_policy=FallthroughRetryPolicy())
        ),
        "consistency serial": lambda: session.execute(SimpleStatement(everything, consistency_level=CL.SERIAL)),
        "consistency wrong": lambda: session.execute(
            SimpleStatement("INSERT INTO t (p, c) VALUES (1, 1)", consistency_level=CL.SERIAL)
        ),
        "batch": lambda: session.execute(BatchStatement().add(insert, (9, 1, "a")) or None),
        "empty batch": lambda: session.execute(BatchStatement()),
        "fetch size 2": lambda: session.execute(SimpleStatement(everything, fetch_size=2)),
        "fetch size 0": lambda: session.execute(SimpleStatement(everything, fetch_size=0)),
        "fetch size None": lambda: session.execute(SimpleStatement(everything, fetch_size=None)),
        "keyspace": lambda: session.execute(SimpleStatement("SELECT key FROM local", keyspace="system")),
    }.items():
        show(f"execute {name}", lambda: sorted(map(repr, call()))[:3])
        show(f"execute_async {name}", lambda: len(list(call().current_rows or ())) if name != "fetch size 2" else None)

    # ---- results

    def rows(text=everything + " WHERE p = 1", **options):
        return session.execute(SimpleStatement(text, **options))

    for name, make in {
        "plain": lambda: rows(),
        "pages": lambda: rows(fetch_size=2),
        "none": lambda: rows(everything + " WHERE p = 99"),
        "void": lambda: rows("INSERT INTO t (p, c) VALUES (2, 2)"),
        "lwt": lambda: rows("INSERT INTO t (p, c) VALUES (1, 1) IF NOT EXISTS"),
        "lwt update": lambda: rows("UPDATE t SET v = 'x' WHERE p = 1 AND c = 1 IF v = 'nothing'"),
        "ddl": lambda: session.execute("CREATE TABLE IF NOT EXISTS t (p int PRIMARY KEY)"),
        "use": lambda: session.execute(f"USE {session.keyspace}"),
    }.items():
        for what, use in {
            "list": list,
            "all": lambda r: r.all(),
            "one": lambda r: r.one(),
            "bool": bool,
            "0": lambda r: r[0],
            "-1": lambda r: r[-1],
            "slice": lambda r: r[0:2],
            "len": len,
            "iter twice": lambda r: (len(list(r)), len(list(r))),
            "columns": lambda r: r.column_names,
            "types": lambda r: [t.typename for t in r.column_types] if r.column_types else r.column_types,
            "more": lambda r: r.has_more_pages,
            "rows": lambda r: r.current_rows,
            "state": lambda r: type(r.paging_state).__name__,
            "applied": lambda r: r.was_applied,
            "equal": lambda r: r == [1],
            "fetch": lambda r: (r.fetch_next_page(), r.current_rows)[1],
            "fetch all": lambda r: [r.fetch_next_page() or r.current_rows for _ in range(3)],
            "trace": lambda r: r.get_query_trace(),
            "traces": lambda r: r.get_all_query_traces(),
            "warnings": lambda r: r.response_future.warnings,
            "payload": lambda r: r.response_future.custom_payload,
            "agreed": lambda r: r.response_future.is_schema_agreed,
            "one then all": lambda r: (r.one(), len(r.all())),
            "index then iterate": lambda r: (r[0], [x for x in r]),
            "index then next": lambda r: (r[0], next(iter(r))),
            "iterate then index": lambda r: (next(iter(r)), r[0]),
            "supports": lambda r: r.supports_resume if hasattr(r, "supports_resume") else "-",
        }.items():
            if name == "pages" and what in ("bool", "iter twice", "one then all"):
                pass
            show(f"result {name} {what}", lambda: use(make()))

    for factory in (tuple_factory, named_tuple_factory, dict_factory, ordered_dict_factory):
        session.row_factory = factory
        show(f"{factory.__name__}", lambda: rows().one())
        show(f"{factory.__name__} lwt", lambda: rows("INSERT INTO t (p, c) VALUES (1, 1) IF NOT EXISTS").one())
        show(
            f"{factory.__name__} applied", lambda: rows("INSERT INTO t (p, c) VALUES (1, 1) IF NOT EXISTS").was_applied
        )
        show(f"{factory.__name__} not lwt", lambda: rows().was_applied)
        show(
            f"{factory.__name__} batch",
            lambda: (
                rows(
                    "BEGIN BATCH INSERT INTO t (p, c) VALUES (1, 1) IF NOT EXISTS INSERT INTO t (p, c) VALUES (1, 77) IF NOT EXISTS APPLY BATCH"
                ).was_applied
            ),
        )
        show(
            f"{factory.__name__} functions",
            lambda: session.execute("SELECT count(*), max(c), writetime(v) AS w FROM t WHERE p = 99").column_names,
        )
        show(
            f"{factory.__name__} renamed",
            lambda: sorted(
                map(str, session.execute("SELECT count(*), min(c), cast(max(c) AS text) FROM t WHERE p = 1").one())
            ),
        )
    session.row_factory = named_tuple_factory

    # ---- futures

    future = session.execute_async(everything + " WHERE p = 1")
    for name, use in {
        "result": lambda f: type(f.result()).__name__,
        "result twice": lambda f: f.result() is f.result(),
        "query": lambda f: type(f.query).__name__,
        "message": lambda f: type(f.message).__name__,
        "has_more_pages": lambda f: (f.result(), f.has_more_pages)[1],
        "coordinator": lambda f: (f.result(), type(f.coordinator_host).__name__)[1],
        "attempted": lambda f: (f.result(), len(f.attempted_hosts))[1],
        "warnings": lambda f: (f.result(), f.warnings)[1],
        "payload": lambda f: (f.result(), f.custom_payload)[1],
        "agreed": lambda f: f.is_schema_agreed,
        "trace": lambda f: (f.result(), f.get_query_trace())[1],
        "traces": lambda f: (f.result(), f.get_all_query_traces())[1],
        "timeout": lambda f: f.timeout,
        "timer": lambda f: f.add_callback(lambda rows: None) is f,
        "callbacks": lambda f: f.add_callbacks(lambda rows: None, lambda error: None),
        "errback": lambda f: f.add_errback(lambda error: None) is f,
        "clear": lambda f: f.clear_callbacks(),
        "next page": lambda f: (f.result(), f.start_fetching_next_page()),
        "session": lambda f: f.session is session,
        "row_factory": lambda f: f.row_factory.__name__,
        "default timeout": lambda f: f.default_timeout if hasattr(f, "default_timeout") else "-",
        "prepared": lambda f: f.prepared_statement,
    }.items():
        show(f"future {name}", lambda: use(session.execute_async(everything + " WHERE p = 1")))
        show(
            f"future of prepared {name}",
            lambda: use(session.execute_async(select, (1, 2))) if name != "prepared" else None,
        )
        show(f"future of error {name}", lambda: use(session.execute_async("SELEC")))
    seen = []
    session.execute_async(everything).add_callback(
        lambda rows, *args, **kwargs: seen.append((args, kwargs)), 1, x=2
    ).result()
    show("callback arguments", lambda: seen)

    # ---- errors

    def error_of(call):
        try:
            call()
        except Exception as error:
            return error

    for name, call, names in (
        ("no host", lambda: session.execute(everything, host="10.9.9.9"), ("errors",)),
        (
            "unavailable",
            lambda: session.execute(
                SimpleStatement(everything, consistency_level=CL.THREE, retry_policy=FallthroughRetryPolicy())
            ),
            ("consistency", "required_replicas", "alive_replicas"),
        ),
        (
            "unavailable retried",
            lambda: session.execute(SimpleStatement(everything, consistency_level=CL.THREE)),
            ("errors", "consistency", "required_replicas", "alive_replicas"),
        ),
        ("again", lambda: session.execute("CREATE TABLE t (p int PRIMARY KEY)"), ("keyspace", "table")),
        ("timed out", lambda: session.execute(everything, timeout=1e-6), ("last_host",)),
        ("syntax", lambda: session.execute("SELEC"), ()),
        ("invalid", lambda: session.execute("SELECT nothing FROM t"), ()),
        ("unauthorized", lambda: session.execute("CREATE ROLE x"), ()),
    ):
        error = error_of(call)
        print("error", name, type(error).__name__, [base.__name__ for base in type(error).__mro__[1:-2]])
        for attribute in names:
            value = getattr(error, attribute, "-")
            if attribute == "errors" and isinstance(value, dict):
                value = [(type(host).__name__, type(reason).__name__) for host, reason in value.items()]
            elif attribute == "last_host":
                value = type(value).__name__
            show(f"error {name} {attribute}", lambda: value)

    # ---- the session

    for name in (
        "default_timeout",
        "default_consistency_level",
        "default_serial_consistency_level",
        "default_fetch_size",
        "use_client_timestamp",
        "max_trace_wait",
        "keyspace",
        "is_shutdown",
    ):
        show(f"session {name}", lambda: getattr(session, name))
    for name, values in {
        "default_timeout": (1, None, 10.0),
        "default_consistency_level": (CL.ONE, CL.LOCAL_ONE),
        "default_serial_consistency_level": (CL.SERIAL, CL.ONE, None),
        "default_fetch_size": (10, None, 5000),
        "row_factory": (tuple_factory, named_tuple_factory),
        "use_client_timestamp": (False, True),
        "keyspace": (session.keyspace,),
    }.items():
        for value in values:

            def change():
                setattr(session, name, value)
                return getattr(session, name) if not callable(value) else getattr(session, name).__name__, len(
                    list(session.execute("SELECT * FROM t WHERE p = 1"))
                )

            show(f"set {name} {value if not callable(value) else value.__name__}", change)
    show(
        "set_keyspace",
        lambda: (session.set_keyspace("system"), session.keyspace, len(list(session.execute("SELECT key FROM local")))),
    )
    show("set_keyspace nothing", lambda: session.set_keyspace("nothing"))
    show("keyspace after", lambda: session.keyspace)
    show("set_keyspace odd", lambda: session.set_keyspace("No Such"))
    show("get_execution_profile", lambda: type(session.get_execution_profile(EXEC_PROFILE_DEFAULT)).__name__)
    show("get_execution_profile nothing", lambda: session.get_execution_profile("nothing"))
    show(
        "clone", lambda: session.execution_profile_clone_update(EXEC_PROFILE_DEFAULT, request_timeout=3).request_timeout
    )
    show(
        "get_pool_state",
        lambda: [
            {"in_flights", "open_count", "orphan_requests", "shutdown"} <= set(state)
            for state in session.get_pool_state().values()
        ],
    )
    show("hosts", lambda: len(session.hosts))
    show("submit", lambda: session.submit(lambda: 5).result())
    calls = []
    listener = lambda future, *args, **kwargs: calls.append((type(future).__name__, args, kwargs))
    session.add_request_init_listener(listener, 1, x=2)
    session.execute("SELECT key FROM system.local")
    show("listener", lambda: calls)
    show("remove listener", lambda: session.remove_request_init_listener(listener, 1, x=2))
    show("remove listener again", lambda: session.remove_request_init_listener(listener, 1, x=2))
    stamps = []
    cluster.timestamp_generator = lambda: stamps.append(1) or 1_000_000
    session.execute("SELECT key FROM system.local")
    show("timestamp generator of the cluster, set later", lambda: len(stamps))
    other = cluster.connect()
    other.execute("SELECT key FROM system.local")
    show("timestamp generator, then another session", lambda: len(stamps))
    cluster.timestamp_generator = session.timestamp_generator = lambda: 1_000_000
    show("endpoints", lambda: len(cluster.endpoints_resolved))
    show("hosts of metadata", lambda: [type(host).__name__ for host in cluster.metadata.all_hosts()])
    show("connect to nothing", lambda: cluster.connect("nothing_there"))
    show("shutdown", lambda: (other.shutdown(), other.is_shutdown))
    show("execute after shutdown", lambda: other.execute("SELECT key FROM system.local"))
    show("execute_async after shutdown", lambda: type(other.execute_async("SELECT key FROM system.local")).__name__)
    show("prepare after shutdown", lambda: other.prepare("SELECT key FROM system.local"))
    show("shutdown again", lambda: other.shutdown())
    session.set_keyspace("compat_sessions")
show("closed cluster", lambda: cluster.connect())
