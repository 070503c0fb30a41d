"""Sphinx configuration; ``make docs`` builds with warnings as errors."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]
_VERSION = _ROOT / "cassandra" / "_base" / "version.py"
sys.path.insert(0, str(_ROOT))

project = "fastcql"
author = "the fastcql developers"
project_copyright = "the fastcql developers"
release = re.findall(r'__version__ = "(.+?)"', _VERSION.read_text())[0]
version = release

extensions = ["sphinx.ext.autodoc"]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": True}

exclude_patterns = ["_build"]
nitpicky = True
# Of other packages, and of what is private, only the name is told. Of ours everything is on its page, but for classes
# that are met and not imported.
nitpick_ignore_regex = [("py:.*", r"(?!cassandra\.[a-z]).*|.*\._.*")]
nitpick_ignore = [
    ("py:class", "cassandra.cqlengine.query.Explanation"),
    ("py:class", "cassandra.query.ClassRow"),
    ("py:class", "cassandra.tablets.Tablet"),
]
suppress_warnings = ["ref.python"]  # classes of the same name in two modules, in annotations
highlight_language = "python"

html_theme = "furo"
html_extra_path = ["llms.txt"]
html_title = f"fastcql {release}"
html_copy_source = False


def _elsewhere(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Skip what a module lends from another, which describes it."""
    home = getattr(member, "__module__", None)
    if what == "module" and home is not None and home != app.env.temp_data.get("autodoc:module"):
        return True
    return None


def setup(app: Any) -> None:
    app.connect("autodoc-skip-member", _elsewhere)
