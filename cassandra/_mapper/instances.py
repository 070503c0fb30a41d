"""State of an instance in terms of columns: loaded values, current values, and which of them are new.

The native base class stores a row and the values that replace parts of it (``_core/models_parts/instances.pxi``). A
:class:`Blueprint` is the part that all instances of a model share, computed once when the class is created.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from cassandra._core.models import Instance, InstanceLayout, Kind

from . import columns, containers
from .columns import Column, Counter

MISSING: Any = object()
#: Maximum number of layouts of partly loaded instances per model.
LAYOUTS_KEPT = 128
F = TypeVar("F", bound=Callable[..., Any])

#: Functions that the native construction of instances from rows does not call: their effect is built in.
_left_out: set[Any] = set()


def left_out(function: F) -> F:
    """Decorator of methods that are not called for each row, unless a model overrides them."""
    _left_out.add(function)
    return function


def is_left_out(function: Any) -> bool:
    return getattr(function, "__func__", function) in _left_out


def exact_kind(column: Column[Any]) -> type | None:
    """Return the class of values that the column stores unchanged: none of its methods would change one. None if there
    is no such class."""
    kind = type(column)
    if kind is columns.Text:
        plain = column.min_length is None and column.max_length is None  # type: ignore[attr-defined]
        return str if plain else None
    if kind is columns.DateTime:
        return None if columns.DateTime.truncate_microseconds else datetime
    return EXACT.get(kind)


EXACT: dict[Any, type] = {
    columns.BigInt: int,
    columns.Boolean: bool,
    columns.Double: float,
    columns.Float: float,
    columns.Integer: int,
    columns.SmallInt: int,
    columns.TimeUUID: UUID,
    columns.TinyInt: int,
    columns.UUID: UUID,
    columns.VarInt: int,
}


def stored_kind(column: Column[Any]) -> Kind | None:
    """Return the kind of values that are stored as they are: of one class, or containers of elements of one class. None
    if there is none."""
    container = CONTAINERS.get(type(column))
    if container is None:
        kind = exact_kind(column)
        return None if kind is None else Kind(kind)
    kinds = [exact_kind(part) for part in column.sub_types]
    return None if None in kinds else Kind(container, *kinds)


CONTAINERS: dict[Any, type] = {containers.List: list, containers.Map: dict, containers.Set: set}


def copying(column: Column[Any]) -> Callable[[Any], Any]:
    """Return the function that copies a value that can be changed in place."""
    kind = stored_kind(column)
    return deepcopy if kind is None or kind.item is None else kind


def nothing() -> None:
    return None


def zero() -> int:
    return 0


def count_of(value: int | None) -> int:
    return value or 0


def reading(column: Column[Any]) -> Callable[[Any], Any] | None:
    """Return the function that converts a decoded value to the value that is read; None if both are the same. Values
    that can be changed in place are copied, so that the reader owns them."""
    if isinstance(column, Counter):
        return count_of
    to_python = column.to_python
    if column.changes_in_place:
        kind = stored_kind(column)
        if kind is not None and kind.item is not None:
            return kind
        if is_container(column) and not any(part.changes_in_place for part in column.sub_types):
            return to_python  # it creates a new container
        return lambda value: deepcopy(to_python(value))
    if type(column).to_python is Column.to_python or column.unconverted("to_python") is not None:
        return None
    return lambda value: None if value is None else to_python(value)


def initial(column: Column[Any]) -> Callable[[], Any]:
    """Return the function that creates the value of a column that was neither given nor loaded."""
    if isinstance(column, Counter) and not column.has_default:
        return zero
    contained = is_container(column)
    if not column.has_default and not contained:
        return nothing

    def make() -> Any:
        value = column.get_default() if column.has_default else None
        return column.to_python(value) if value is not None or contained else None

    return make


def is_container(column: Column[Any]) -> bool:
    """True if the column has an empty value when nothing is stored."""
    return column.changes_in_place and column._val_is_null([])


class Blueprint:
    """Data shared by all instances of a model.

    * ``starting``: per column its name, the class of values taken unchanged, the converter of other values, whether it
      converts None too, and the function that creates the value if none is given
    * ``checked``: per column its name and that class
    * ``layout``: of instances that were written; all columns have their slot
    * ``changeable``: names of columns with values that can be changed in place
    """

    __slots__ = ("_layouts", "changeable", "checked", "columns", "counters", "layout", "readers", "starting")

    def __init__(self, columns: Mapping[str, Column[Any]]) -> None:
        self.columns = dict(columns)
        self.starting = tuple((name, *_start(column)) for name, column in columns.items())
        self.checked = tuple((name, exact_kind(column), column) for name, column in columns.items())
        self.changeable = frozenset(name for name, column in columns.items() if column.changes_in_place)
        self.counters = tuple(name for name, column in columns.items() if isinstance(column, Counter))
        self.readers = {column.db_field_name: (name, reading(column)) for name, column in columns.items()}
        self.layout = self._written_layout(tuple(columns))
        self._layouts: dict[tuple[str, ...], InstanceLayout] = {}

    def _written_layout(self, names: tuple[str, ...]) -> InstanceLayout:
        copies = [copying(self.columns[name]) if name in self.changeable else None for name in names]
        return InstanceLayout(names, copies)

    def layout_without(self, unknown: set[str]) -> InstanceLayout:
        """Return the layout of instances whose columns *unknown* were neither loaded nor written."""
        if not unknown:
            return self.layout
        names = tuple([name for name in self.columns if name not in unknown])
        found = self._layouts.get(names)
        if found is None:
            if len(self._layouts) >= LAYOUTS_KEPT:
                self._layouts.clear()
            found = self._layouts[names] = self._written_layout(names)
        return found

    def layout_of(self, db_names: tuple[str, ...], shared: tuple[str, ...] = ()) -> InstanceLayout:
        """Return the layout of rows with the columns *db_names*. The values of the columns *shared* are the same for
        all rows, are already converted, and replace the values in a row. Columns that are not in the model are not
        read."""
        names: list[str] = []
        converters: list[Callable[[Any], Any] | None] = []
        for db_name in db_names:
            name, convert = self.readers.get(db_name, (db_name, None))
            if db_name not in self.readers or name in names or name in shared:
                name = f"{db_name} {len(names)}"
            names.append(name)
            converters.append(convert)
        copies = [copying(self.columns[name]) if name in self.changeable else None for name in shared]
        return InstanceLayout((*names, *shared), (*converters, *copies))


def _start(column: Column[Any]) -> tuple[type | None, Callable[[Any], Any] | None, bool, Callable[[], Any]]:
    if isinstance(column, Counter):
        return None, count_of, True, initial(column)
    same = type(column).to_python is Column.to_python
    return exact_kind(column), None if same else column.to_python, is_container(column), initial(column)


def begin(instance: Instance, blueprint: Blueprint, values: Mapping[str, Any]) -> None:
    """Initialize a new instance with these values."""
    now = {}
    for name, kind, convert, none_too, make in blueprint.starting:
        value = values.get(name, MISSING)
        if type(value) is kind:
            pass
        elif value is MISSING:
            value = make()
        elif convert is not None and (value is not None or none_too):
            value = convert(value)
        now[name] = value
    given = set(values)
    if not given <= blueprint.columns.keys():
        given &= blueprint.columns.keys()
    instance._begin(now, given)


def previous(instance: Instance, name: str, column: Any) -> Any:
    """Return the value of the column when the instance was last loaded or written; None if it never was."""
    value = instance._came(name, MISSING)
    if value is not MISSING:
        return value
    if instance._is_persisted or isinstance(column, Counter):
        return initial(column)()
    return None


def is_loaded(instance: Instance, name: str) -> bool:
    """False if the instance was read from a row without this column, otherwise True."""
    return not instance._is_persisted or instance._is_known(name)


def is_changed(instance: Instance, name: str, column: Any) -> bool:
    """True if the value differs from the previous one, because it was assigned or changed in place."""
    now = instance._touched
    if name not in now:
        return False
    value = now[name]
    if name in instance._given:
        if not isinstance(column, Counter) and not is_loaded(instance, name):
            return not column._val_is_null(value)  # the stored value is not known
        return bool(value != previous(instance, name, column))
    if not column.changes_in_place:
        return False
    before = previous(instance, name, column)
    default = column.get_default() if column.has_default else None
    if column._val_is_null(default):
        return not column._val_is_null(value) and bool(value != before)
    return bool(value != (default if before is None else before))


def is_deleted(instance: Instance, name: str, column: Any) -> bool:
    """True if the column has no value and had one before, or null was assigned."""
    now = instance._touched
    if name not in now or not column._val_is_null(now[name]):
        return False
    return name in instance._given or not column._val_is_null(previous(instance, name, column))


def settle(instance: Instance, blueprint: Blueprint, loaded: Collection[str] | None = None) -> None:
    """Take the current values as the stored ones: the instance was written.

    *loaded*: names of the columns that were read, for the instance of a new row. Columns that were not loaded, and
    neither set nor changed since, stay unknown.
    """
    now = instance._touched
    changeable = blueprint.changeable
    columns = blueprint.columns
    if loaded is not None:
        unknown = columns.keys() - loaded
    elif instance._is_persisted:
        is_known, given = instance._is_known, instance._given
        unknown = {name for name in columns if not is_known(name)}
        if unknown:  # the row was loaded in part
            unknown = {name for name in unknown if name not in given and not is_changed(instance, name, columns[name])}
    else:
        unknown = set()
    if len(now) == len(columns) and not changeable and not unknown:
        instance._keep(blueprint.layout, tuple([now[name] for name in columns]))
    elif now or instance._given or loaded is not None:
        row = []
        for name, column in columns.items():
            if name in unknown:
                continue
            if name not in now:
                row.append(previous(instance, name, column))
            else:
                value = now[name]
                if value is None and is_container(column):
                    value = column.to_python(None)  # a container that was written as null is empty
                elif name in changeable:
                    value = deepcopy(value)
                row.append(value)
        kept = {name: value for name, value in now.items() if name in changeable or name in unknown}
        instance._keep(blueprint.layout_without(unknown), tuple(row), kept, set())
    instance._is_persisted = True


def forget(instance: Instance, blueprint: Blueprint) -> None:
    """Make the instance a new one with the same values: its row was deleted."""
    columns = blueprint.columns
    values = {name: getattr(instance, name) for name in columns}
    given = {
        name for name, value in values.items() if columns[name].has_default or not columns[name]._val_is_null(value)
    }
    instance._begin(values, given)  # all are written, and no defaults replace nulls
    instance._is_persisted = False


def remember(instance: Instance, blueprint: Blueprint, name: str, value: Any) -> None:
    """Set the previous value of the column."""
    row = [value if each == name else previous(instance, each, column) for each, column in blueprint.columns.items()]
    now = {each: getattr(instance, each) for each in blueprint.columns}
    instance._keep(blueprint.layout, tuple(row), now, instance._given)
