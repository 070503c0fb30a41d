"""The comparison with other drivers: statistics, tables, and that the documentation shows the figures of its JSON."""

from __future__ import annotations

import re
import socket
import xml.etree.ElementTree as ElementTree
from datetime import date
from pathlib import Path

import pytest

from benchmarks.clients.harness import contact, each, percentiles
from benchmarks.compare import figures, machine, tables
from benchmarks.compare.figures import Spread, behind, comparison, figure, shown, spread
from benchmarks.compare.pictures import LATENCY, PICTURES, Picture, describe
from benchmarks.compare.workloads import DRIVERS, MEASURES, PROGRAMS, RECORDED, WORKLOADS, programs
from benchmarks.measure import FASTCQL, ROOT
from benchmarks.peers import PEERS

PAGE = ROOT / "docs" / "performance.rst"
SVG = "{http://www.w3.org/2000/svg}"
IMAGE = re.compile(r" *\.\. image:: (\S+)\n((?: +:.*\n)+)")
ABOUT = {
    "date": "2026-01-02",
    "commit": "0123abcd",
    "machine": {"cpu": "A CPU", "family": "6/1/2", "cores": 2, "memory": "8 GiB", "virtual": True, "system": "Linux 6"},
    "python": "CPython 3.11.7",
    "drivers": dict.fromkeys(DRIVERS, "1.0"),
    "absent": {},
    "server": {},
    "processes": {RECORDED: 3},
}


def one_sample(rate: float) -> dict[str, float]:
    """What a client process of a driver with this *rate* of synchronous reads reports."""
    names = ("read", "insert", "concurrent read", "concurrent insert")
    found = dict.fromkeys(names, 0.5 / rate)
    found |= {f"{name} median wall": 1 / rate for name in names}
    return found | {f"{name} {point}": 1 / rate for name in names for point in ("p50", "p95", "p99")}


@pytest.fixture
def found() -> figures.Comparison:
    """fastcql is better than scylla-driver, and cassandra-driver is better than both, within the spread."""
    rates = {FASTCQL: (9000.0, 10_000.0, 11_000.0), "scylla-driver": (900.0, 1000.0, 1100.0)}
    rates["cassandra-driver"] = (8000.0, 10_500.0, 12_000.0)
    samples = {(RECORDED, driver, "requests"): list(map(one_sample, rate)) for driver, rate in rates.items()}
    return comparison(ABOUT, samples)


def test_a_spread_is_the_median_and_the_ends() -> None:
    assert spread([3.0, 1.0, 10.0, 2.0]) == Spread(2.5, 1.0, 10.0, 4)


def test_percentiles_are_latencies_that_were_measured() -> None:
    assert percentiles([float(number) for number in range(100, -1, -1)]) == {"p50": 50.0, "p95": 95.0, "p99": 99.0}
    assert percentiles([7.0]) == {"p50": 7.0, "p95": 7.0, "p99": 7.0}


def test_latencies_are_those_of_single_operations() -> None:
    done: list[int] = []
    found = each(lambda: done.append(1), 5)
    assert len(found) == len(done) == 5 and min(found) > 0


def test_a_contact_without_a_host_is_the_responder() -> None:
    assert contact("9042") == ("127.0.0.1", 9042)
    assert contact("127.0.3.1:9043") == ("127.0.3.1", 9043)


@pytest.mark.parametrize(
    ("measure", "value", "text"),
    [
        ("rate", 1_234_567.0, "1.23 M"),
        ("rate", 12_345_678.0, "12.3 M"),
        ("rate", 999_700.0, "1.00 M"),
        ("rate", 45_678.0, "45,700"),
        ("rate", 789.4, "789"),
        ("rate", 12.0, "12"),
        ("cpu", 2.345e-6, "2.35 µs"),
        ("p99", 0.0456, "45.6 ms"),
        ("bytes", 32.4 * 2**20, "32.4 MiB"),
    ],
)
def test_figures_have_three_digits(measure: str, value: float, text: str) -> None:
    assert shown(measure, value) == text


