"""Rows as instances of a program's own class (L2): ``class_row``.

A :class:`ClassRow` is a row factory. Columns are matched with fields once per result metadata, and the match is cached
there as a row plan; the native :class:`InstanceMaker` then makes instances as rows are decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_origin

from cassandra._base.logs import printable
from cassandra._base.objects import public
from cassandra._base.tuples import field_names
from cassandra._core.codec import InstanceMaker

if TYPE_CHECKING:
    from .class_shapes import Field, Shape

_T = TypeVar("_T")
Extra = Literal["raise", "ignore"]
_MOST_COLUMNS = 1 << 16  # of all results that a factory caches
DEFAULT, FACTORY = -1, -2  # sources other than columns


@public("cassandra.query")
class ClassRow(Generic[_T]):
    """A row factory whose rows are instances of one class; made by :func:`class_row`. Immutable."""

    __slots__ = ("_extra", "_known", "_names", "_rename", "_shape", "_targets", "row_class")

    row_class: type[_T]

    def __init__(self, row_class: type[_T], rename: Mapping[str, str] | None = None, extra: Extra = "raise") -> None:
        from .class_shapes import shape_of  # here, as it imports inspect and dataclasses, which few programs use

        if extra not in ("raise", "ignore"):
            raise ValueError(f"extra must be 'raise' or 'ignore', not {extra!r}")
        self.row_class = row_class
        self._rename = dict(rename or {})
        self._extra = extra
        self._shape: Shape = shape_of(row_class)
        self._targets = {name: field for field in reversed(self._shape.fields) for name in (*field.aliases, field.name)}
        self._known: dict[tuple[str, ...], InstanceMaker] = {}
        for column, target in self._rename.items():
            if target not in self._targets and not self._shape.takes_more:
                raise ValueError(
                    f"rename: {row_class.__qualname__} has no field {target!r} for the column {column!r}; "
                    f"it has {', '.join(field.name for field in self._shape.fields)}"
                )

    def __call__(self, colnames: Sequence[str], rows: Iterable[Iterable[Any]]) -> list[_T]:
        """Return instances for rows that were decoded elsewhere, as any row factory does."""
        make = self.maker(tuple(colnames)).make
        return [make(row) for row in rows]

    def maker(self, names: tuple[str, ...]) -> InstanceMaker:
        """Return the maker of instances for rows with these columns. Raise TypeError if the columns do not suffice."""
        known = self._known.get(names)
        if known is None:
            if len(self._known) >= 64 or sum(map(len, self._known)) + len(names) > _MOST_COLUMNS:
                self._known.clear()
            known = self._known[names] = self._maker(names)
        return known

    def _maker(self, names: tuple[str, ...]) -> InstanceMaker:
        of_field, more, extra = self._columns(names)
        shape, count = self._shape, len(names)
        missing = [field.name for field in shape.fields if field.required and field.name not in of_field]
        if missing:
            raise TypeError(
                f"{self._class} needs {_name_list('a value for', missing)}, which have no default, and the result has "
                f"no such column: its columns are {printable(', '.join(names))}. Select them, give the fields a "
                "default, or map other columns to them: class_row(..., rename={'column': 'field'})"
            )
        if extra and self._extra == "raise" and not shape.ignores_more:
            raise TypeError(
                f"{self._class} has no {_name_list('field for', extra)}, which the result has. Omit them from the "
                "SELECT, map them to other fields: class_row(..., rename={'column': 'field'}), or use "
                "class_row(..., extra='ignore')"
            )
        if shape.kind in ("fields", "tuple"):
            sources = [of_field.get(field.name, FACTORY if field.factory else DEFAULT) for field in shape.fields]
            defaults = [field.factory or field.default for field in shape.fields]
            attributes = [field.attribute for field in shape.fields] if shape.kind == "fields" else ()
            return InstanceMaker(self.row_class, shape.kind, count, sources, attributes, defaults)
        given = [field for field in shape.fields if field.name in of_field]
        positional = 0
        while (
            positional < len(given) and given[positional].positional and given[positional] is shape.fields[positional]
        ):
            positional += 1
        unnamed = [field.name for field in given[positional:] if not field.keyword]
        if unnamed:
            raise TypeError(
                f"{self._class} takes {_name_list('', unnamed)} by position only, and the result has no column for an "
                f"earlier parameter: its columns are {printable(', '.join(names))}"
            )
        arguments = [(field.name, of_field[field.name]) for field in given] + list(more.items())
        sources = [source for _, source in arguments]
        return InstanceMaker(self.row_class, shape.kind, count, sources, [name for name, _ in arguments[positional:]])

    def _columns(self, names: tuple[str, ...]) -> tuple[dict[str, int], dict[str, int], list[str]]:
        """Return the column numbers of fields, those of other columns that the class accepts, and the columns that it
        does not accept."""
        of_field: dict[str, int] = {}
        more: dict[str, int] = {}
        extra = []
        for i, (name, cleaned) in enumerate(zip(names, field_names(names), strict=True)):
            target = self._rename.get(name)
            if target is None:
                target = name if name in self._targets else cleaned
            field: Field | None = self._targets.get(target)
            taken, key = (more, target) if field is None else (of_field, field.name)
            if field is None and not self._shape.takes_more:
                extra.append(name)
            elif key in taken:
                raise TypeError(
                    f"{self._class} has one field {key!r}, and the result has two columns for it: "
                    f"{names[taken[key]]!r} and {name!r}. Omit one, or give it another name (SELECT x AS y)"
                )
            else:
                taken[key] = i
        return of_field, more, extra

    @property
    def _class(self) -> str:
        return f"{self.row_class.__module__}.{self.row_class.__qualname__}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_class_row, (self.row_class, self._rename, self._extra)

    def __repr__(self) -> str:
        rename = f", rename={self._rename!r}" if self._rename else ""
        extra = f", extra={self._extra!r}" if self._extra != "raise" else ""
        return f"class_row({self.row_class.__qualname__}{rename}{extra})"


def _name_list(what: str, names: Sequence[str]) -> str:
    return f"{what} {printable(', '.join(map(repr, names)))}".strip()


@public("cassandra.query")
def class_row(cls: type[_T], *, rename: Mapping[str, str] | None = None, extra: Extra = "raise") -> ClassRow[_T]:
    """Return a row factory whose rows are instances of *cls*: a dataclass, a class of attrs, a msgspec struct, a
    pydantic model, a named tuple, or any class whose ``__init__`` has named parameters.

    A column is assigned to the field with its name, or with its name as in named tuples (``count(*)`` is ``count``).

    :param rename: field names by column names, for names that differ.
    :param extra: handling of columns without a field: ``"raise"``, or ``"ignore"`` them. A class that accepts any
        argument (``**kwargs``, pydantic's ``extra="allow"``) gets them.

    A field without a column has its default. The request raises TypeError if such a field has no default, if a column
    has no field, or if a field has two columns, even if the result has no rows. Exceptions of a constructor are raised
    by the call that makes the row.

    Calls with the same arguments return the same object. Example::

        @dataclass
        class Product:
            id: int
            name: str
            price: Decimal | None = None

        select = "SELECT id, name FROM products"
        products = session.execute(select, row_factory=class_row(Product))
        for product in products:
            print(product.name)

    .. versionadded:: 4.0
    """
    origin: Any = cls if isinstance(cls, type) else get_origin(cls)
    if not isinstance(origin, type):
        raise TypeError(f"class_row() expects a class, not {cls!r}")
    return _make_class_row(origin, tuple(sorted((rename or {}).items())), extra)


@lru_cache(maxsize=256)
def _make_class_row(cls: type[Any], rename: tuple[tuple[str, str], ...], extra: Extra) -> ClassRow[Any]:
    return ClassRow(cls, dict(rename), extra)


def _restore_class_row(cls: type[Any], rename: dict[str, str], extra: Extra) -> ClassRow[Any]:
    return class_row(cls, rename=rename, extra=extra)
