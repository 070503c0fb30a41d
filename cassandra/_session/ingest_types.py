"""Types of the sources of rows of ``Session.ingest`` (L5), for annotations; what is accepted at run time is decided in
``_ingest/sources.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Protocol


class ArrowStreamable(Protocol):
    """An object that exports its rows as an Arrow C stream."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class ArrowArrayable(Protocol):
    """An Arrow record batch."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...


class LazyRows(Protocol):
    """A lazy frame of Polars."""

    def collect(self, *args: Any, **options: Any) -> Any: ...


class DatasetRows(Protocol):
    """A dataset of PyArrow."""

    def scanner(self, *args: Any, **options: Any) -> Any: ...


class DataclassRow(Protocol):
    """An instance of a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


#: Sources of rows: Arrow data, data frames, columns by name, and paths of files.
IngestSource = ArrowStreamable | ArrowArrayable | LazyRows | DatasetRows | Mapping[str, Any] | str | PathLike[str]
#: A row: a mapping, a named tuple or another sequence, or an instance of a dataclass.
IngestRow = Mapping[str, Any] | Sequence[Any] | DataclassRow
