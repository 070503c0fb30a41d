"""scripts/release: version, change log, citation, hashes, notes, and the wheel that fits a Python."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from cassandra import __version__
from tests.unit.release.releasing import ROOT, load

release = load()

CHANGES = """Changes
=======

4.0.0b1
-------

A line.

* A point.

4.0.0a1
-------

Earlier.
"""


def test_this_commit_is_consistent() -> None:
    assert release.version_of((ROOT / "cassandra" / "_base" / "version.py").read_text()) == __version__
    assert release.notes_of((ROOT / "CHANGELOG.rst").read_text(), __version__).startswith("First release.")
    release.check_citation((ROOT / "CITATION.cff").read_text(), __version__)


@pytest.mark.parametrize("version", ["4.0.0", "4.0.0a1", "10.20.30rc12", "0.1.0b2"])
def test_versions(version: str) -> None:
    assert release.version_of(f'import re\n\n__version__ = "{version}"  # why\n') == version


@pytest.mark.parametrize(
    "version", ["4.0", "4.0.0-alpha1", "4.0.0.a1", "04.0.0", "v4.0.0", "4.0.0a01", "4.0.0.dev1", ""]
)
def test_versions_that_the_index_would_change(version: str) -> None:
    with pytest.raises(release.ReleaseError, match=f"invalid version: '{version}'"):
        release.version_of(f'__version__ = "{version}"\n')


def test_no_version() -> None:
    with pytest.raises(release.ReleaseError, match="missing version"):
        release.version_of('RELEASE = "4.0.0"\n')


def test_notes_are_the_first_section() -> None:
    assert release.notes_of(CHANGES, "4.0.0b1") == "A line.\n\n* A point."


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (CHANGES.replace("4.0.0b1", "4.0.0b2"), "its first section is 4.0.0b2, not 4.0.0b1"),
        ("Changes\n=======\n", "its first section is None, not 4.0.0b1"),
        ("4.0.0b1\n-------\n\n4.0.0a1\n-------\n\nEarlier.\n", "the section 4.0.0b1 is empty"),
    ],
)
def test_change_logs_without_this_release(changes: str, message: str) -> None:
    with pytest.raises(release.ReleaseError, match=f"invalid change log: {message}"):
        release.notes_of(changes, "4.0.0b1")


def test_a_citation_of_another_version() -> None:
    release.check_citation('version: "4.0.0"\n', "4.0.0")
    for citation in ("cff-version: 1.2.0\nversion: 4.0.0a1\n", "title: fastcql\n"):
        with pytest.raises(release.ReleaseError, match=r"invalid CITATION.cff: .*, not 4.0.0$"):
            release.check_citation(citation, "4.0.0")


def test_hashes_are_checked_by_sha256sum(tmp_path: Path) -> None:
    (tmp_path / "b.whl").write_bytes(b"wheel")
    (tmp_path / "a.tar.gz").write_bytes(b"")
    hashes = release.hash_files(tmp_path.iterdir())
    assert list(hashes.items()) == [
        ("a.tar.gz", hashlib.sha256(b"").hexdigest()),
        ("b.whl", hashlib.sha256(b"wheel").hexdigest()),
    ]
    sums = "".join(f"{line}\n" for line in release.hash_lines(hashes))
    command = ["sha256sum", "--check", "--strict", "-"]
    assert subprocess.run(command, cwd=tmp_path, input=sums, text=True, stdout=subprocess.DEVNULL).returncode == 0
    (tmp_path / "b.whl").write_bytes(b"other")
    assert subprocess.run(command, cwd=tmp_path, input=sums, text=True, capture_output=True).returncode == 1


def test_notes_have_the_hashes() -> None:
    notes = release.release_notes("A line.", "4.0.0", {"a": "1" * 64, "b": "2" * 64})
    expected = "# fastcql 4.0.0\n\nA line.\n\n## SHA-256\n\n```\n" + "1" * 64 + "  a\n" + "2" * 64 + "  b\n```\n"
    assert notes == expected


def test_the_wheel_of_a_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release.os, "uname", lambda: type("Machine", (), {"machine": "x86_64"}))
    here = Path("fastcql-4.0.0-cp313-cp313-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl")
    plain = Path("fastcql-4.0.0-cp311-cp311-linux_x86_64.whl")
    others = [
        Path(f"fastcql-4.0.0-{tags}.whl")
        for tags in ("cp314-cp314t-manylinux_2_28_x86_64", "cp312-cp312-musllinux_1_2_x86_64",
                     "cp310-cp310-manylinux_2_28_aarch64")
    ]  # fmt: skip
    wheels = [*others, here, plain]
    assert release.wheel_for(wheels, (3, 13)) == here
    assert release.wheel_for(wheels, (3, 11)) == plain
    assert [release.wheel_for(wheels, (3, minor)) for minor in (10, 12, 14)] == [None] * 3


def test_changes_that_are_not_committed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(release, "output", lambda *command: " M setup.py" if "status" in command else "")
    assert release.main(["--dry-run"]) == 1
    assert capsys.readouterr().err == "scripts/release: uncommitted changes:\n M setup.py\n"


def test_a_version_that_was_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "output", lambda *command: f"v{__version__}" if "tag" in command else "")
    assert release.check(dry_run=True)[0] == __version__
    with pytest.raises(release.ReleaseError, match=f"the tag v{__version__} exists"):
        release.check(dry_run=False)
