"""Options of the program: arguments, the environment, files of cqlsh; and secrets that it never shows."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path
from typing import Any

import pytest

from cassandra._bulk import connecting
from cassandra._bulk.connecting import ConnectionSettings, CqlshFiles, columns_of
from cassandra._bulk.console import UsageError
from cassandra._bulk.main import make_parser
from cassandra._bulk.options import Dialect, Style, dialect_of, read_options, style_of
from cassandra._bulk.unloading import Checkpoint, Coverage, part_of_ring
from cassandra.bulk import main

RC = """
[authentication]
username = somebody
password = s3cret%percent
; keyspace is of no use here

[connection]
hostname = 10.1.2.3
port = 9999
timeout = 7
request_timeout = 77.5
ssl = true

[ssl]
validate = false

[protocol]
version = 4

[copy]
null = N/A
numprocesses = 4

[copy-from]
delimiter = |
header = true

[copy:ks.t]
null = -

[copy-to:ks.t]
null = nothing
"""


@pytest.fixture
def rc(tmp_path: Path) -> Path:
    path = tmp_path / "cqlshrc"
    path.write_text(RC)
    return path


@pytest.fixture(autouse=True)
def _nobodys_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def parsed(*arguments: str) -> Any:
    return make_parser().parse_args(["load", "ks.t", "file", *arguments])


def wanted(files: CqlshFiles, *arguments: str) -> ConnectionSettings:
    return connecting.settings_of(parsed(*arguments), files, {})


def test_cqlshrc(rc: Path) -> None:
    found = wanted(CqlshFiles.find(str(rc), {}))
    assert (found.hosts, found.port, found.connect_timeout, found.request_timeout) == (["10.1.2.3"], 9999, 7, 77.5)
    assert found.protocol_version == 4
    assert (found.auth_provider.username, found.auth_provider.password) == ("somebody", "s3cret%percent")
    assert found.ssl_context is not None and found.ssl_context.verify_mode == ssl.CERT_NONE
    assert "s3cret" not in repr(found) and "s3cret" not in str(found)


def test_arguments_and_the_environment_come_before_it(rc: Path) -> None:
    files = CqlshFiles.find(str(rc), {"CQLSH_HOST": "h", "CQLSH_PORT": "1", "SSL_VALIDATE": "true"})
    found = wanted(files)
    assert (found.hosts, found.port) == (["h"], 1)
    assert found.ssl_context is not None and found.ssl_context.verify_mode == ssl.CERT_REQUIRED
    found = wanted(files, "--host", "a, b", "--port", "5")
    assert (found.hosts, found.port) == (["a", "b"], 5)
    assert wanted(files).to("c:7")[:2] == (["c"], 7)
    assert wanted(files).to("c")[:2] == (["c"], 1)


def test_without_any_file() -> None:
    for files in (CqlshFiles.find(None, {}), CqlshFiles.find("none", {})):
        found = wanted(files)
        assert found[:5] == (["127.0.0.1"], 9042, None, None, None)


@pytest.mark.parametrize(
    ("hosts", "compressed"), [("127.0.0.1", False), ("localhost,::1", False), ("127.0.0.1,10.0.0.1", True), ("a", True)]
)
def test_rows_from_a_server_of_this_machine_are_not_compressed(hosts: str, compressed: bool) -> None:
    with wanted(CqlshFiles.find("none", {}), "--host", hosts).cluster() as cluster:
        assert bool(cluster.compression) == compressed


def test_the_usual_place(tmp_path: Path) -> None:
    usual = tmp_path / "home" / ".cassandra"
    usual.mkdir(parents=True)
    (usual / "cqlshrc").write_text("[connection]\nhostname = usual\n")
    (usual / "credentials").write_text("[plain_text_auth]\nusername = u\npassword = p\n")
    (usual / "credentials").chmod(0o600)
    found = wanted(CqlshFiles.find(None, {}))
    assert found.hosts == ["usual"] and (found.auth_provider.username, found.auth_provider.password) == ("u", "p")


def test_users_and_passwords(rc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = CqlshFiles.find(str(rc), {})
    assert wanted(files, "--user", "somebody").auth_provider.password == "s3cret%percent"
    (tmp_path / "pw").write_text("from a file\nand no more\n")
    found = wanted(files, "--user", "other", "--password-file", "pw").auth_provider
    assert (found.username, found.password) == ("other", "from a file")
    with pytest.raises(UsageError, match="--password-file"):  # pytest has no terminal to ask at
        wanted(files, "--user", "other")
    with pytest.raises(UsageError, match="--user"):
        wanted(CqlshFiles.find("none", {}), "--password-file", "pw")
    with pytest.raises(UsageError, match="missing"):
        wanted(files, "--user", "other", "--password-file", "missing")


def test_other_providers(tmp_path: Path) -> None:
    text = "[auth_provider]\nmodule = {}\nclassname = {}\nusername = u\npassword = s3cret\n"
    rc = tmp_path / "rc"
    rc.write_text(text.format("cassandra.auth", "PlainTextAuthProvider"))
    assert wanted(CqlshFiles.find("rc", {})).auth_provider.username == "u"
    rc.write_text(text.format("cassandra.auth", "SaslAuthProvider"))
    with pytest.raises(UsageError) as caught:
        wanted(CqlshFiles.find("rc", {}))
    assert "s3cret" not in str(caught.value)
    rc.write_text(text.format("no.such", "Provider"))
    with pytest.raises(UsageError, match=r"no\.such"):
        wanted(CqlshFiles.find("rc", {}))


@pytest.mark.parametrize(
    "text",
    [
        "[authentication\npassword = s3cret",
        "password = s3cret",
        "[authentication]\npassword\ns3cret",
        "[connection]\nport = s3cret?",
    ],
)
def test_broken_files(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rc").write_text(text)
    assert main(["count", "ks.t", "--cqlshrc", "rc", "--host", "127.0.0.1"]) == 2
    shown = capsys.readouterr().err
    assert "rc" in shown or "port" in shown
    assert "password = " not in shown


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["frobnicate"],
        ["count"],
        ["count", "ks.t", "--password", "s3cret"],
        ["unload", "ks.t"],
        ["unload", "ks.t", "--out", "x", "--format", "xml"],
        ["load", "ks.t"],
        ["count", "ks.t", "--cqlshrc", "missing"],
        ["count", "ks.t", "--host", ","],
        ["count", "ks.t", "--user", "u"],
    ],
)
def test_invalid_arguments_exit_with_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["unload", "ks.t", "--out", "x"], ["load", "ks.t", "x"], ["copy", "ks.t", "ks.u"]]
)
def test_without_pyarrow(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(arguments) == 2
    assert "fastcql[bulk]" in capsys.readouterr().err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("count", "unload", "load", "copy", "diff"):
        assert main([command, "--help"]) == 0
        assert "130 interrupted" in " ".join(capsys.readouterr().out.split())


def options(rc: Path, direction: str, table: str, *arguments: str) -> dict[str, Any]:
    return read_options(parsed(*arguments), CqlshFiles.find(str(rc), {}).copy_options(direction, table), direction)


def test_options_of_copy(rc: Path) -> None:
    assert options(rc, "from", "ks.t") == {"null": "-", "delimiter": "|", "header": True}
    assert options(rc, "from", "ks.other")["null"] == "N/A"
    assert options(rc, "to", "ks.t") == {"null": "nothing"}
    found = options(rc, "from", "ks.t", "--null", "", "--header", "false", "--delimiter", "\\t", "--boolstyle", "J,N")
    assert found == {"null": "", "delimiter": "\t", "header": False, "boolstyle": ("J", "N")}
    assert dialect_of(found) == Dialect("\t", '"', "\\", False, "utf8")
    assert style_of(found, False) == Style("", "J", "N")
    assert style_of({}, True)[-3:] == (5, 12, True)
    assert options(rc, "from", "ks.t", "--header")["header"] is True


@pytest.mark.parametrize(
    "arguments",
    [
        ["--delimiter", "ab"],
        ["--quote", "\u00ab"],
        ["--header", "perhaps"],
        ["--boolstyle", "yes"],
        ["--boolstyle", "yes,YES"],
        ["--encoding", "latin-0"],
        ["--max-rows", "many"],
    ],
)
def test_values_that_are_none(arguments: list[str], rc: Path) -> None:
    with pytest.raises(UsageError, match=arguments[0]):
        options(rc, "from", "ks.t", *arguments)


def test_unknown_options(rc: Path) -> None:
    rc.write_text("[copy]\nnull = x\nfrobnicate = 1\n")
    with pytest.raises(UsageError, match="frobnicate"):
        options(rc, "to", "ks.t")
    with pytest.raises(UsageError, match="delimiter"):
        dialect_of({"delimiter": '"'})
    with pytest.raises(UsageError, match="thousandssep"):
        style_of({"thousandssep": "."}, False)


def test_names_of_columns() -> None:
    assert columns_of(None) is None
    assert columns_of('a, B ,"C d","e""f","g,h"') == ["a", "b", "C d", 'e"f', "g,h"]
    for text in ("", " , ", "a,", "a b,,c", '"a'):
        with pytest.raises(UsageError):
            columns_of(text)


def test_a_checkpoint_is_of_one_command(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    first = Checkpoint(path, {"command": "copy", "table": "a", "pair": (1, 2)})
    assert not first.resume()
    first.state = {"ranges": [[1, 2]]}
    first.save()
    again = Checkpoint(path, {"command": "copy", "table": "a", "pair": [1, 2]})
    assert again.resume() and again.state == {"ranges": [[1, 2]]}
    with pytest.raises(UsageError, match="table"):
        Checkpoint(path, {"command": "copy", "table": "b", "pair": [1, 2]}).resume()
    for text in ("", "[]", '{"version": 1}', '{"version": 9, "what": {}, "state": {}}'):
        path.write_text(text)
        with pytest.raises(UsageError):
            again.resume()
    again.remove()
    again.remove()
    assert list(tmp_path.iterdir()) == []


def test_coverage() -> None:
    whole = part_of_ring(0, 100)
    coverage = Coverage(whole, [[10, 20]])
    assert [(one.start, one.end) for one in coverage.left()] == [(0, 10), (20, 100)]
    coverage.add(part_of_ring(20, 60))
    assert coverage.as_lists() == [[10, 60]] and coverage.part() == 0.5
    with pytest.raises(UsageError):
        part_of_ring(5, 5)
