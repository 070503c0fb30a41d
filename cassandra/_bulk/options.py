"""Options of COPY of cqlsh that are supported here, as arguments and in a ``cqlshrc`` (L6).

:class:`Dialect` and :class:`Style` are the spelling of lines and values in CSV files. Immutable.
"""

from __future__ import annotations

import argparse
import codecs
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .console import UsageError


class Dialect(NamedTuple):
    """Format of lines."""

    delimiter: str = ","
    quote: str = '"'
    escape: str = "\\"
    header: bool = False
    encoding: str = "utf8"

    @property
    def doubles(self) -> bool:
        """True if a quote within quotes is written twice."""
        return self.quote == self.escape


class Style(NamedTuple):
    """Format of fields. Without precisions numbers have all the digits needed to read the same number again.

    ``as_cqlsh``: texts and numbers as COPY TO writes them, which COPY FROM cannot always read again.
    """

    null: str = ""
    true: str = "True"
    false: str = "False"
    datetime_format: str | None = None
    decimal_sep: str = "."
    thousands_sep: str = ""
    float_precision: int | None = None
    double_precision: int | None = None
    as_cqlsh: bool = False

    @property
    def separates(self) -> bool:
        """True if numbers have other separators than Python reads."""
        return self.decimal_sep != "." or bool(self.thousands_sep)


# ---- options of COPY

#: Encodings of names and of source text: line ends and letters have another meaning there.
_NOT_OF_FILES = frozenset(("idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined"))


class Option(NamedTuple):
    """An option: ``name`` as in COPY; ``flag`` without its leading dashes."""

    name: str
    flag: str
    help: str
    read: Callable[[str], Any]
    directions: tuple[str, ...] = ("to", "from")


def character(text: str) -> str:
    text = {"\\t": "\t", "\\\\": "\\"}.get(text, text)
    if len(text) != 1 or not text.isascii() or text in "\r\n":
        raise ValueError("must be one ASCII character")
    return text


def number(text: str) -> int:
    return int(text)


def truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return text.lower() == "true"


def encoding(text: str) -> str:
    try:
        found = codecs.lookup(text).name
        "\r\n".encode(text)
    except (LookupError, ValueError):
        found = None
    if found is None or found in _NOT_OF_FILES:
        raise ValueError("must be the name of a text encoding")
    return text


def booleans(text: str) -> tuple[str, str]:
    styles = [style.strip() for style in text.split(",")]
    if len(styles) != 2 or not all(styles) or styles[0].lower() == styles[1].lower():
        raise ValueError("must be two different words, such as True,False")
    return styles[0], styles[1]


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def token(text: str) -> int | None:
    return int(text) if text else None


OPTIONS = (
    Option("header", "header", "the first line has the column names (default: false)", truth),
    Option("delimiter", "delimiter", "character between fields (default: a comma)", character),
    Option("quote", "quote", 'character around fields (default: ")', character),
    Option("escape", "escape", "before a quote within quotes; the quote itself doubles it (default: \\)", character),
    Option("null", "null", "text of null (default: empty)", str),
    Option("encoding", "encoding", "encoding of the file (default: utf8)", encoding),
    Option(
        "datetimeformat",
        "datetimeformat",
        "format of timestamps, for strftime (default: 2026-01-31 12:34:56.789+0000)",
        str,
    ),
    Option("decimalsep", "decimalsep", "decimal separator (default: .)", character),
    Option("thousandssep", "thousandssep", "thousands separator (default: none)", str),
    Option("boolstyle", "boolstyle", "words for true and false (default: True,False)", booleans),
    Option("floatprecision", "float-precision", "digits of a float (default: all)", number, ("to",)),
    Option("doubleprecision", "double-precision", "digits of a double (default: all)", number, ("to",)),
    Option("begintoken", "begin-token", "only rows with a greater token (default: all)", token, ("to",)),
    Option("endtoken", "end-token", "only rows with a token up to this one (default: all)", token, ("to",)),
    Option("maxoutputsize", "max-output-size", "approximate rows of a file (default: 1,000,000)", number, ("to",)),
    Option("skiprows", "skip-rows", "number of rows to skip, over all files (default: 0)", number, ("from",)),
    Option("skipcols", "skip-cols", "columns of the file not to load (default: none)", names, ("from",)),
    Option(
        "maxrows",
        "max-rows",
        "number of rows to read over all files, with skipped ones (default: all)",
        number,
        ("from",),
    ),
    Option("maxparseerrors", "max-parse-errors", "tolerated unreadable rows (default: -1, any)", number, ("from",)),
    Option("maxinserterrors", "max-insert-errors", "tolerated failed rows (default: 1000; -1: any)", number, ("from",)),
    Option("maxbatchsize", "max-batch-size", "rows of one partition in a batch (default: 32)", number, ("from",)),
    Option(
        "errfile",
        "err-file",
        "reasons of rejected rows (default: load-ks.table.err); the rows are in .bad",
        str,
        ("from",),
    ),
    Option("ttl", "ttl", "time to live of the rows, in seconds (default: that of the table)", number, ("from",)),
    Option("maxcelllines", "max-cell-lines", "lines of a cell in quotes (default: 1000; -1: any)", number, ("from",)),
)
#: Options of cqlsh that affect how it runs but not the result: they may be in a cqlshrc.
IGNORED = frozenset(
    (
        *("numprocesses", "chunksize", "ingestrate", "maxattempts", "reportfrequency", "ratefile", "pagesize"),
        *("pagetimeout", "maxrequests", "minbatchsize", "preparedstatements", "configfile", "maxinflightmessages"),
        *("maxbackoffattempts", "maxpendingchunks", "requesttimeout", "childtimeout"),
    )
)


