"""Text of a server made safe for logs and terminals."""

from __future__ import annotations

import logging
import unicodedata

import pytest

from cassandra._base.logs import get_logger, printable


def test_plain_text_is_unchanged() -> None:
    for text in ("", "a plain line", "naïve Straße 東京 🙂", "a\\nb"):
        assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb", "a\\nb"),
        ("a\r\nb\tc", "a\\r\\nb\\tc"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x00\x07\x7f\x85\x9b", "\\x00\\x07\\x7f\\x85\\x9b"),
        ("a\u2028b\u2029c", "a\\u2028b\\u2029c"),
        ("\u202eevil\u202c\u2066x\u2069\u200e\u200f\u061c", "\\u202eevil\\u202c\\u2066x\\u2069\\u200e\\u200f\\u061c"),
        ("\ud800x\udfff", "\\ud800x\\udfff"),
        ("\U000e0001", "\\U000e0001"),
        ("\ufeff\u200b", "\\ufeff\\u200b"),
    ],
)
def test_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_every_control_and_format_character_is_escaped() -> None:
    for code in range(0x110000):
        character = chr(code)
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            shown = printable(character)
            assert shown.isascii() and shown.isprintable(), hex(code)


def test_other_objects_by_their_text() -> None:
    assert printable(None) == "None"
    assert printable(12) == "12"
    assert printable(ValueError("a\nb")) == "a\\nb"


def test_an_object_without_text() -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert printable(Broken()) == "<Broken: str() failed with RuntimeError>"


def test_is_cut_to_the_limit() -> None:
    assert printable("x" * 10, 10) == "x" * 10
    assert printable("x" * 11, 10) == "x" * 9 + "…"
    assert len(printable("\n" * 100_000)) <= 4096
    assert printable("\n" * 100_000).endswith("…")
    assert not printable("\x1b" * 10, 10).removesuffix("…").endswith(("\\", "\\x", "\\x1"))  # no half of an escape


def test_cuts_before_it_looks() -> None:
    """A text of 100 MB costs what one of 4 kB does."""
    text = "\n" * 100_000_000
    assert printable(text).startswith("\\n\\n")


@pytest.fixture
def records(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, "cassandra")
    return caplog


def test_messages_are_one_printable_line(records: pytest.LogCaptureFixture) -> None:
    log = get_logger("cassandra.test_printable")
    log.warning("The server says %s of %r: %d", "evil\n\x1b[31mCRITICAL fake", "x", 3)
    assert records.messages == ["The server says evil\\n\\x1b[31mCRITICAL fake of 'x': 3"]


def test_ordinary_records_keep_their_arguments(records: pytest.LogCaptureFixture) -> None:
    log = get_logger("cassandra.test_printable")
    log.info("%s is up", "10.0.0.1")
    assert (records.records[0].msg, records.records[0].args) == ("%s is up", ("10.0.0.1",))


def test_messages_are_cut(records: pytest.LogCaptureFixture) -> None:
    log = get_logger("cassandra.test_printable")
    log.info("%s", "x" * 1_000_000)
    assert len(records.messages[0]) <= 4096


def test_a_message_that_cannot_be_made_is_left_to_logging(records: pytest.LogCaptureFixture) -> None:
    log = get_logger("cassandra.test_printable")
    log.filters[0].filter(logging.makeLogRecord({"msg": "%d", "args": ("x",)}))  # type: ignore[union-attr]


def test_the_same_logger_with_one_filter() -> None:
    log = get_logger("cassandra.test_printable")
    assert get_logger("cassandra.test_printable") is log is logging.getLogger("cassandra.test_printable")
    assert len(log.filters) == 1
