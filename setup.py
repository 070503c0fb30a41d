"""Declares the native extensions and how they are built; everything else is in pyproject.toml.

Each extension is one Cython module and the C++ files of its folders. Cython writes C++ to ``build/generated``, with a
digest of what it was made of beside it: a module is translated again when its content, Cython or a directive changes,
not when another environment has newer files. The C++ files of a folder are compiled as one, which takes half of the
time. All translations and compilations of all extensions share one pool, the longest first; objects that are newer than
what they are made of are kept.

Switches, all environment variables:

``FASTCQL_DEBUG=1``     -O0 -g, assertions and the CQL_DEBUG counters.
``FASTCQL_SANITIZE=``   address | undefined | thread, or a comma-separated set.
``FASTCQL_COVERAGE=1``  gcov instrumentation.
``FASTCQL_ONLY=codec``  build a subset of the extensions while developing.

A wheel for another Python or another machine than the running ones: ``tools/wheels`` sets these, and setuptools' own
``CC``, ``CXX``, ``CFLAGS``, ``CXXFLAGS``, ``LDCXXSHARED``, ``LDFLAGS`` and ``SETUPTOOLS_EXT_SUFFIX``.

``FASTCQL_TARGET=``     the tag of the wheel, such as cp314-cp314t-manylinux_2_28_aarch64.
``FASTCQL_INCLUDE=``    the folder of that Python's headers.
``FASTCQL_SBOM=``       a bill of materials for the wheel, a file.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import Cython
from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.errors import PlatformError
from setuptools.modified import newer_group

CORE = Path("cassandra/_core")
GENERATED = Path("build/generated")
NAMES = ("transport", "codec", "columns", "models", "routing", "memory")  # the longest to build first
ALSO = {"columns": ("ingest",)}  # folders of C++ beside the one of the extension's name
TARGET = tuple(os.environ.get("FASTCQL_TARGET", "").split("-"))
ABI = TARGET[1] if len(TARGET) == 3 else ""
INCLUDE = os.environ.get("FASTCQL_INCLUDE", "")
SBOM = os.environ.get("FASTCQL_SBOM", "")
DEBUG = os.environ.get("FASTCQL_DEBUG") == "1"
SANITIZE = os.environ.get("FASTCQL_SANITIZE", "")
COVERAGE = os.environ.get("FASTCQL_COVERAGE") == "1"
DIRECTIVES = {
    "auto_pickle": "False",
    "freethreading_compatible": "True",  # docs/architecture.rst, "Without the GIL"
    "language_level": "3",
    "boundscheck": "False",
    "wraparound": "False",
    "cdivision": "True",
    "binding": "False",  # a function object for each method is a sixth of what the compiler has to do
    "embedsignature": "True",
    "embedsignature.format": "clinic",  # inspect.signature() works
}
NO_COMPILER = (
    "{} missing, and pip builds fastcql from source where it finds no wheel for the Python and the system (there are "
    "wheels of CPython 3.10 to 3.15 for Linux on x86-64 and aarch64, with glibc 2.28 or musl 1.2 or newer, which a "
    "current pip finds): install g++ and python3-dev (Debian, Ubuntu, Alpine), gcc-c++ and python3-devel (Fedora), or "
    "the Xcode command line tools (macOS)"
)
ONLY = [name for name in os.environ.get("FASTCQL_ONLY", "").split(",") if name]

# For what Cython writes: calls and branches, of which -O3 makes 12 % more code and no more than 1 % less work, see
# benchmarks/instructions.py. It takes a quarter longer to compile. Where the loops are in the C++ of the folders, -O1
# does as well as -O2 in 60 % of its time; requests, models and rows would take 1 to 4 % more instructions.
GENERATED_ARGS = {"columns": "-O1", "memory": "-O1"}

compile_args = ["-std=c++17", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused-parameter"]
compile_args.append("-Wno-missing-field-initializers")  # Cython's type objects, for each new Python
link_args: list[str] = []
macros: list[tuple[str, str | None]] = []
python_macros = [("Py_GIL_DISABLED", "1")] if ABI.endswith("t") else []  # pyconfig.h may be that of the other build
if DEBUG:
    compile_args += ["-O0", "-g", "-UNDEBUG"]
    macros += [("CQL_DEBUG", "1")]
else:
    compile_args += ["-O3", "-g0"]
if SANITIZE:
    flags = [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-g1"]  # lines, for reports
    compile_args += flags
    link_args += flags
if COVERAGE:
    compile_args += ["--coverage"]
    link_args += ["--coverage"]
if sys.platform.startswith("linux"):
    link_args += ["-pthread"]
if ABI.endswith("t") if ABI else sysconfig.get_config_var("Py_GIL_DISABLED"):
    macros += [("FASTCQL_FREE_THREADED", "1")]


def refuse_other_platforms() -> None:
    """End with one sentence where the compiler would with many errors."""
    if sys.platform == "win32":
        sys.exit("fastcql cannot be built on Windows: docs/contributing.rst, Other platforms, lists what is missing.")
    if sys.byteorder != "little" or sys.maxsize < 2**63 - 1:
        sys.exit(f"fastcql needs a 64-bit little-endian machine, such as x86-64 or ARM64, not {platform.machine()}.")


def cython_sources(name: str) -> list[Path]:
    declared = [*sorted(CORE.glob("*.pxd")), *sorted(CORE.glob("cpython/*.pxd"))]
    return [CORE / f"{name}.pyx", *sorted(CORE.glob(f"{name}_parts/*.pxi")), *declared]


def folder_sources(folder: str) -> list[Path]:
    return sorted((CORE / "cpp" / folder).glob("*.cpp"))


def extension(name: str) -> Extension:
    folders = [folder for folder in (name, *ALSO.get(name, ())) if folder_sources(folder)]
    headers = [*CORE.glob("cpp/**/*.h"), *CORE.glob("cpython/*.h")]
    native = [path for folder in folders for path in folder_sources(folder)]
    return Extension(
        f"cassandra._core.{name}",
        sources=[str(GENERATED / f"{name}.cpp"), *(str(GENERATED / f"{folder}_folder.cpp") for folder in folders)],
        depends=[str(path) for path in (*cython_sources(name), *native, *headers, "setup.py")],
        include_dirs=[str(CORE / "cpp"), str(CORE)],  # of #include "cpython/interpreter.h"
        define_macros=macros,
        extra_compile_args=compile_args,
        extra_link_args=link_args,
        language="c++",
    )


def translate(name: str) -> None:
    """Have Cython write the C++ of an extension, unless what is there was made of the same."""
    target = GENERATED / f"{name}.cpp"
    stamp = target.with_suffix(".sha256")
    options = [word for pair in DIRECTIVES.items() for word in ("-X", "=".join(pair))]
    digest = hashlib.sha256("\0".join([Cython.__version__, *options]).encode())
    for path in cython_sources(name):
        digest.update(b"\0%s\0" % str(path).encode() + path.read_bytes())
    if target.exists() and stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    GENERATED.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    command = [sys.executable, "-m", "cython", "--cplus", *options, str(CORE / f"{name}.pyx"), "-o", str(target)]
    subprocess.run(command, check=True)
    stamp.write_text(digest.hexdigest())


def join(source: Path) -> None:
    """Write the file that includes all of a folder."""
    folder = source.stem.removesuffix("_folder")
    text = "".join(f'#include "{path.relative_to(CORE / "cpp")}"\n' for path in folder_sources(folder))
    if not source.exists() or source.read_text() != text:
        GENERATED.mkdir(parents=True, exist_ok=True)
        source.write_text(text)


class Build(build_ext):
    def finalize_options(self) -> None:
        super().finalize_options()
        if INCLUDE:
            self.include_dirs = [INCLUDE]

    def build_extensions(self) -> None:
        refuse_other_platforms()
        self.check_extensions_list(self.extensions)
        stale = [one for one in self.extensions if self._is_stale(one)]
        if stale:
            self._check_tools()
        folder = Path(self.build_temp)
        jobs = [(source, one) for one in stale for source in one.sources]
        jobs.sort(key=lambda job: job[0] != job[1].sources[0])  # what Cython makes is the longest
        with ThreadPoolExecutor(self.parallel or os.cpu_count()) as pool:
            objects = {source: pool.submit(self._object, Path(source), one, folder) for source, one in jobs}
            try:
                for one in stale:
                    self._link(one, [objects[source].result() for source in one.sources])
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _is_stale(self, one: Extension) -> bool:
        made = self.get_ext_fullpath(one.name)
        return bool(self.force or newer_group(one.depends, made))

    def _check_tools(self) -> None:
        """End with what to install, not with the error of a compiler."""
        compiler = self.compiler.compiler_so_cxx[0]
        if shutil.which(compiler) is None:
            raise PlatformError(NO_COMPILER.format(f"the C++ compiler {compiler!r} is"))
        if not any(Path(folder, "Python.h").exists() for folder in self.include_dirs):
            raise PlatformError(NO_COMPILER.format("Python's headers (Python.h) are"))

    def _object(self, source: Path, one: Extension, folder: Path) -> str:
        arguments, defined = one.extra_compile_args, one.define_macros
        python = ""  # the objects of the core are the same for all
        if source.stem in NAMES:
            translate(source.stem)
            arguments = arguments if DEBUG else [*arguments, GENERATED_ARGS.get(source.stem, "-O2")]
            defined = [*defined, *python_macros]
            python = ABI or str(sysconfig.get_config_var("SOABI"))
            included = [path for path in one.depends if path.endswith(".h")]
        else:
            join(source)
            included = [path for path in one.depends if path.startswith(str(CORE / "cpp"))]
        flags = repr((self.compiler.compiler_so_cxx, python, arguments, defined)).encode()
        objects = str(folder / hashlib.sha256(flags).hexdigest()[:8])
        (made,) = self.compiler.object_filenames([str(source)], output_dir=objects)
        if self.force or newer_group([str(source), *included], made):
            self.compiler.compile(
                [str(source)],
                output_dir=objects,
                macros=defined,
                include_dirs=one.include_dirs,
                extra_postargs=arguments,
            )
        return str(made)

    def _link(self, one: Extension, objects: list[str]) -> None:
        self.compiler.link_shared_object(
            objects,
            self.get_ext_fullpath(one.name),
            libraries=self.get_libraries(one),
            library_dirs=one.library_dirs,
            extra_postargs=one.extra_link_args,
            export_symbols=self.get_export_symbols(one),
            build_temp=self.build_temp,
            target_lang="c++",
        )

    def get_source_files(self) -> list[str]:
        """For an sdist, which has the sources of Cython and not what it makes of them."""
        return [path for path in super().get_source_files() if not path.startswith(str(GENERATED))]


class Sdist(sdist):
    """Writes an archive whose bytes depend on the content of the files and SOURCE_DATE_EPOCH only."""

    def make_archive(
        self,
        base_name: str,
        format: str,
        root_dir: str | None = None,
        base_dir: str | None = None,
        owner: str | None = None,
        group: str | None = None,
    ) -> str:
        epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())

        def uniform(entry: tarfile.TarInfo) -> tarfile.TarInfo:
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = epoch, 0, 0, "", ""
            entry.mode = 0o755 if entry.mode & 0o100 else 0o644
            return entry

        made = f"{base_name}.tar.gz"
        Path(made).parent.mkdir(parents=True, exist_ok=True)
        with (
            Path(made).open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=epoch) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            archive.add(base_dir, filter=uniform)  # in the order of names
        return made


class Wheel(bdist_wheel):
    def get_tag(self) -> tuple[str, str, str]:
        return TARGET if len(TARGET) == 3 else super().get_tag()

    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        super().egg2dist(egginfo_path, distinfo_path)
        if SBOM:
            folder = Path(distinfo_path, "sboms")
            folder.mkdir()
            shutil.copyfile(SBOM, folder / Path(SBOM).name)


if __name__ == "__main__":
    setup(
        ext_modules=[extension(name) for name in NAMES if not ONLY or name in ONLY],
        cmdclass={"bdist_wheel": Wheel, "build_ext": Build, "sdist": Sdist},
    )
