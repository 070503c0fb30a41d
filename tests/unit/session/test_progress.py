"""Bars of progress=True: a line of a terminal, an output of a notebook, nothing in a log."""

from __future__ import annotations

import io
import sys
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._session.progress import Bar


class Stream(io.StringIO):
    """A stderr, of a terminal or not."""

    encoding = "utf-8"  # type: ignore[assignment]

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


class BrokenStream(Stream):
    def write(self, text: str) -> int:
        raise OSError("the terminal is gone")


class Shell:
    """An interactive shell of IPython, and its displays: a handle updates the output that it belongs to."""

    def __init__(self, has_kernel: bool = True) -> None:
        self.kernel = object() if has_kernel else None
        self.outputs: list[dict[str, str]] = []
        self.fails = False

    def display(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> Any:
        if self.fails:
            raise RuntimeError("the front end is gone")
        assert raw and display_id
        at = len(self.outputs)
        self.outputs.append(bundle)
        return SimpleNamespace(update=lambda bundle, raw: self.outputs.__setitem__(at, bundle))


def use_shell(monkeypatch: pytest.MonkeyPatch, shell: Shell | None) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))  # type: ignore[arg-type]
    display = None if shell is None else shell.display
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))  # type: ignore[arg-type]


def show(what: str = "shop.orders", total: float | None = 1.0) -> None:
    bar = Bar(what, total)
    bar.start()
    for part in (0.25, 0.5, 1.0):
        bar.update(part if total is None else part * total, int(part * 4000), 1234.0)
    bar.stop()


def test_a_terminal_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    stream = Stream(True)
    monkeypatch.setattr(sys, "stderr", stream)
    show()
    written = stream.getvalue()
    assert written.count("\n") == 1 and written.endswith("\n")
    states = written.rstrip("\n").split("\r")
    assert [state.split(",")[0].split()[-2:] for state in states[1:]] == [
        ["0", "%"],
        ["25", "%"],
        ["50", "%"],
        ["100", "%"],
        ["100", "%"],
    ]
    assert "4,000 rows, 1,234 rows/s" in states[-1] and " left" in states[2]
    assert all(len(state) >= len(before.rstrip()) for before, state in pairwise(states[1:]))


def test_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    stream = Stream(True)
    monkeypatch.setattr(sys, "stderr", stream)
    show("x" * 200)
    assert max(map(len, stream.getvalue().rstrip("\n").split("\r"))) == 29


def test_a_terminal_without_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(True)
    stream.encoding = "ascii"  # type: ignore[misc]
    monkeypatch.setattr(sys, "stderr", stream)
    show("\u30c6")
    assert stream.getvalue().isascii() and "####" in stream.getvalue()


def test_unknown_totals_and_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    stream = Stream(True)
    monkeypatch.setattr(sys, "stderr", stream)
    show(total=None)
    assert "%" not in stream.getvalue() and "4,000 rows" in stream.getvalue()
    bar = Bar("none", 0)
    bar.stop()
    assert "100 %" in stream.getvalue()


@pytest.mark.parametrize("stream", [Stream(False), None])
def test_a_log_gets_nothing(monkeypatch: pytest.MonkeyPatch, stream: Stream | None) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    show()
    assert stream is None or stream.getvalue() == ""


def test_a_broken_terminal_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", BrokenStream(True))
    show()
    closed = Stream(True)
    bar = Bar("t", 1.0)
    monkeypatch.setattr(sys, "stderr", closed)
    closed.close()
    bar.update(1.0, 1)
    bar.stop()


def test_a_notebook_has_one_output(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Shell()
    use_shell(monkeypatch, shell)
    stream = Stream(True)
    monkeypatch.setattr(sys, "stderr", stream)
    show("shop.<b>")
    (output,) = shell.outputs
    assert '<progress value="1.0000"' in output["text/html"] and "shop.&lt;b&gt;" in output["text/html"]
    assert output["text/plain"].startswith("shop.<b>: 100 %, 4,000 rows, 1,234 rows/s, 0:00:")
    assert stream.getvalue() == ""


def test_a_notebook_that_is_gone_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Shell()
    shell.fails = True
    use_shell(monkeypatch, shell)
    show()
    assert shell.outputs == []


@pytest.mark.parametrize("shell", [None, Shell(has_kernel=False)])
def test_ipython_at_a_terminal_is_a_terminal(monkeypatch: pytest.MonkeyPatch, shell: Shell | None) -> None:
    use_shell(monkeypatch, shell)
    stream = Stream(True)
    monkeypatch.setattr(sys, "stderr", stream)
    show()
    assert "100 %" in stream.getvalue()
