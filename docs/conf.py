"""Sphinx configuration; ``make docs`` builds with warnings as errors."""

from __future__ import annotations

import re
from pathlib import Path

_VERSION = Path(__file__).parents[1] / "cassandra" / "_base" / "version.py"

project = "fastcql"
author = "the fastcql developers"
project_copyright = "the fastcql developers"
release = re.findall(r'RELEASE = "(.+?)"', _VERSION.read_text())[0]
version = release

exclude_patterns = ["_build"]
nitpicky = True
highlight_language = "python"

html_theme = "furo"
html_title = f"fastcql {release}"
html_copy_source = False
