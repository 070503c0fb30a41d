"""Packages of Debian's suites for any architecture, without installing them.

``apt-get`` runs with a configuration of its own, of which nothing is shared with the system but where the archive is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from pathlib import Path

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


class Unavailable(Exception):
    """What is missing to build or run something here; the text is for the table of wheels."""


class Suite:
    """One suite, for one machine. All that is fetched stays in *cache*. Any thread; one of them works at a time."""

    _lock = threading.Lock()

    def __init__(self, cache: Path, name: str, machine: str) -> None:
        self.name = name
        self.architecture = ARCHITECTURES[machine]
        self.folder = cache.resolve() / f"{name}-{self.architecture}"

    def headers(self, package: str, folder: Path) -> None:
        """Unpack the headers of *package* into *folder*, which gets the paths of the package."""
        with self._lock:
            archives = self._ready() / "headers"
            archives.mkdir(exist_ok=True)
            if not list(archives.glob(f"{package}_*.deb")):
                self._apt("download", f"{package}:{self.architecture}", cwd=archives)
            (archive,) = archives.glob(f"{package}_*.deb")
            unpack(archive, folder, "./usr/include")

    def root(self, packages: list[str], folder: Path) -> None:
        """Unpack *packages*, and all that they depend on, into *folder*: a root to run programs in.

        No script of a package runs, so that the root may be one of another architecture.
        """
        with self._lock:
            archives = self._ready() / "archives"
            (archives / "partial").mkdir(parents=True, exist_ok=True)
            names = [f"{package}:{self.architecture}" for package in packages]
            self._apt("install", "--yes", "--no-install-recommends", "--download-only", *names)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for merged in ("bin", "sbin", "lib", "lib64"):
            (folder / "usr" / merged).mkdir(parents=True)
            (folder / merged).symlink_to(f"usr/{merged}")
        for archive in sorted(archives.glob("*.deb")):
            unpack(archive, folder)
        (folder / "tmp").mkdir(exist_ok=True)

    def _ready(self) -> Path:
        """The folder of this suite, with its lists of packages."""
        done = self.folder / "updated"
        if not done.exists():
            for name in ("lists/partial", "etc"):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
            (self.folder / "status").touch()
            uri, key = archive()
            (self.folder / "sources.list").write_text(f"deb [{key}] {uri} {self.name} main\n")
            (self.folder / "apt.conf").write_text(
                f'Dir::State "{self.folder}";\n'
                f'Dir::State::Lists "{self.folder}/lists";\n'
                f'Dir::State::status "{self.folder}/status";\n'
                f'Dir::Cache "{self.folder}";\n'
                f'Dir::Cache::archives "{self.folder}/archives";\n'
                f'Dir::Etc::SourceList "{self.folder}/sources.list";\n'
                'Dir::Etc::SourceParts "-";\n'
                f'APT::Architecture "{self.architecture}";\n'
                f'APT::Architectures {{"{self.architecture}";}};\n'
                'APT::Sandbox::User "root";\n'
                'Acquire::Languages "none";\n'
                'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";\n'
            )
            self._apt("update")
            done.touch()
        return self.folder

    def _apt(self, *arguments: str, cwd: Path | None = None) -> None:
        environment = {**os.environ, "APT_CONFIG": str(self.folder / "apt.conf"), "DEBIAN_FRONTEND": "noninteractive"}
        result = subprocess.run(
            ["apt-get", "-qq", *arguments], env=environment, cwd=cwd, capture_output=True, text=True, check=False
        )
        if result.returncode != 0:
            raise Unavailable(f"{self.name} ({self.architecture}): {_last_line(result.stderr)}")


def archive() -> tuple[str, str]:
    """(address, option of sources.list for its key) of the archive that this system uses."""
    if not shutil.which("apt-get"):
        raise Unavailable("Debian's packages: apt-get is not installed")
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    if not found:
        raise Unavailable("Debian's packages: run `apt-get update` on a Debian system")
    return found[0], f"signed-by={KEYRING}"


def unpack(archive: Path, folder: Path, *members: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(archive)], stdout=subprocess.PIPE) as reading:
        command = ["tar", "--extract", "--keep-directory-symlink", "--directory", str(folder), *members]
        subprocess.run(command, stdin=reading.stdout, check=True)
    if reading.returncode != 0:
        raise Unavailable(f"invalid package: {archive.name}")


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["apt-get failed"])[-1]
