"""What can be said of a wheel without running it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path, PurePosixPath

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import SymbolTableSection

from tools.wheels.build import UNWINDING
from tools.wheels.targets import Target, covers

LARGEST = 3_500_000
EXTENSIONS = frozenset({"codec", "columns", "memory", "models", "routing", "transport"})
SOURCES = {".c", ".cpp", ".h", ".pxd", ".pxi", ".pyx"}
GLIBC = re.compile(r"lib(c\.so\.6|m\.so\.6|pthread\.so\.0|dl\.so\.2|gcc_s\.so\.1)|ld-linux-[\w-]+\.so\.\d")
MUSL = re.compile(r"libc\.so")
MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}


def problems(wheel: Path, target: Target) -> list[str]:
    """Return what is wrong with *wheel*, a sentence each."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    found = [*_size(wheel), *_content(files, target), *_tag(wheel, files, target)]
    for name, content in files.items():
        if name.endswith(".so"):
            found += (f"{PurePosixPath(name).name}: {problem}" for problem in binary_problems(name, content, target))
    return found


def _size(wheel: Path) -> Iterator[str]:
    if (size := wheel.stat().st_size) > LARGEST:
        yield f"{size:,} bytes, more than {LARGEST:,}"


def _content(files: dict[str, bytes], target: Target) -> Iterator[str]:
    expected = {f"cassandra/_core/{name}{target.suffix}" for name in EXTENSIONS}
    binary = {name for name in files if ".so" in PurePosixPath(name).suffixes}
    if binary != expected:
        yield f"extension modules: {sorted(binary)}, not {sorted(expected)}"
    for name in sorted(files):
        if PurePosixPath(name).suffix in SOURCES:
            yield f"a source file: {name}"
        elif not re.match(r"cassandra/|[\w.-]+\.dist-info/", name):
            yield f"outside of the package: {name}"
    for name in ("cassandra/py.typed", *(f"cassandra/_core/{name}.pyi" for name in sorted(EXTENSIONS))):
        if name not in files:
            yield f"missing: {name}"
    boms = [name for name in files if re.fullmatch(r"[\w.-]+\.dist-info/sboms/fastcql\.cdx\.json", name)]
    if len(boms) != 1:
        yield f"bills of materials: {boms}"
    elif {one["name"] for one in json.loads(files[boms[0]])["components"]} < {"libc++", "libc++abi", "compiler-rt"}:
        yield "bill of materials without the C++ runtime"


def _tag(wheel: Path, files: dict[str, bytes], target: Target) -> Iterator[str]:
    if not wheel.name.endswith(f"-{target.tag}.whl"):
        yield f"named {wheel.name}, not for {target.tag}"
    (metadata,) = (content.decode() for name, content in files.items() if name.endswith(".dist-info/WHEEL"))
    if f"Tag: {target.tag}" not in metadata.splitlines():
        yield f"WHEEL has not the tag {target.tag}"
    if target.platform.is_musl:
        return  # auditwheel knows musl by the name that Alpine gives it; its loader takes libc.so for itself
    command = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    text = " ".join((shown.stdout + shown.stderr).split())
    match = re.search(r'consistent with the following platform tag: "(\w+)"', text)
    if match is None or not covers(target.platform.tag, match[1]):
        yield f"auditwheel does not find {target.platform.tag}: {match[1] if match else text}"


def binary_problems(name: str, content: bytes, target: Target) -> Iterator[str]:
    """The same of one extension module."""
    file = ELFFile(BytesIO(content))
    if file["e_machine"] != MACHINES[target.platform.machine]:
        yield f"for {file['e_machine']}"
    for section in file.iter_sections():
        if section.name == ".symtab" or section.name.startswith(".debug"):
            yield f"not stripped: {section.name}"
    dynamic = file.get_section_by_name(".dynamic")
    assert isinstance(dynamic, DynamicSection)
    libraries = MUSL if target.platform.is_musl else GLIBC
    for tag in dynamic.iter_tags():
        if tag.entry.d_tag == "DT_NEEDED" and not libraries.fullmatch(tag.needed):
            yield f"needs {tag.needed}"
        if tag.entry.d_tag in {"DT_RPATH", "DT_RUNPATH"}:
            yield "has a search path"
    symbols = file.get_section_by_name(".dynsym")
    assert isinstance(symbols, SymbolTableSection)
    defined = {one.name for one in symbols.iter_symbols() if one.name and one["st_shndx"] != "SHN_UNDEF"}
    if defined != {f"PyInit_{PurePosixPath(name).name.split('.')[0]}"}:
        yield f"exports {sorted(defined)[:5]}"
    used = {one.name for one in symbols.iter_symbols() if one["st_shndx"] == "SHN_UNDEF"}
    if "malloc" not in used:
        yield "has a C library of its own"
    for symbol in sorted(used):
        if symbol.startswith(("_ZNSt", "_ZSt", "__cxa_throw", "__gxx_personality")):
            yield f"takes {symbol} from a C++ library that is not in it"
    if target.platform.is_musl == any(symbol.startswith("_Unwind_") for symbol in used):
        yield "has not the unwinder of the C library's pthread_exit()"
    yield from _versions(file, target)
    if b"/tmp/" in content or b"/home/" in content or b"/root/" in content:
        yield "contains a path of the machine that built it"


def _versions(file: ELFFile, target: Target) -> Iterator[str]:
    newest = (2, 28)
    for section in file.iter_sections():
        if not isinstance(section, GNUVerNeedSection):
            continue
        for _, versions in section.iter_versions():
            for version in versions:
                number = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version.name)
                if target.platform.is_musl:
                    yield f"needs {version.name}, with musl"
                elif version.name not in UNWINDING and (number is None or (int(number[1]), int(number[2])) > newest):
                    yield f"needs {version.name}"