#: Options of rows, of any format; the others are of CSV.
_OF_ROWS = frozenset(
    (
        *("begintoken", "endtoken", "maxoutputsize", "skiprows", "skipcols", "maxrows", "maxparseerrors"),
        *("maxinserterrors", "maxbatchsize", "errfile", "ttl"),
    )
)
_SHORT = {"delimiter": "-d"}


def add_arguments(parser: argparse.ArgumentParser, rows: argparse._ArgumentGroup, direction: str) -> None:
    """Add the options of COPY TO or COPY FROM: those of rows to the group *rows*, the others to one of their own."""
    texts = parser.add_argument_group("CSV")
    metavars: dict[Any, str] = {
        character: "CHAR", number: "N", token: "TOKEN", names: "a,b", booleans: "TRUE,FALSE", encoding: "NAME",
        truth: "true|false",
    }  # fmt: skip
    for option in OPTIONS:
        if direction in option.directions:
            several: dict[str, Any] = {"nargs": "?", "const": "true"} if option.read is truth else {}
            flags = [_SHORT[option.name]] if option.name in _SHORT else []
            (rows if option.name in _OF_ROWS else texts).add_argument(
                *flags,
                f"--{option.flag}",
                dest=f"copy_{option.name}",
                metavar="FILE" if option.name == "errfile" else metavars.get(option.read, "TEXT"),
                help=option.help.replace("%", "%%"),
                **several,
            )


def read_options(
    arguments: argparse.Namespace, from_files: Mapping[str, tuple[str, str]], direction: str
) -> dict[str, Any]:
    """Return values by COPY's names, of the options that were given. Raise UsageError for an invalid value or an
    unknown option."""
    known = {option.name: option for option in OPTIONS}
    found: dict[str, Any] = {}
    for name, (text, section) in from_files.items():
        if name in IGNORED:
            continue
        if name not in known:
            raise UsageError(f"unknown option of COPY in [{section}]: {name}")
        if direction in known[name].directions:
            found[name] = _value(known[name], text, f"{name} of [{section}]")
    for name, option in known.items():
        given: str | None = getattr(arguments, f"copy_{name}", None)
        if given is not None:
            found[name] = _value(option, given, f"--{option.flag}")
    return found


def _value(option: Option, text: str, where: str) -> Any:
    try:
        return option.read(text)
    except ValueError as error:
        reason = str(error) if option.read is not number and option.read is not token else "must be a whole number"
        raise UsageError(f"{where} {reason}, not {text!r}") from None


def dialect_of(options: Mapping[str, Any]) -> Dialect:
    found = {name: options[name] for name in ("delimiter", "quote", "escape", "header", "encoding") if name in options}
    dialect = Dialect(**found)
    if dialect.delimiter in (dialect.quote, dialect.escape):
        raise UsageError("the delimiter must differ from the quote and the escape character")
    return dialect


def style_of(options: Mapping[str, Any], as_cqlsh: bool) -> Style:
    true, false = options.get("boolstyle", ("True", "False"))
    style = Style(
        null=options.get("null", ""),
        true=true,
        false=false,
        datetime_format=options.get("datetimeformat"),
        decimal_sep=options.get("decimalsep", "."),
        thousands_sep=options.get("thousandssep", ""),
        float_precision=options.get("floatprecision", 5 if as_cqlsh else None),
        double_precision=options.get("doubleprecision", 12 if as_cqlsh else None),
        as_cqlsh=as_cqlsh,
    )
    if style.decimal_sep == style.thousands_sep:
        raise UsageError("--decimalsep and --thousandssep are the same")
    return style


def check_copy_options(dialect: Dialect, style: Style) -> None:
    """Raise UsageError for options that make null, numbers or moments ambiguous in a file."""
    for character, name in ((dialect.delimiter, "the delimiter"), (dialect.quote, "the quote"), ("\r", ""), ("\n", "")):
        if character in style.null:
            raise UsageError(f"--null contains {name or 'a line break'}: {style.null!r}")
    for option, text in (("--decimalsep", style.decimal_sep), ("--thousandssep", style.thousands_sep)):
        if len(text) > 1 or text.isalnum() or (text and text in "+-\r\n"):
            raise UsageError(f"{option} must be one character that cannot be part of a number: {text!r}")
    if style.datetime_format == "":
        raise UsageError("--datetimeformat is empty")
