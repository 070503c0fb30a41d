"""A real Prometheus scrapes a client of the simulated cluster; promtool checks the metrics and the dashboard's queries.

``.ci/tools prometheus`` installs both.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.metrics import prometheus_text
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Fail

from .conftest import Connect, eventually

DASHBOARD = Path(__file__).parents[2] / "docs" / "_static" / "grafana.json"
PREFIX = "cassandra_driver_"
OF_GRAFANA = {"__rate_interval": "1m", "percentile": "99"}  # values of variables; the others are patterns
OF_PROMETHEUS = {"job", "instance"}  # labels that it adds
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return found


def queries() -> list[str]:
    """The queries of the dashboard."""
    return [target["expr"] for panel in dashboard()["panels"] for target in panel.get("targets", ())]


def filled(query: str) -> str:
    return VARIABLE.sub(lambda found: OF_GRAFANA.get(found[1] or found[2], ".*"), query)


@pytest.fixture
def counted(simulated: SimulatedCluster, connect: Connect) -> Session:
    """A session with metrics that has made requests, one of them with an error that was retried."""
    session = connect(simulated, metrics_enabled=True)
    session.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}")
    session.execute("CREATE TABLE ks.p (id int PRIMARY KEY)")
    insert = session.prepare("INSERT INTO ks.p (id) VALUES (?)")
    with simulated.inject(Fail(errors.Unavailable()), opcode="EXECUTE", times=1):
        execute_concurrent_with_args(session, insert, [(number,) for number in range(100)])
    return session


def test_the_dashboard_has_every_metric_and_no_others(counted: Session) -> None:
    metrics = counted.cluster.metrics
    assert metrics is not None
    text = prometheus_text(metrics.snapshot())
    exposed = set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))
    used = {name for query in queries() for name in re.findall(rf"{PREFIX}\w+", query)}
    assert {re.sub("_seconds_(bucket|count|sum)$", "_seconds", name) for name in used} == exposed
    assert used <= exposed | {f"{PREFIX}request_duration_seconds_{suffix}" for suffix in ("bucket", "count")}
    labels = set(re.findall(r'(\w+)="', text)) | OF_PROMETHEUS
    for query in queries():
        by = re.findall(r"by \(([^)]*)\)", query)
        matched = re.findall(r"(\w+)(?:=~|!=)", query)
        assert {name.strip() for names in by for name in names.split(",")} | set(matched) <= labels


def test_the_dashboard_is_consistent() -> None:
    """Its variables exist, the ids of panels and queries are unique, and no panel covers another."""
    found = dashboard()
    variables = {one["name"]: one for one in found["templating"]["list"]}
    used = {a or b for a, b in VARIABLE.findall(DASHBOARD.read_text())}
    assert used - {"__all"} == {*variables, "__rate_interval"}
    assert variables["datasource"]["type"] == "datasource"
    places: set[tuple[int, int]] = set()
    for panel in found["panels"]:
        place = panel["gridPos"]
        own = {
            (column, row)
            for column in range(place["x"], place["x"] + place["w"])
            for row in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24 and not own & places, panel["title"]
        places |= own
        names = [target["refId"] for target in panel.get("targets", ())]
        assert len(names) == len(set(names)), panel["title"]
    numbers = [panel["id"] for panel in found["panels"]]
    assert len(numbers) == len(set(numbers))


@contextmanager
def served(session: Session) -> Iterator[int]:
    """Serve the metrics of *session*; yield the port."""
    metrics = session.cluster.metrics
    assert metrics is not None

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = prometheus_text(metrics.snapshot()).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is missing: .ci/tools prometheus installs it")
    return path


@pytest.mark.long
def test_promtool_finds_nothing_wrong(counted: Session) -> None:
    metrics = counted.cluster.metrics
    assert metrics is not None
    text = prometheus_text(metrics.snapshot())
    done = subprocess.run(
        [tool("promtool"), "check", "metrics"], input=text, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.long
def test_prometheus_scrapes_it(counted: Session, tmp_path: Path) -> None:
    program = tool("prometheus")
    with served(counted) as port:
        config = tmp_path / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 1s}\n"
            f"scrape_configs: [{{job_name: app, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]\n"
        )
        subprocess.run([tool("promtool"), "check", "config", config], check=True, capture_output=True, timeout=60)
        with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as unused:
            own = unused.server_address[1]
        command = [
            program,
            f"--config.file={config}",
            f"--storage.tsdb.path={tmp_path / 'data'}",
            f"--web.listen-address=127.0.0.1:{own}",
        ]
        with (tmp_path / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as prometheus:
            try:
                found = answers(own, counted)
            finally:
                prometheus.terminate()
                prometheus.wait(30)
    assert all(found.values()), {query: result for query, result in found.items() if not result}


def answers(port: int, session: Session) -> dict[str, Any]:
    """The results of the dashboard's queries, while *session* executes requests."""

    def ask(query: str) -> Any:
        url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        try:
            with urllib.request.urlopen(url, timeout=10) as response:
                return json.load(response)["data"]["result"]
        except OSError:
            return None

    def has_scraped() -> bool:
        session.execute("SELECT id FROM ks.p")
        return bool(ask(f"sum(rate({PREFIX}request_duration_seconds_count[1m])) > 0"))

    eventually(has_scraped)
    time.sleep(1.5)  # another scrape
    (requests,) = ask(f'sum({PREFIX}request_duration_seconds_count{{kind="prepared"}})')
    assert float(requests["value"][1]) == 100
    (retries,) = ask(f'sum({PREFIX}retries_total{{error="unavailable"}})')
    assert float(retries["value"][1]) == 1
    return {query: ask(filled(query)) for query in queries()}  # also without timeouts, retries, scans: 0 then
