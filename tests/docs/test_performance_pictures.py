"""The pictures of ``python -m benchmarks compare``: SVG with a title, a description and the figures as text."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from benchmarks.compare import figures, plots
from benchmarks.compare.pictures import PICTURES, Picture

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def published() -> figures.Comparison:
    return figures.read()


@pytest.mark.parametrize("theme", plots.THEMES, ids=lambda theme: theme.name)
@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_is_described_and_labelled(
    picture: Picture, theme: plots.Theme, published: figures.Comparison
) -> None:
    text = plots.svg(published, picture, theme)
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == picture.title and root.findtext(f"{SVG}desc")
    texts = [one.text for one in root.iter(f"{SVG}text")]
    assert texts.count("fastcql") == len(picture.panels)
    assert theme.background in text and theme.ours in text


def test_the_same_figures_give_the_same_file(published: figures.Comparison) -> None:
    """No dates, no random names: a run changes only what has changed."""
    first, again = (plots.svg(published, PICTURES[0], plots.THEMES[0]) for _ in range(2))
    assert first == again


def test_bars_of_others_are_hatched(published: figures.Comparison) -> None:
    (picture,) = (picture for picture in PICTURES if picture.name == "headlines")
    root = ElementTree.fromstring(plots.svg(published, picture, plots.THEMES[0]))
    bars = [path.get("style") or "" for path in root.iter(f"{SVG}path")]
    ours = [style for style in bars if plots.THEMES[0].ours in style]
    others = [style for style in bars if "url(#" in style]
    assert len(ours) == len(picture.panels) and len(others) >= len(ours)


def test_a_driver_without_figures_has_no_bar(published: figures.Comparison) -> None:
    (picture,) = (picture for picture in PICTURES if picture.name == "start")
    fewer = {**published, "workloads": {"import": published["workloads"]["import"]}}
    root = ElementTree.fromstring(plots.svg(fewer, picture, plots.THEMES[0]))
    assert [one.text for one in root.iter(f"{SVG}text")].count("fastcql") == 1
