"""Sphinx configuration; ``make docs`` builds with warnings as errors."""

from __future__ import annotations

import re
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_VERSION = _ROOT / "cassandra" / "_base" / "version.py"
sys.path[:0] = [str(_ROOT), str(_ROOT / "docs")]  # for autodoc, and for reference.py

project = "fastcql"
author = "the fastcql developers"
project_copyright = "the fastcql developers"
release = re.findall(r'__version__ = "(.+?)"', _VERSION.read_text())[0]
version = release

extensions = ["sphinx.ext.autodoc", "sphinx_copybutton", "reference"]
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True  # <NOT_SET> cannot be parsed
maximum_signature_line_length = 90  # longer ones: a line per parameter
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

exclude_patterns = ["_build"]
nitpicky = True
# Of other packages, and of private modules, names are shown without a link. Everything else is on its page.
nitpick_ignore_regex = [("py:.*", r"(?!cassandra\.[a-z]).*|.*\._.*")]
# Classes that are met and not imported, and an alias for old programs.
nitpick_ignore = [
    ("py:class", "cassandra.cqlengine.query.Explanation"),
    ("py:class", "cassandra.query.ClassRow"),
    ("py:func", "cassandra.protocol.cython_protocol_handler"),
]
suppress_warnings = ["ref.python"]  # classes of the same name in two modules, in annotations
highlight_language = "python"

html_theme = "furo"
html_extra_path = ["llms.txt"]
html_title = f"fastcql {release}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["reference.css"]
pygments_style = "default"  # whose colours have enough contrast
pygments_dark_style = "monokai"
copybutton_selector = "div:not(.output) > div.highlight > pre"
copybutton_exclude = ".linenos, .gp, .go"  # of shell sessions only the commands
