"""The program ``scripts/release`` as a module."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


def load() -> Any:
    loader = SourceFileLoader("release", str(ROOT / "scripts" / "release"))
    spec = spec_from_loader("release", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module