def test_each_entry_has_a_client_and_a_call() -> None:
    for workload in WORKLOADS.values():
        assert FASTCQL in workload.entries and set(workload.measures) <= set(MEASURES)
        for driver, entry in workload.entries.items():
            assert (driver, entry.client) in PROGRAMS and entry.call
            assert (driver, entry.client) in programs(workload.server)


def test_programs_run_the_driver_that_they_are_about() -> None:
    for (driver, _), program in PROGRAMS.items():
        made = program("127.0.0.1:1")
        assert (FASTCQL if made.peer is None else made.peer.name) == driver
        assert "127.0.0.1:1" in made.arguments and "SERVER" not in "".join(made.arguments)


def test_figures_are_medians_over_processes(found: figures.Comparison) -> None:
    assert figure(found, "sync-read", FASTCQL, "rate") == Spread(10_000.0, 9000.0, 11_000.0, 3)
    assert figure(found, "sync-read", "scylla-driver", "cpu") == Spread(5e-4, 4.5455e-4, 5.5556e-4, 3)
    assert figure(found, "sync-read", "acsylla", "rate") is None
    assert figure(found, "rows", FASTCQL, "rate") is None
    assert figures.drivers(found, "sync-read") == [FASTCQL, "scylla-driver", "cassandra-driver"]


def test_better_drivers_are_named(found: figures.Comparison) -> None:
    better = list(behind(found))
    assert {one.driver for one in better} == {"cassandra-driver"}
    rate = next(one for one in better if one.measure == "rate")
    assert rate.ratio == pytest.approx(1.05) and rate.overlaps
    text = tables.files(found)["behind.txt"]
    assert (
        'Synchronous read,cassandra-driver,"per second 10,500 instead of 10,000 (1.05x, within the spread); CPU '
        in text
    )


def test_no_driver_is_better_in_anything(found: figures.Comparison) -> None:
    for workload in found["workloads"].values():
        del workload["drivers"]["cassandra-driver"]
    assert tables.files(found)["behind.txt"] == "In this run, no other driver was better in any measure.\n"


def test_tables_show_the_median_with_its_spread(found: figures.Comparison) -> None:
    lines = tables.files(found)["requests.csv"].splitlines()
    assert lines[0] == "Workload,Driver,per second,CPU,p50,p99"
    assert lines[1].startswith('Synchronous read,**fastcql**,"10,000 (9,000 to 11,000)",50.0 µs (45.5 µs to 55.6 µs),')
    assert lines[2].startswith(',scylla-driver,"1,000 (900 to 1,100)",')


def test_calls_of_drivers_with_the_same_call_are_one_line(found: figures.Comparison) -> None:
    lines = tables.files(found)["calls.csv"].splitlines()
    shared = '"fastcql, scylla-driver, cassandra-driver"'
    assert lines[1] == f'Synchronous read,{shared},"``session.execute(prepared, values).one()``"'
    assert lines[2].startswith(f"Synchronous INSERT,{shared},") and len(lines) == 5


def test_the_machine_is_described(found: figures.Comparison) -> None:
    said = tables.machine(found)
    for text in ("2 January 2026", "0123abcd", "A CPU", "8 GiB", "CPython 3.11.7", "scyllapy 1.0", "virtual machine"):
        assert text in said


def test_the_part_of_the_readme_is_replaced(found: figures.Comparison) -> None:
    text = f"before\n\n{tables.BEGIN}\n\nold\n\n{tables.END}\n\nafter\n"
    part = tables.readme(found)
    made = tables.into_readme(text, part)
    assert made == f"before\n\n{tables.BEGIN}\n\n{part}\n{tables.END}\n\nafter\n"
    assert tables.into_readme(made, part) == made


def test_simple_tables_have_a_first_cell() -> None:
    assert tables.simple([("", "a"), ("title", "1")]) == "===== =\n\\     a\n===== =\ntitle 1\n===== ="


