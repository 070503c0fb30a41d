"""Python's headers for a target.

Debian's packages have those of most versions, for both machines; an interpreter that is installed here, those of the
others. They are the same for all 64-bit Linux machines and for both C libraries but for ``pyconfig.h``, and there the
machines differ in support tiers, inline assembly and the sign of wchar_t, which extensions do not see. The headers of a
build without the GIL are those of the one with it and Py_GIL_DISABLED.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from tools.wheels.debian import Suite, Unavailable
from tools.wheels.targets import Target

#: The oldest suite that has a version: the older a suite, the less it changes.
SUITES = {"3.11": "bookworm", "3.13": "trixie", "3.14": "forky", "3.15": "forky"}


def headers(target: Target, folder: Path, debian: Path) -> Path:
    """Return the folder with the headers for *target*, below *folder*."""
    suite = SUITES.get(target.version)
    if suite is None:
        return installed_headers(target.version)
    made = folder / f"{target.version}-{target.platform.machine}"
    if not (made / "Python.h").exists():
        unpacked = made.with_suffix(".unpacked")
        Suite(debian, suite, target.platform.machine).headers(f"libpython{target.version}-dev", unpacked)
        name = f"python{target.version}"
        include = unpacked / "usr" / "include"
        shutil.rmtree(made, ignore_errors=True)
        shutil.copytree(include / name, made)
        (config,) = include.glob(f"*/{name}/pyconfig.h")  # the one beside the others chooses by machine
        shutil.copyfile(config, made / "pyconfig.h")
        shutil.rmtree(unpacked)
    return made


def installed_headers(version: str) -> Path:
    python = installed(version)
    if python is None:
        raise Unavailable(f"Python {version} is not installed, and no suite of Debian has its headers")
    command = [python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"]
    return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


@cache
def installed(version: str, *, free_threaded: bool = False) -> str | None:
    """The interpreter of that version, found as the Makefile does."""
    folder = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for found in sorted(folder.glob(f"{version}.*")):
        if found.name.endswith("t") == free_threaded and (found / "bin" / "python").exists():
            return str(found / "bin" / "python")
    return shutil.which(f"python{version}t" if free_threaded else f"python{version}")
