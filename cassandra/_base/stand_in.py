"""Stand-ins for the distributions of other drivers: a name and a version that require fastcql, without files (L0).

Packages that require ``cassandra-driver`` or ``scylla-driver`` would install that driver, which overwrites this one.
``python -m cassandra.stand_in`` writes the files that an installer writes for an empty distribution: a ``.dist-info``
folder with metadata and a RECORD. Nothing is downloaded; installers find the requirement satisfied, and can remove the
stand-in as any other distribution.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path

OURS = "fastcql"
VERSIONS = {"scylla-driver": "3.29.12", "cassandra-driver": "3.30.1"}
MADE_BY = f"Generator: {OURS} stand-in"
EXTRAS = {"cle": "encryption", "compress-lz4": "lz4", "compress-snappy": "snappy"}  # of those drivers: of fastcql
NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:==([0-9][0-9A-Za-z.+!]*))?")

EPILOG = """\
Without --as, stand-ins for both are handled. NAME is scylla-driver or cassandra-driver; NAME==VERSION sets the
version of the stand-in, by default the latest version that this driver was compared with."""


class StandInError(Exception):
    """The command cannot be executed; the text has the reason and the remedy."""


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class StandIn:
    """An empty distribution called *name*."""

    def __init__(self, name: str, version: str) -> None:
        self.name = name
        self.version = version
        self.stem = f"{name.replace('-', '_')}-{version}"

    @classmethod
    def named(cls, text: str) -> StandIn:
        """Return the stand-in for ``name`` or ``name==version``. Raise ArgumentTypeError for other names."""
        match = NAMED.fullmatch(text.strip())
        name = normalized(match[1]) if match else text
        if match is None or name not in VERSIONS:
            raise argparse.ArgumentTypeError(f"expected {' or '.join(VERSIONS)}, got {text!r}")
        return cls(name, match[2] or VERSIONS[name])

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    def files(self, installed: bool) -> dict[str, str]:
        """Return the contents of its files by path, as *installed* or as in a wheel."""
        folder = f"{self.stem}.dist-info"
        files = {f"{folder}/METADATA": self._metadata(), f"{folder}/WHEEL": _WHEEL}
        if installed:
            files[f"{folder}/INSTALLER"] = f"{OURS}\n"
            files[f"{folder}/REQUESTED"] = ""  # so that tools that remove unneeded dependencies keep it
        record = [f"{path},{_hash(text)},{len(text.encode())}\n" for path, text in files.items()]
        files[f"{folder}/RECORD"] = "".join([*record, f"{folder}/RECORD,,\n"])
        return files

    def _metadata(self) -> str:
        extras = [
            f'Provides-Extra: {theirs}\nRequires-Dist: {OURS}[{ours}]; extra == "{theirs}"\n'
            for theirs, ours in EXTRAS.items()
        ]
        return (
            f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {self.version}\n"
            f"Summary: Stand-in for {self.name}: {OURS} provides the package cassandra\n"
            f"Requires-Dist: {OURS}\n{''.join(extras)}"
        )


_WHEEL = f"Wheel-Version: 1.0\n{MADE_BY}\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _folder_of(distribution: Distribution) -> Path | None:
    """Return the ``.dist-info`` folder; None for other layouts, such as the ``.egg-info`` of a source tree."""
    path = getattr(distribution, "_path", None)
    return Path(path) if isinstance(path, Path) and path.suffix == ".dist-info" else None


def installed(name: str) -> tuple[Path, Distribution] | None:
    """Return the first distribution of that name that is found, with its folder; None if there is none."""
    for distribution in distributions():
        folder = _folder_of(distribution)
        if folder is not None and normalized(distribution.metadata["Name"] or "") == name:
            return folder, distribution
    return None


def is_stand_in(distribution: Distribution) -> bool:
    return MADE_BY in (distribution.read_text("WHEEL") or "")


def add(stand_in: StandIn) -> str:
    """Install *stand_in* next to fastcql and return a message. Raise StandInError if the real driver is installed."""
    ours = installed(OURS)
    if ours is None:
        raise StandInError(f"{OURS} itself is not installed for {sys.executable}, only importable: install it first")
    known = installed(stand_in.name)
    if known is not None:
        folder, distribution = known
        if not is_stand_in(distribution):
            raise StandInError(_real(distribution))
        if distribution.version == stand_in.version:
            return f"the stand-in for {stand_in} is already installed: {folder}"
        shutil.rmtree(folder)
    site = ours[0].parent
    made = Path(tempfile.mkdtemp(prefix=f".{stand_in.stem}.", dir=site))
    try:
        made.chmod(0o755)
        for path, text in stand_in.files(installed=True).items():
            (made / Path(path).name).write_text(text, encoding="utf-8", newline="\n")
        target = site / f"{stand_in.stem}.dist-info"
        made.rename(target)
    except BaseException:
        shutil.rmtree(made)
        raise
    return f"installed the stand-in for {stand_in}: {target}"


def remove(name: str) -> str:
    """Remove the stand-in and return a message. Raise StandInError if the real driver is installed."""
    known = installed(name)
    if known is None:
        return f"{name} is not installed"
    folder, distribution = known
    if not is_stand_in(distribution):
        raise StandInError(f"{name} {distribution.version} is not a stand-in; to remove it: pip uninstall {name}")
    shutil.rmtree(folder)
    return f"removed the stand-in for {name}"


def write_wheel(stand_in: StandIn, folder: Path) -> str:
    """Write *stand_in* as a wheel in *folder*, for lock files and images, and return a message. The bytes are the same
    each time."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stand_in.stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, text in stand_in.files(installed=False).items():
            info = zipfile.ZipInfo(name)  # with the fixed default date of 1980
            info.external_attr = 0o644 << 16
            wheel.writestr(info, text)
    return f"wrote the stand-in for {stand_in}: {path}"


def _real(distribution: Distribution) -> str:
    name = distribution.metadata["Name"]
    return (
        f"the real driver {name} {distribution.version} is installed, and its files are in the same package as "
        f"those of {OURS}. Run\n    pip uninstall -y {name}\n"
        f"    pip install --force-reinstall --no-deps {OURS}\nand then run this command again"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m cassandra.stand_in",
        description="Make fastcql satisfy the requirements of packages on cassandra-driver or scylla-driver.",
        epilog=EPILOG,
    )
    parser.add_argument("--as", dest="names", metavar="NAME", action="append", type=StandIn.named, help="see below")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--remove", action="store_true", help="remove the stand-ins")
    what.add_argument("--wheel", metavar="FOLDER", type=Path, help="write wheels instead of installing")
    given = parser.parse_args(arguments)
    status = 0
    for stand_in in given.names or [StandIn.named(name) for name in VERSIONS]:
        try:
            if given.remove:
                print(remove(stand_in.name))
            elif given.wheel is not None:
                print(write_wheel(stand_in, given.wheel))
            else:
                print(add(stand_in))
        except StandInError as error:
            print(f"{stand_in.name}: {error}", file=sys.stderr)
            status = 1
        except OSError as error:
            print(f"{stand_in.name}: {error}; check that {os.fspath(sys.prefix)} is writable", file=sys.stderr)
            status = 1
    return status
