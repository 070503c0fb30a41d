"""The sdist of this commit, and wheels from it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from tools.wheels.bom import bill_of_materials
from tools.wheels.targets import Platform, Target

ROOT = Path(__file__).resolve().parents[2]
EXPORTS = Path(__file__).with_name("exports.map")
#: Functions of libgcc_s.so.1 by the version that brought them, the same on all machines.
UNWINDING = {
    "GCC_3.0": (
        "DeleteException Find_FDE ForcedUnwind GetDataRelBase GetGR GetIP GetLanguageSpecificData GetRegionStart "
        "GetTextRelBase RaiseException Resume SetGR SetIP"
    ),
    "GCC_3.3": "Backtrace FindEnclosingFunction GetCFA Resume_or_Rethrow",
    "GCC_4.2.0": "GetIPInfo",
}


def commit_time() -> int:
    """The date of all files of sdist and wheels."""
    return int(subprocess.check_output(["git", "show", "--no-patch", "--format=%ct"], cwd=ROOT, text=True))


def make_sdist(work: Path, dist: Path, epoch: int) -> Path:
    """Make the sdist of the files that git knows, as they are in the work tree."""
    tree = work / "tracked"
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    for name in filter(None, listed):
        source, copy = ROOT / name, tree / name
        if source.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
            copy.chmod(0o755 if os.access(source, os.X_OK) else 0o644)
    made = work / "made"
    shutil.rmtree(made, ignore_errors=True)
    command = [sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", str(made)]
    subprocess.run(command, cwd=tree, env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}, check=True)
    (archive,) = made.iterdir()
    dist.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(archive, dist))


def unpack_sdist(sdist: Path, work: Path) -> Path:
    """The folder with the content of *sdist*. Files that are the same keep their dates, so that objects stay valid."""
    folder = work / "source"
    fresh = work / "unpacked"
    shutil.rmtree(fresh, ignore_errors=True)
    with tarfile.open(sdist) as archive:
        archive.extractall(fresh, filter="data")
    (top,) = fresh.iterdir()
    for path in sorted(top.rglob("*")):
        here = folder / path.relative_to(top)
        if path.is_file() and not (here.exists() and here.read_bytes() == path.read_bytes()):
            here.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, here)  # with the date of now
    kept = {"build"}
    for path in sorted(folder.rglob("*"), reverse=True):
        name = path.relative_to(folder)
        if name.parts[0] not in kept and path.is_file() and not (top / name).exists():
            path.unlink()
    shutil.rmtree(fresh)
    return folder


def zig() -> Path:
    import ziglang  # in the environment that `make wheels` makes only

    return Path(ziglang.__file__).with_name("zig")


@dataclass(frozen=True)
class Compiler:
    """Zig's C++ compiler for one platform. Its runtime library becomes a part of each extension.

    With glibc all but the unwinder: Python before 3.14 ends daemon threads by pthread_exit(), which unwinds their
    stacks by libgcc_s.so.1 and calls the C++ runtime of each frame, which has to use the same unwinder. A system with
    glibc has libgcc_s.so.1. musl does not unwind there.
    """

    platform: Platform
    work: Path

    def environment(self) -> dict[str, str]:
        """Of setuptools, which calls it."""
        command = f"{shlex.quote(str(zig()))} c++ -target {self.platform.zig}"
        flags = [
            "-O3",  # for the link, too: without, Zig adds what a program for debugging needs
            "-fPIC",
            "-fwrapv",
            "-DNDEBUG",
            "-Wno-missing-field-initializers",  # types made by Cython, whose last fields are new in Python 3.15
            f"-ffile-prefix-map={zig().parent}=zig",
        ]
        exports = f"-Wl,--version-script={EXPORTS}"
        unwinder = [] if self.platform.is_musl else [str(self.link_stub())]
        return {
            **self.caches(),
            "CC": command,
            "CXX": command,
            "CFLAGS": "",
            "CXXFLAGS": shlex.join(flags),
            "LDCXXSHARED": f"{command} -shared",
            "LDFLAGS": shlex.join([*unwinder, "-s", "-Wl,--gc-sections", "-Wl,--build-id=none", exports]),
        }

    def link_stub(self) -> Path:
        """A library to link with in the place of libgcc_s.so.1: the same names and versions."""
        folder = self.work / "libgcc" / self.platform.machine
        library = folder / "libgcc_s.so.1"
        if not library.exists():
            folder.mkdir(parents=True, exist_ok=True)
            source, versions = folder / "libgcc_s.c", folder / "libgcc_s.map"
            names = [name for line in UNWINDING.values() for name in line.split()]
            source.write_text("".join(f"void _Unwind_{name}(void) {{}}\n" for name in names))
            versions.write_text(
                "".join(
                    f"{version} {{ {' '.join(f'_Unwind_{name};' for name in line.split())} }};\n"
                    for version, line in UNWINDING.items()
                )
            )
            # fmt: off
            command = [
                str(zig()), "cc", "-target", self.platform.zig, "-O2", "-shared", "-nostdlib", str(source),
                "-o", str(library), "-Wl,-soname,libgcc_s.so.1", f"-Wl,--version-script={versions}",
            ]
            # fmt: on
            subprocess.run(command, env=self.caches(), check=True)
        return library

    def caches(self) -> dict[str, str]:
        folder = str(self.work / "zig")
        return {**os.environ, "ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}

    def version(self) -> str:
        """The version of LLVM, and so of libc++."""
        command = [str(zig()), "c++", "--version"]
        text = subprocess.check_output(command, env=self.environment(), text=True)
        return text.split("clang version ")[1].split()[0]


def make_wheel(target: Target, source: Path, include: Path, work: Path, dist: Path, epoch: int, jobs: int) -> Path:
    """Build the wheel of *target* from the unpacked sdist *source*."""
    compiler = Compiler(target.platform, work)
    environment = compiler.environment()
    environment |= {
        "SOURCE_DATE_EPOCH": str(epoch),
        "PYTHONHASHSEED": "0",
        "SETUPTOOLS_EXT_SUFFIX": target.suffix,
        "FASTCQL_TARGET": target.tag,
        "FASTCQL_INCLUDE": str(include.resolve()),
        "FASTCQL_SBOM": str(bill_of_materials(work / "sboms" / str(target), compiler.version(), target, epoch)),
    }
    built, made = work / "built" / str(target), work / "made" / str(target)
    for folder in (built, made):
        shutil.rmtree(folder, ignore_errors=True)
    # fmt: off
    command = [
        sys.executable, "setup.py", "--quiet",
        "build", "--build-base", str(built), "--build-temp", "build/objects",
        "build_ext", "--parallel", str(jobs),
        "bdist_wheel", "--dist-dir", str(made),
    ]
    # fmt: on
    before = os.umask(0o022)
    try:
        subprocess.run(command, cwd=source, env=environment, check=True)
    finally:
        os.umask(before)
    (wheel,) = made.glob("*.whl")
    return Path(shutil.move(wheel, dist / wheel.name))
