"""Stand-ins for other drivers in an environment of its own, as pip sees them; another driver's files beside ours."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cassandra._base import distributions

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[3]
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
NEEDY = """Metadata-Version: 2.1
Name: needy
Version: 1.0
Requires-Dist: cassandra-driver>=3.28,<4
Requires-Dist: scylla-driver[cle]~=3.25
"""


class Environment:
    """A virtual environment with fastcql in it as an editable installation leaves it: a path, and metadata."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False)
        self.python = folder / "bin" / "python"
        (self.site,) = folder.glob("lib/python*/site-packages")
        self.folder = folder

    def with_fastcql(self) -> Environment:
        (self.site / "fastcql.pth").write_text(f"{ROOT}\n")
        for name in ("fastcql", "cryptography"):
            self.distribution(name, "99.0")
        return self

    def distribution(self, name: str, version: str) -> None:
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nProvides-Extra: encryption\n"
        folder = self.site / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(metadata)
        (folder / "RECORD").write_text("")

    def run(self, *command: str | Path, fails: bool = False) -> str:
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | OFFLINE
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env, cwd=self.folder)
        assert (done.returncode != 0) is fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def stand_in(self, *arguments: str, fails: bool = False) -> str:
        return self.run(self.python, "-m", "cassandra.stand_in", *arguments, fails=fails)

    def pip(self, *arguments: str, fails: bool = False) -> str:
        return self.run(sys.executable, "-m", "pip", "--python", str(self.python), *arguments, fails=fails)

    def stand_ins(self) -> list[str]:
        return sorted(path.name for path in self.site.iterdir() if "driver" in path.name)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "env").with_fastcql()


BOTH = ["cassandra_driver-3.30.1.dist-info", "scylla_driver-3.29.12.dist-info"]