def test_comparisons_are_written_and_read(found: figures.Comparison, tmp_path: Path) -> None:
    figures.write(found, tmp_path / "new")
    assert figures.read(tmp_path / "new") == found


def test_processors_are_described_by_the_first_one() -> None:
    text = "model name\t: A CPU\nflags\t\t: fpu hypervisor\n\nmodel name\t: Another\n"
    assert machine.cpu_info(text) == {"model name": "A CPU", "flags": "fpu hypervisor"}


# ---- the documentation


@pytest.fixture(scope="module")
def published() -> figures.Comparison:
    return figures.read()


def test_tables_of_the_documentation_have_the_figures_of_the_json(published: figures.Comparison) -> None:
    for name, text in tables.files(published).items():
        assert (figures.FOLDER / name).read_text() == text, f"{name}: python -m benchmarks compare --render"


def test_the_readme_has_the_figures_of_the_json(published: figures.Comparison) -> None:
    text = tables.README.read_text()
    assert tables.into_readme(text, tables.readme(published)) == text, "python -m benchmarks compare --render"
    assert max(map(len, text.splitlines())) <= 120


def test_the_json_names_machine_versions_and_date(published: figures.Comparison) -> None:
    assert date.fromisoformat(published["date"]) and re.fullmatch("[0-9a-f]{8}", published["commit"])
    assert published["machine"]["cpu"] and published["machine"]["cores"] and published["python"]
    assert published["drivers"].keys() == {FASTCQL, *PEERS}
    text = (figures.FOLDER / figures.FILE).read_text()
    assert str(ROOT) not in text and "/home" not in text
    if "-" in socket.gethostname():  # a word such as "localhost" says nothing
        assert socket.gethostname() not in text


def test_all_workloads_are_published(published: figures.Comparison) -> None:
    for key, workload in WORKLOADS.items():
        for driver, entry in workload.entries.items():
            if figure(published, key, driver, workload.measures[0]) is None:
                reasons = {driver, f"{driver}, {entry.client}, {workload.server}"} & published["absent"].keys()
                assert driver != FASTCQL and reasons, f"{key}: {driver}"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_pictures_have_the_figures_of_the_json(picture: Picture, theme: str, published: figures.Comparison) -> None:
    root = ElementTree.parse(figures.FOLDER / f"{picture.name}-{theme}.svg").getroot()
    assert root.get("role") == "img" and root.get("aria-labelledby") == "title description"
    assert root.findtext(f"{SVG}title") == picture.title
    assert root.findtext(f"{SVG}desc") == describe(published, picture), "python -m benchmarks compare --render"
    texts = [text.text for text in root.iter(f"{SVG}text")]
    for panel in picture.panels:
        assert panel.title in texts
        for driver in figures.drivers(published, panel.workload):
            assert driver in texts
            if panel.measure != LATENCY:
                one = figure(published, panel.workload, driver, panel.measure)
                assert one is not None and shown(panel.measure, one.median) in texts


@pytest.mark.parametrize("path", [PAGE, ROOT / "docs" / "index.rst"], ids=lambda path: path.stem)
def test_pages_show_pictures_for_light_and_dark_with_a_text(path: Path) -> None:
    images = dict(IMAGE.findall(path.read_text()))
    assert images
    for image, options in images.items():
        assert (path.parent / image).exists(), image
        kind = "light" if image.endswith("-light.svg") else "dark"
        assert f":class: only-{kind}" in options and re.search(r":alt: .{20}", options)
    lights = {image.removesuffix("-light.svg") for image in images if image.endswith("-light.svg")}
    assert lights == {image.removesuffix("-dark.svg") for image in images if image.endswith("-dark.svg")}


def test_the_page_shows_all_pictures_and_tables() -> None:
    text = PAGE.read_text()
    for path in figures.FOLDER.iterdir():
        assert path.is_dir() or f"_static/performance/{path.name}" in text, path.name
    shapes = [{path.name for path in folder.glob("*.svg")} for folder in (figures.FOLDER, figures.FOLDER / "narrow")]
    assert shapes[0] == shapes[1]
