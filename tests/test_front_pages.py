"""The front pages, ``README.rst`` and ``docs/llms.txt``: their links lead to files of this repository."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from docutils.core import publish_string

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
URLS = dict(re.findall(r'^(\w+) = "(https://.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE))
PAGE = re.compile(re.escape(URLS["Documentation"]) + r"/en/latest/([\w./-]+)\.html")
STATIC = re.compile(re.escape(URLS["Documentation"]) + r"/en/latest/(_static/[\w./-]+)")
FILE = re.compile(re.escape(URLS["Source"]) + r"/blob/main/([\w./-]+)")
URL = re.compile(r"https?://[^\s)>]+")
#: for those who change the driver; the front page itself
OTHERS = {"index", "architecture", "contributing"}


@pytest.mark.parametrize("path", [ROOT / "README.rst", DOCS / "llms.txt"], ids=lambda path: path.name)
def test_links_lead_to_files(path: Path) -> None:
    for url in URL.findall(path.read_text()):
        page, static, file = PAGE.match(url), STATIC.match(url), FILE.match(url)
        assert page or static or file, f"{url} is none of the project's"
        assert page is None or (DOCS / f"{page[1]}.rst").exists(), url
        assert static is None or (DOCS / static[1]).exists(), url
        assert file is None or (ROOT / file[1]).exists(), url


def test_the_readme_renders_with_all_its_links() -> None:
    """As PyPI does it: an unknown target is an error there, in place of the link."""
    said = io.StringIO()
    text = (ROOT / "README.rst").read_text()
    made = publish_string(text, writer="html5", settings_overrides={"warning_stream": said, "report_level": 2})
    assert said.getvalue() == ""
    for url in URL.findall(text):
        assert f'"{url}"' in made.decode(), url


def test_all_pages_are_listed_for_language_models() -> None:
    listed = set(PAGE.findall((DOCS / "llms.txt").read_text()))
    assert {path.stem for path in DOCS.glob("*.rst")} - OTHERS <= listed
