"""Spelling of values in CSV files: options of COPY of cqlsh (L6). Immutable."""

from __future__ import annotations

from typing import NamedTuple


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
