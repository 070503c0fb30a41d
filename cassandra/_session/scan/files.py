"""A scan into Parquet files, one for each range, by PyArrow.

L5. A file has its name when its range is complete, and not before: until then there is ``.part`` behind it, which is
removed when the scan ends otherwise.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from .pieces import BATCH, DONE, Piece

UNFINISHED = ".part"


def load_parquet() -> tuple[Any, Any]:
    """``pyarrow`` and ``pyarrow.parquet``."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError("this needs pyarrow: pip install fastcql[arrow]") from error


class ParquetFiles:
    """Takes the pieces of a reading. *options*: of ``pyarrow.parquet.ParquetWriter``."""

    def __init__(self, folder: str | os.PathLike[str], count: int, options: dict[str, Any]) -> None:
        self._arrow, self._parquet = load_parquet()
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._digits = len(str(max(0, count - 1)))
        self._options = options
        self._open: dict[int, tuple[Any, Path]] = {}
        self._written: dict[int, Path] = {}

    def add(self, piece: Piece) -> None:
        if piece.kind == BATCH:
            batch = self._arrow.record_batch(piece.batch)
            if piece.number not in self._open:
                path = self._folder / f"part-{piece.number:0{self._digits}}.parquet{UNFINISHED}"
                writer = self._parquet.ParquetWriter(path, batch.schema, **self._options)
                self._open[piece.number] = (writer, path)
            self._open[piece.number][0].write_batch(batch)
        elif piece.number in self._open:
            writer, path = self._open.pop(piece.number)
            writer.close()
            if piece.kind == DONE:
                self._written[piece.number] = path.replace(path.with_suffix(""))
            else:
                path.unlink()

    def paths(self) -> list[Path]:
        """Of the ranges that are complete and have rows, in the order of tokens."""
        return [self._written[number] for number in sorted(self._written)]

    def close(self) -> None:
        """Remove what is not complete."""
        for writer, path in self._open.values():
            writer.close()
            path.unlink(missing_ok=True)
        self._open.clear()
