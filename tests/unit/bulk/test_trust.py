"""TLS as cqlshrc and the environment have it, files with passwords: checks, refusals and warnings."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Any

import pytest

from cassandra._bulk import connecting
from cassandra._bulk.connecting import CqlshFiles
from cassandra._bulk.console import UsageError
from cassandra._bulk.main import make_parser
from cassandra.bulk import main
from tests.servers.certificates import Certificates


@pytest.fixture(autouse=True)
def _no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def context_of(text: str, environment: dict[str, str] | None = None, host: str = "h") -> ssl.SSLContext:
    path = Path("rc")
    path.write_text(text)
    path.chmod(0o600)
    return CqlshFiles.find("rc", environment or {}).ssl_context(host)


@pytest.mark.parametrize("text", ["", "[ssl]\n", "[ssl]\nvalidate = true\n", "[ssl]\ncheck_hostname = true\n"])
def test_names_are_checked_with_the_authorities_of_the_system(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    context = context_of(text)
    assert context.check_hostname and context.verify_mode == ssl.CERT_REQUIRED
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        ("[ssl]\ncheck_hostname = false\n", {}),
        ("", {"SSL_CHECK_HOSTNAME": "false"}),
        ("[ssl]\ncheck_hostname = true\n", {"SSL_CHECK_HOSTNAME": "no"}),
    ],
)
def test_names_are_not_checked_if_that_is_asked_for(
    text: str, environment: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    context = context_of(text, environment)
    assert not context.check_hostname and context.verify_mode == ssl.CERT_REQUIRED
    err = capsys.readouterr().err
    assert err.count("warning: check_hostname") == 1 and "SSL_CHECK_HOSTNAME" in err


@pytest.mark.parametrize(
    ("text", "environment"),
    [("[ssl]\nvalidate = false\n", {}), ("[ssl]\nvalidate = true\n", {"SSL_VALIDATE": "false"})],
)
def test_certificates_are_not_checked_if_that_is_asked_for(
    text: str, environment: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rc").write_text(text)
    files = CqlshFiles.find("rc", environment)
    for _ in range(2):  # of two clusters
        assert files.ssl_context("h").verify_mode == ssl.CERT_NONE
    assert capsys.readouterr().err.count("warning: validate of [ssl], or SSL_VALIDATE, is false") == 1


def test_an_authority_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Certificates.generate(tmp_path / "certificates", ["127.0.0.1"])
    own = f"[ssl]\ncertfile = {made.ca}\n"
    assert not context_of(own).check_hostname
    assert context_of(own + "check_hostname = true\n").check_hostname
    assert context_of(own, {"SSL_CHECK_HOSTNAME": "true"}).check_hostname
    assert not context_of(own + "check_hostname = true\n", {"SSL_CHECK_HOSTNAME": "false"}).check_hostname
    context = context_of("", {"SSL_CERTFILE": str(made.ca)})
    assert not context.check_hostname and context.verify_mode == ssl.CERT_REQUIRED
    assert len(context.get_ca_certs()) == 1
    for host, count in (("there", 1), ("here", None)):
        context = context_of(f"[certfiles]\nthere = {made.ca}\n", host=host)
        assert context.check_hostname == (count is None)
    assert capsys.readouterr().err == ""


def test_the_second_cluster_has_its_own_authority(tmp_path: Path) -> None:
    made = Certificates.generate(tmp_path / "certificates", ["127.0.0.1"])
    Path("rc").write_text(f"[certfiles]\nthere = {made.ca}\n")
    arguments = make_parser().parse_args(["count", "ks.t", "--ssl", "--host", "here"])
    wanted = connecting.settings_of(arguments, CqlshFiles.find("rc", {}), {})
    assert wanted.ssl_context is not None and wanted.ssl_context.check_hostname
    other = wanted.to("there:1").ssl_context
    assert other is not None and not other.check_hostname and len(other.get_ca_certs()) == 1


@pytest.mark.parametrize(
    "text",
    [
        "[ssl]\nvalidate = false\ncheck_hostname = true\n",
        "[ssl]\nvalidate = perhaps\n",
        "[ssl]\ncheck_hostname = perhaps\n",
        "[ssl]\ncertfile = missing\n",
        "[ssl]\nuserkey = missing\n",
        "[ssl]\nusercert = missing\n",
    ],
)
def test_invalid_ssl_options_raise_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match=r"ssl"):
        context_of(text)


# -- files with passwords


def rc_with(tmp_path: Path, mode: int, named: bool) -> Path:
    folder = tmp_path / "home" / ".cassandra"
    folder.mkdir(parents=True)
    credentials = folder / ("mine" if named else "credentials")
    credentials.write_text("[plain_text_auth]\nusername = u\npassword = s3cret\n")
    credentials.chmod(mode)
    rc = folder / "cqlshrc"
    rc.write_text(f"[authentication]\ncredentials = {credentials}\n" if named else "")
    rc.chmod(0o644)
    return credentials


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o666])
def test_credentials_that_others_can_read_are_refused(
    tmp_path: Path, mode: int, named: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    path = rc_with(tmp_path, mode, named)
    assert main(["count", "ks.t"]) == 2
    err = capsys.readouterr().err
    assert f"chmod 600 {path}" in err and "s3cret" not in err


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_credentials_of_this_user_alone(
    tmp_path: Path, mode: int, named: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    rc_with(tmp_path, mode, named)
    assert CqlshFiles.find(None, {}).user() == ("u", "s3cret")
    assert capsys.readouterr().err == ""


def test_credentials_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = rc_with(tmp_path, 0o600, named=False)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(UsageError, match="credentials"):
        CqlshFiles.find(None, {})
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert CqlshFiles.find(None, {}).user() == ("u", "s3cret")


@pytest.mark.parametrize("section", ["authentication", "auth_provider", "PlainTextAuthProvider"])
def test_a_cqlshrc_with_a_password(section: str, capsys: pytest.CaptureFixture[str]) -> None:
    rc = Path("rc")
    rc.write_text(f"[{section}]\nusername = u\npassword = s3cret\n")
    for mode, warned in ((0o600, 0), (0o644, 1)):
        rc.chmod(mode)
        CqlshFiles.find("rc", {})
        err = capsys.readouterr().err
        assert err.count("warning: rc has a password") == warned and "s3cret" not in err


def test_a_file_with_a_password(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pw").write_text("s3cret\n")
    arguments: Any = make_parser().parse_args(["count", "ks.t", "--user", "u", "--password-file", "pw"])
    for mode, warned in ((0o600, 0), (0o644, 1)):
        Path("pw").chmod(mode)
        found = connecting.settings_of(arguments, CqlshFiles.find("none", {}), {})
        assert found.auth_provider.password == "s3cret"
        err = capsys.readouterr().err
        assert err.count("warning: pw has a password") == warned and "s3cret" not in err
