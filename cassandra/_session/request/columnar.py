"""Columnar: the ways to read a result as columns, which ResultSet has.

L5. All of it is in ``columns.py``, which is imported with the first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from cassandra._core.transport import Answer

if TYPE_CHECKING:
    from .columns import ArrowStream


class Columnar(Answer):
    """What a page came to, as columns. It is read by what derives from it, which turns pages."""

    _turned: bool = False  # the first page is gone

    def arrow(
        self,
        target_rows: int = 65536,
        *,
        strings: Literal["utf8", "view", "dictionary"] = "utf8",
        decimals: Literal["utf8"] | tuple[int, int] = "utf8",
        varints: Literal["utf8", "int64"] | int = "utf8",
        uuids: Literal["arrow.uuid", "binary"] = "arrow.uuid",
        on_schema_change: Literal["raise", "cast"] = "raise",
    ) -> ArrowStream:
        """The result as Arrow record batches of *target_rows* rows, or more where pages are larger. The other options
        say what text, decimal, varint and uuid become; a number that does not fit is an error.

        A result is rows or columns, whichever is asked for; its first page is both, as long as no other was turned to.
        RuntimeError after that, TypeError for a result without rows.

        .. versionadded:: 4.0
        """
        from .columns import stream_of

        return stream_of(self, (strings, decimals, varints, uuids), target_rows, on_schema_change)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> Any:
        return self.arrow().__arrow_c_schema__()

    def to_arrow(self, **options: Any) -> Any:
        """A ``pyarrow.Table``; *options* of this and the next ones are those of :meth:`arrow`. A page that fails raises
        what it raises for rows."""
        from .columns import to_arrow

        return to_arrow(self.arrow(**options))

    def to_pandas(self, **options: Any) -> Any:
        """A ``pandas.DataFrame``. Without an option of their own decimals are ``Decimal`` objects, varints int64 or,
        where one does not fit, ``int`` objects; the guide's page on columns has all types."""
        from .columns import to_pandas

        return to_pandas(self.arrow(**options), _text_numbers(options))

    def to_polars(self, **options: Any) -> Any:
        """A ``polars.DataFrame``. Without an option of their own decimals are ``Decimal(38, scale)`` and varints
        ``Int64``; a column with a number that does not fit is of Python objects."""
        from .columns import to_polars

        return to_polars(self.arrow(**options), _text_numbers(options))

    def to_numpy(self) -> dict[str, Any]:
        """Arrays by column name, as those of :class:`~cassandra.protocol.NumpyProtocolHandler`, of all pages."""
        from .columns import to_numpy

        return to_numpy(self)

    async def to_arrow_async(self, **options: Any) -> Any:
        """As :meth:`to_arrow`, without blocking the running loop; so are the next ones."""
        from .columns import to_arrow

        return to_arrow(await self.arrow(**options).read_all_async())

    async def to_pandas_async(self, **options: Any) -> Any:
        from .columns import to_pandas

        return to_pandas(await self.arrow(**options).read_all_async(), _text_numbers(options))

    async def to_polars_async(self, **options: Any) -> Any:
        from .columns import to_polars

        return to_polars(await self.arrow(**options).read_all_async(), _text_numbers(options))

    async def to_numpy_async(self) -> dict[str, Any]:
        from .columns import to_numpy_async

        return await to_numpy_async(self)


def _text_numbers(options: dict[str, Any]) -> list[str]:
    """The options that ask for numbers as text."""
    return [name for name in ("decimals", "varints") if options.get(name) == "utf8"]
