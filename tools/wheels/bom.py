"""The bill of materials of a wheel, in CycloneDX's JSON, see PEP 770: what of others is in its binary files."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tools.wheels.targets import Target

LLVM = "Apache-2.0 WITH LLVM-exception"


def bill_of_materials(folder: Path, llvm: str, target: Target, epoch: int) -> Path:
    """Write the file, which the same sources and tools give the same content; return its path."""
    tools = {name: version(name) for name in ("ziglang", "Cython", "setuptools")}
    text = json.dumps(document(release(), llvm, tools, target, epoch), indent=2, sort_keys=True) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "fastcql.cdx.json"
    path.write_text(text)
    return path


def document(name: str, llvm: str, tools: Mapping[str, str], target: Target, epoch: int) -> dict[str, Any]:
    bundled = [
        component("libc++", llvm, LLVM, "C++ standard library"),
        component("libc++abi", llvm, LLVM, "exceptions and type information of C++"),
        component("compiler-rt", tools["ziglang"], "MIT", "functions that compiled code calls, as written for Zig"),
    ]
    if target.platform.is_musl:
        bundled.append(component("libunwind", llvm, LLVM, "unwinding of the stack"))
    wheel = component("fastcql", name, "Apache-2.0", f"wheel {target.tag}")
    wheel["purl"] = f"pkg:pypi/fastcql@{name}"
    made: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": wheel,
            "tools": {
                "components": [
                    {"type": "application", "name": tool, "version": number} for tool, number in sorted(tools.items())
                ]
            },
        },
        "components": bundled,
        "dependencies": [{"ref": wheel["bom-ref"], "dependsOn": [one["bom-ref"] for one in bundled]}],
    }
    made["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(made, sort_keys=True))}"
    return made


def component(name: str, number: str, licence: str, description: str) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": f"{name}@{number}",
        "name": name,
        "version": number,
        "description": description,
        "licenses": [{"expression": licence}],
    }


def release() -> str:
    """The version of the driver, read without its extensions."""
    path = Path(__file__).resolve().parents[2] / "cassandra" / "_base" / "version.py"
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return str(names["__version__"])
