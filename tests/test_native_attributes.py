"""Attributes that native code looks up by name: none of a layer above it.

Cython marks a look-up by name in the C++ that it makes; typed fields and methods leave none. ``native_attributes.txt``
lists what is looked up in each part: attributes of Python's own objects, of objects of its layer and below, and
protocols that are declared in a stub. A name that native code looks up in objects of an upper layer stands behind
"upward:", and may only go.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GENERATED = ROOT / "build" / "generated"
LISTED = Path(__file__).with_name("native_attributes.txt")
PLACE = re.compile(r'/\* "cassandra/_core/([^"]+)":\d+')
NAME = r"__pyx_mstate_global->__pyx_n_u_(\w+)"
LOOK_UP = re.compile(
    rf"__Pyx_PyObject_(?:GetAttrStr|GetAttrStrNoError|SetAttrStr|DelAttrStr)\([^;]*?{NAME}"
    rf"|__Pyx_PyObject_FastCallMethod\w*\(\(PyObject\*\){NAME}"
)


def looked_up() -> dict[str, set[str]]:
    """The names that each part looks up, without underscores and numbers that Cython adds."""
    found: dict[str, set[str]] = defaultdict(set)
    for module in (ROOT / "cassandra" / "_core").glob("*.pyx"):
        part = ""
        with (GENERATED / f"{module.stem}.cpp").open(encoding="utf-8") as lines:
            for line in lines:
                place = PLACE.search(line)
                if place:
                    part = place[1]
                    continue
                for names in LOOK_UP.findall(line):
                    found[part].add(re.sub(r"_\d+$", "", next(filter(None, names))))
    return found


def listed() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Allowed names, and upward ones, of each part."""
    allowed, upward = {}, {}
    for line in LISTED.read_text().splitlines():
        if not line.startswith("#"):
            part, _, names = line.partition(":")
            own, _, above = names.partition("upward:")
            allowed[part], upward[part] = set(own.split()), set(above.split())
    return allowed, upward


def test_native_code_looks_up_listed_attributes_only() -> None:
    allowed, upward = listed()
    found = looked_up()
    new = {part: sorted(names - allowed.get(part, set()) - upward.get(part, set())) for part, names in found.items()}
    assert not {part: names for part, names in new.items() if names}
    gone = {part: sorted((allowed[part] | upward[part]) - found.get(part, set())) for part in allowed}
    assert not {part: names for part, names in gone.items() if names}, "take them from the list"
