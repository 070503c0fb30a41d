"""Scripts of others, run unchanged with a driver."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.bench_public import PUBLISHED, run_script
from benchmarks.clients.public import make
from benchmarks.peers import ROOT

SCRIPTS = {
    "runs": "import cassandra\nprint(cassandra.__file__)",
    "fails": "import helper\nraise SystemExit(helper.STATUS)",
    "hangs": "import time\nprint('begun', flush=True)\ntime.sleep(60)",
    "tests": "def test_it():\n    import cassandra.cluster\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {**SCRIPTS, "helper": "STATUS = 3"}.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "status", "limit"), [("runs", 0, 60), ("fails", 3, 60), ("hangs", None, 2), ("tests", 0, 60)]
)
def test_scripts(folder: Path, name: str, status: int | None, limit: float) -> None:
    run = run_script(folder / f"{name}.py", sys.executable, ROOT, limit)
    assert run.status == status, run.output
    printed = {"runs": str(ROOT / "cassandra"), "hangs": "begun", "tests": "1 passed"}
    assert printed.get(name, "") in run.output


def test_each_published_figure_is_of_a_measured_operation() -> None:
    with make([]) as client:
        assert set(PUBLISHED) <= set(client.works)