def a_wheel(folder: Path, metadata: str) -> Path:
    path = folder / "needy-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("needy-1.0.dist-info/METADATA", metadata)
        wheel.writestr("needy-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("needy-1.0.dist-info/RECORD", "")
    return path


def test_packages_that_require_the_others_install_and_nothing_is_fetched(environment: Environment) -> None:
    wheel = str(a_wheel(environment.folder, NEEDY))
    assert "No matching distribution found" in environment.pip("install", wheel, fails=True)
    told = environment.stand_in()
    assert told.count("installed the stand-in for ") == 2 and environment.stand_ins() == BOTH
    assert "No broken requirements found." in environment.pip("check")
    environment.pip("install", wheel)
    assert "No broken requirements found." in environment.pip("check")
    assert "Requires: fastcql\n" in environment.pip("show", "cassandra-driver")
    program = "import importlib.metadata as m; print(m.version('scylla-driver'), m.requires('scylla-driver')[0])"
    assert environment.run(environment.python, "-c", program) == "3.29.12 fastcql\n"


@pytest.mark.parametrize("remove", [lambda e: e.pip("uninstall", "-y", "scylla-driver", "cassandra-driver"),
                                    lambda e: e.stand_in("--remove")], ids=["pip", "--remove"])  # fmt: skip
def test_they_can_be_removed(environment: Environment, remove: Callable[[Environment], str]) -> None:
    before = sorted(path.name for path in environment.site.iterdir())
    environment.stand_in()
    remove(environment)
    assert sorted(path.name for path in environment.site.iterdir()) == before
    assert environment.stand_in("--remove").count("is not installed") == 2


def test_the_record_is_right(environment: Environment) -> None:
    environment.stand_in("--as", "scylla-driver")
    folder = environment.site / BOTH[1]
    record = csv.reader((folder / "RECORD").read_text().splitlines())
    rows = {Path(path).name: (digest, size) for path, digest, size in record}
    assert rows.keys() == {path.name for path in folder.iterdir()} and rows.pop("RECORD") == ("", "")
    for name, (digest, size) in rows.items():
        data = (folder / name).read_bytes()
        wanted = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert (digest, size) == (f"sha256={wanted}", str(len(data)))


def test_one_of_another_version(environment: Environment) -> None:
    environment.stand_in("--as", "Cassandra_Driver==3.28.0")
    assert environment.stand_ins() == ["cassandra_driver-3.28.0.dist-info"]
    assert "is already installed" in environment.stand_in("--as", "cassandra-driver==3.28.0")
    environment.stand_in("--as", "cassandra-driver")
    assert environment.stand_ins() == BOTH[:1]
    assert "expected scylla-driver or cassandra-driver, got 'requests'" in environment.stand_in(
        "--as", "requests", fails=True
    )


def test_the_real_driver_is_not_touched(environment: Environment) -> None:
    environment.distribution("scylla-driver", "3.29.1")
    told = environment.stand_in(fails=True)
    assert "the real driver scylla-driver 3.29.1 is installed" in told and "pip uninstall -y scylla-driver" in told
    assert environment.stand_ins() == [BOTH[0], "scylla_driver-3.29.1.dist-info"]
    assert "is not a stand-in" in environment.stand_in("--remove", fails=True)
    assert environment.stand_ins() == ["scylla_driver-3.29.1.dist-info"]


def test_without_fastcql_nothing_is_installed(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env")
    (environment.site / "sources.pth").write_text(f"{ROOT}\n")
    assert environment.stand_in(fails=True).count("fastcql itself is not installed") == 2
    assert environment.stand_ins() == []


def test_wheels_for_lock_files(environment: Environment, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        assert environment.stand_in("--wheel", str(folder)).count("wrote the stand-in for ") == 2
    wheels = sorted(one.iterdir())
    names = [path.name for path in wheels]
    assert names == ["cassandra_driver-3.30.1-py3-none-any.whl", "scylla_driver-3.29.12-py3-none-any.whl"]
    assert [path.read_bytes() for path in wheels] == [(two / name).read_bytes() for name in names]
    environment.pip("install", *map(str, wheels))
    assert environment.stand_ins() == BOTH
    assert "No broken requirements found." in environment.pip("check")
    assert environment.stand_in("--remove").count("removed the stand-in for ") == 2


def test_another_drivers_modules_beside_ours_are_named(environment: Environment, tmp_path: Path) -> None:
    package = tmp_path / "broken" / "cassandra"
    shutil.copytree(ROOT / "cassandra", package, copy_function=os.symlink, ignore=shutil.ignore_patterns("__pycache__"))
    (environment.site / "fastcql.pth").write_text(f"{package.parent}\n")
    program = "import cassandra.cluster; print(cassandra.cluster.__file__)"
    assert str(package) in environment.run(environment.python, "-c", program)
    for name in ("cluster.cpython-311-x86_64-linux-gnu.so", "query.cpython-311-x86_64-linux-gnu.so"):
        (package / name).touch()
    environment.distribution("scylla-driver", "3.29.12")
    told = environment.run(environment.python, "-c", program, fails=True)
    assert "ImportError: Another driver's files are among those of fastcql: cluster.cpython-311" in told
    assert f".so and 1 more in {package} (scylla-driver 3.29.12 is installed)" in told
    assert "pip uninstall -y scylla-driver cassandra-driver\n" in told and "--force-reinstall --no-deps fastcql" in told


def test_a_stand_in_is_not_blamed(environment: Environment, tmp_path: Path) -> None:
    environment.stand_in()
    (tmp_path / "cluster.pyd").touch()
    program = f"from cassandra._base import distributions; distributions.check([{str(tmp_path)!r}])"
    told = environment.run(environment.python, "-c", program, fails=True)
    assert f"cluster.pyd in {tmp_path}. Python" in told


def test_paths_that_are_not_folders_are_ignored(tmp_path: Path) -> None:
    distributions.check([str(tmp_path / "library.zip" / "cassandra")])
    distributions.check([str(tmp_path)])
