"""Stats made by hand. Runs with any driver; the output of scylla-driver 3.29.12 is in metrics.txt."""

# mypy: ignore-errors
from cases import each, show

import cassandra.metrics as metrics
from cassandra.metrics import IntStat, Metrics, PmfStat, Stat, StatsCollection, collection, getStats

count = IntStat("count")
show("new", lambda: count)
show("str", lambda: str(count))
count += 1
show("value", lambda: count.value)
show("name", lambda: count.name)
show("int", lambda: int(count))
show("equal", lambda: (count == 1, count == 2, count != 1, count == count, count == IntStat("x"), count == "1"))
show("compare", lambda: (count < 9, count <= 1, count > 0, count >= 2))
show("compare stats", lambda: (count < IntStat("y"), count > IntStat("y")))
show("hash", lambda: isinstance(hash(count), int))
count += 5
show("after", lambda: count.value)
show("set", lambda: setattr(count, "value", 7))
show("count of text", lambda: count < "x")
show("after set", lambda: count.value)

stat = Stat("stat", lambda: 5)
show("stat", lambda: stat)
show("stat str", lambda: str(stat))
show("stat value", lambda: stat.value)
show("stat text", lambda: repr(Stat("text", lambda: "abc")))
show("stat of nothing", lambda: repr(Stat("none", lambda: None)))
show("stat fails", lambda: Stat("fails", lambda: 1 / 0).value)

pmf = PmfStat("pmf")
show("pmf empty repr", lambda: repr(pmf))
for value in (3, 1, 2, 5, 4):
    pmf.addValue(value)
show("pmf name", lambda: pmf.name)
show("pmf repr", lambda: repr(pmf))
show("pmf str", lambda: str(pmf))
for key in (
    "count",
    "min",
    "max",
    "mean",
    "stddev",
    "median",
    "75percentile",
    "95percentile",
    "98percentile",
    "99percentile",
    "999percentile",
    "missing",
):
    show(f"pmf {key}", lambda: pmf[key])
show("pmf keys", lambda: list(pmf.keys()))
show("pmf items", lambda: list(pmf.items()))
show("pmf values", lambda: list(pmf.values()))
show("pmf dict", lambda: dict(pmf))
show("pmf iter", lambda: list(pmf))
show("pmf in", lambda: ("count" in pmf, "x" in pmf))
show("pmf get", lambda: (pmf.get("count"), pmf.get("x", 9)))
show("pmf bool", lambda: bool(pmf))
show("pmf equal", lambda: (pmf == pmf, pmf == dict(pmf)))
for size in (1, 2, 3, 4, 10, 100, 101):
    many = PmfStat("many")
    for value in range(size):
        many.addValue(value)
    show(f"pmf of {size}", lambda: {name: round(figure, 9) for name, figure in sorted(dict(many.items()).items())})

made = collection("made", IntStat("a"), PmfStat("b"), Stat("c", lambda: 3))
show("collection", lambda: type(made).__name__)
show("collection repr", lambda: repr(made))
show("attribute", lambda: (made.a, made.c))
show("attribute types", lambda: (type(made.a).__name__, type(made.b).__name__, type(made.c).__name__))
show("pmf of collection", lambda: made.b["count"])
show("unknown", lambda: made.unknown)
made.a += 2
made.a += made.a.value
show("counted up", lambda: (made.a, sorted(getStats()["made"]), getStats()["made"]["a"]))
show("assign another", lambda: setattr(made, "another", 5))
show("assign", lambda: setattr(made, "a", 5))
show("after assign", lambda: made.a)
show("names", lambda: sorted(name for name in vars(made) if not name.startswith("_")))
show("not registered", lambda: "made" in getStats())
show("made by hand", lambda: repr(StatsCollection("hand", IntStat("x"), IntStat("y"))))
show("by hand", lambda: StatsCollection("hand", IntStat("x")).x)
each("doc of", lambda name: bool(getattr(metrics, name).__doc__) or True, ["IntStat", "Stat"])


class Proxy:
    class metadata:
        @staticmethod
        def all_hosts():
            return [1, 2]

    sessions = ()


cluster = Proxy()
MORE = ("request_timer", "client_timeouts", "speculative_executions")  # the last two are ours alone
figures = Metrics(cluster)
other = Metrics(cluster)
show("known hosts", lambda: (figures.known_hosts, figures.known_hosts.value))
show("stats name", lambda: figures.stats_name.startswith("cassandra-") and figures.stats_name != other.stats_name)
for name in (
    "connection_errors",
    "write_timeouts",
    "read_timeouts",
    "unavailables",
    "other_errors",
    "retries",
    "ignores",
):
    show(name, lambda: (getattr(figures, name), int(getattr(figures, name))))
    show(f"type of {name}", lambda: type(getattr(figures, name)).__name__)
show("type of known_hosts", lambda: type(figures.known_hosts).__name__)
show("connected_to", lambda: (figures.connected_to, figures.open_connections))
show("timer", lambda: figures.request_timer["count"])
for name in (
    "on_connection_error",
    "on_write_timeout",
    "on_read_timeout",
    "on_unavailable",
    "on_other_error",
    "on_ignore",
    "on_retry",
):
    show(name, lambda: getattr(figures, name)())
show("counted", lambda: {name: figure for name, figure in sorted(figures.get_stats().items()) if name not in MORE})
show("timer of stats", lambda: sorted(figures.get_stats()["request_timer"]))
show("timer types", lambda: type(figures.get_stats()["request_timer"]).__name__)
show("rename", figures.set_stats_name, "mine")
show("renamed", lambda: (figures.stats_name, "mine" in getStats()))
show("again", figures.set_stats_name, "mine")
show("taken", other.set_stats_name, "mine", text=True)
show("still counts", lambda: (figures.on_retry(), figures.get_stats()["retries"], getStats()["mine"]["retries"]))
show("stats attribute", lambda: type(figures.stats).__name__)
show("through stats", lambda: (figures.stats.retries, figures.stats.retries == 2))
