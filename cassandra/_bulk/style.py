"""How values are spelled in files of CSV: the options that COPY of cqlsh has for that (L6). Values; nothing changes."""

from __future__ import annotations

from typing import NamedTuple


class Dialect(NamedTuple):
    """How fields become lines."""

    delimiter: str = ","
    quote: str = '"'
    escape: str = "\\"
    header: bool = False
    encoding: str = "utf8"

    @property
    def doubles(self) -> bool:
        """Whether a quote within quotes is written twice."""
        return self.quote == self.escape


class Style(NamedTuple):
    """How values become fields. Without precisions numbers have all the digits that they need to be read as the same.

    ``as_cqlsh``: texts and numbers as COPY TO writes them, which is not always what COPY FROM can read again.
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
        """Whether numbers are written otherwise than Python reads them."""
        return self.decimal_sep != "." or bool(self.thousands_sep)
