"""Columnar: the methods of ResultSet that read a result as columns.

L5. The implementation is in ``columns.py``, which is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from cassandra._core.transport import Answer

if TYPE_CHECKING:
    from .columns import ArrowStream


class Columnar(Answer):
    """A result as columns. The derived class turns the pages."""

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
        """Return the result as Arrow record batches of *target_rows* rows, or more if pages are larger. The other
        options select the Arrow types of text, decimal, varint and uuid; a number out of range is an error.

        A result is read either as rows or as columns. Its first page can be read as both, until the result turns to
        another page. Raises RuntimeError after that, TypeError for a result without rows.

        .. versionadded:: 4.0
        """
        from .columns import stream_of

        return stream_of(self, (strings, decimals, varints, uuids), target_rows, on_schema_change)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> Any:
        return self.arrow().__arrow_c_schema__()

    def to_arrow(self, **options: Any) -> Any:
        """Return a ``pyarrow.Table``; *options*, here and in the following methods, are those of :meth:`arrow`. A page
        that fails raises the same error as for rows."""
        from .columns import to_arrow

        return to_arrow(self.arrow(**options))

    def to_pandas(self, **options: Any) -> Any:
        """Return a ``pandas.DataFrame``. Without an option, decimals are ``Decimal`` objects, varints int64 or, if one
        is out of range, ``int`` objects; the guide's page on columns has all types."""
        from .columns import to_pandas

        return to_pandas(self.arrow(**options), _text_numbers(options))

    def to_polars(self, **options: Any) -> Any:
        """Return a ``polars.DataFrame``. Without an option, decimals are ``Decimal(38, scale)`` and varints ``Int64``;
        a column with a number out of range has Python objects."""
        from .columns import to_polars

        return to_polars(self.arrow(**options), _text_numbers(options))

    def to_numpy(self) -> dict[str, Any]:
        """Return arrays by column name, as :class:`~cassandra.protocol.NumpyProtocolHandler` does, of all pages."""
        from .columns import to_numpy

        return to_numpy(self)

    async def to_arrow_async(self, **options: Any) -> Any:
        """As :meth:`to_arrow`, without blocking the running loop; likewise the following methods."""
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
    """Return the options that select numbers as text."""
    return [name for name in ("decimals", "varints") if options.get(name) == "utf8"]
