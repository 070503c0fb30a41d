"""The API reference, as ``make docs`` has built it, shows everything public and says what it is.

Public is each name in the ``__all__`` of a module without a leading underscore in its path, and each attribute of a
class among these, without a leading underscore; not the aliases that ``cassandra._base.aliases`` adds for old programs,
nor names that only hint at the attribute of a result.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import zlib
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import cassandra
from cassandra._base.aliases import is_alias
from cassandra._session.request.hints import OfResult

BUILT = Path(__file__).parents[2] / "docs" / "_build"
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


def modules() -> Iterator[Any]:
    """Yield all public modules."""
    yield cassandra
    for found in pkgutil.walk_packages(cassandra.__path__, "cassandra."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            yield importlib.import_module(found.name)


def attributes(kind: type) -> Iterator[str]:
    """Yield the public attributes of a class that it has from the driver."""
    for base in kind.__mro__:
        if base.__module__.split(".")[0] == "cassandra":
            for name in [*vars(base), *getattr(base, "__annotations__", ())]:
                if (
                    not name.startswith("_")
                    and not is_alias(base, name)
                    and not isinstance(vars(base).get(name), OfResult)
                ):
                    yield name


def public() -> Iterator[str]:
    """Yield the dotted names of everything public."""
    for module in modules():
        for name in getattr(module, "__all__", ()):
            if name.startswith("_") and not name.startswith("__"):
                continue
            if not is_alias(module, name):
                path = f"{module.__name__}.{name}"
                yield path
                value = getattr(module, name)
                if inspect.isclass(value) and value.__module__ == module.__name__ and value.__name__ == name:
                    yield from (f"{path}.{each}" for each in dict.fromkeys(attributes(value)))


@pytest.fixture(scope="module")
def inventory() -> dict[str, str]:
    """The place of each Python name, as page and anchor."""
    data = (BUILT / "objects.inv").read_bytes()
    lines = zlib.decompress(data.split(b"\n", 4)[4]).decode().splitlines()
    found = {}
    for line in lines:
        name, role, _, place, _ = line.split(" ", 4)
        if role.startswith("py:"):
            found[name] = place.replace("$", name)
    return found


class Entries(HTMLParser):
    """Collects the text below each term of a page that has an anchor."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        self._open: list[tuple[str, list[str]]] = []  # open elements; of descriptions, with the anchors of their terms
        self._terms: list[list[str]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            return
        anchor = dict(attributes).get("id")
        anchors: list[str] = []
        if tag == "dl":
            self._terms.append([])
        elif tag == "dt" and anchor and self._terms:
            self._terms[-1].append(anchor)
            self.texts.setdefault(anchor, "")
        elif tag == "dd" and self._terms:
            anchors, self._terms[-1] = self._terms[-1], []
        self._open.append((tag, anchors))

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            last, _ = self._open.pop()
            if last == "dl":
                self._terms.pop()
            if last == tag:
                break

    def handle_data(self, data: str) -> None:
        for _, anchors in self._open:
            for anchor in anchors:
                self.texts[anchor] += data.strip()


def test_everything_public_is_in_the_inventory(inventory: dict[str, str]) -> None:
    missing = [name for name in public() if name not in inventory]
    assert not missing, "\n".join(missing)


def test_every_entry_has_a_text(inventory: dict[str, str]) -> None:
    texts: dict[str, dict[str, str]] = {}
    empty = []
    for name, place in inventory.items():
        page, _, anchor = place.partition("#")
        if page.startswith("api/") and not anchor.startswith("module-"):
            if page not in texts:
                parser = Entries()
                parser.feed((BUILT / page).read_text())
                texts[page] = parser.texts
            if not texts[page].get(anchor):
                empty.append(name)
    assert not empty, "\n".join(empty)


@pytest.mark.parametrize(
    "text",
    [
        "Create a new string object from the given object",
        "Alias for field number",
        "&lt;factory&gt;",
        "See help(struct)",
    ],
)
def test_texts_of_python_are_not_shown(text: str) -> None:
    assert not [page.name for page in (BUILT / "api").glob("*.html") if text in page.read_text()]


def signatures() -> Iterator[tuple[str, str]]:
    """Each anchor of an entry, and the HTML of its signature."""
    for page in sorted((BUILT / "api").glob("*.html")):
        yield from re.findall(r'<dt class="sig[^>]*id="([^"]+)"(.*?)</dt>', page.read_text(), re.DOTALL)


@pytest.mark.parametrize("name", ["bytes", "type", "datetime", "UUID"])
def test_names_of_python_do_not_link_to_attributes_of_the_driver(name: str) -> None:
    link = re.compile(rf'<a class="reference [^"]*" href="[^"]*\.{name}"[^>]*><span class="pre">{name}</span>')
    assert not [anchor for anchor, line in signatures() if link.search(line)]


@pytest.mark.parametrize("name", ["__table_name__", "__keyspace__", "__options__", "__default_ttl__"])
def test_options_of_models_are_described(inventory: dict[str, str], name: str) -> None:
    assert f"cassandra.cqlengine.models.Model.{name}" in inventory


def test_annotations_are_not_in_quotes() -> None:
    quoted = []
    for anchor, line in signatures():
        signature = unescape(re.sub("<[^>]+>", "", line))
        if re.search(r"→ '|[(,]\s*\w+: '", signature):
            quoted.append(anchor)
    assert not quoted, "\n".join(quoted)


def test_every_option_of_a_cluster_has_an_entry(inventory: dict[str, str]) -> None:
    parameters = set(inspect.signature(cassandra.cluster.Cluster).parameters) - {"scylla_cloud"}
    missing = [name for name in parameters if f"cassandra.cluster.Cluster.{name}" not in inventory]
    assert not missing, "\n".join(missing)
