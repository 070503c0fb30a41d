"""Instances from rows. Rows are tuples and become instances natively, unless a model overrides the construction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from cassandra._core.models import ByNames, Instance, InstanceLayout, WorkedOut, load_instances, new_loaded
from cassandra._mapper import defaults
from cassandra._mapper.instances import is_left_out
from cassandra._session.request.result import ResultSet

W = TypeVar("W", bound=WorkedOut)

#: Limit of shapes and layouts per model: bounds the memory of programs that select many sets of columns.
KEPT = 512
NAMES_KEPT = 128
NATIVE = "native"
#: Cached where no result is possible.
NONE = object()


def keep(model: Any, key: Any, found: Any) -> Any:
    """Cache *found* for *model*, until an attribute of the model is set or the cache is full."""
    shapes = model._shapes
    if len(shapes) >= KEPT:
        shapes.clear()
    shapes[key] = found
    return found


def worked_out(of: type[W], kind: str, work_out: Callable[[Any, tuple[str, ...]], Any]) -> W:
    """Return an object that looks up the result of *work_out* for a model and the names of keywords, a ``Plain`` or
    None. The result is computed once, and again for another default keyspace."""

    def work_out_now(model: Any, given: dict[str, Any]) -> Any:
        found = work_out(model, tuple(given))  # it may call keep(), which may clear the cache
        known = model._shapes.get(kind) or keep(model, kind, ByNames(NAMES_KEPT))
        return known_by.keep(known, given, found)

    known_by = of(kind, vars(defaults), work_out_now)
    return known_by


def is_native(model: Any) -> bool:
    """True if the model does not override instance construction."""
    found = model._shapes.get(NATIVE)
    if found is None:
        methods = (model.__init__, model._construct_instance, model._set_persisted)
        found = all(map(is_left_out, methods)) and not any("__new__" in kind.__dict__ for kind in _classes(model))
        model._shapes[NATIVE] = found
    return bool(found)


def _classes(model: Any) -> list[type]:
    return [kind for kind in model.__mro__ if kind not in (Instance, object)]


def layout_of(model: Any, names: tuple[str, ...], shared: tuple[str, ...]) -> InstanceLayout:
    key = (names, shared)
    layout: InstanceLayout | None = model._shapes.get(key)
    if layout is None:
        layout = keep(model, key, model._blueprint.layout_of(names, shared))
    return layout


def from_tuples(
    model: Any, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]], deferred: Mapping[str, Any]
) -> list[Any]:
    """Return the instances of rows with these columns. *deferred* are values of further columns, the same for all rows,
    by their names in the table."""
    if model._is_polymorphic:
        return _of_several(model, names, rows, deferred)
    if not is_native(model):
        return [from_dict(model, dict(zip(names, row, strict=True)), deferred) for row in rows]
    shared, values = _shared(model, deferred)
    return load_instances(model, layout_of(model, names, shared), rows, values)


def _shared(model: Any, deferred: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    if not deferred:
        return (), ()
    columns = [model._get_column_by_db_name(name) for name in deferred]
    values = [column.to_python(value) for column, value in zip(columns, deferred.values(), strict=True)]
    return tuple([column.column_name for column in columns]), tuple(values)


def _of_several(
    model: Any, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]], deferred: Mapping[str, Any]
) -> list[Any]:
    """Return the instances of rows of models that share a table: the discriminator of a row selects its model."""
    discriminator = model._discriminator_column.db_field_name
    place = names.index(discriminator) if discriminator in names else None
    common = deferred.get(discriminator)
    made = []
    for row in rows:
        kind = model._class_of(row[place] if place is not None and common is None else common)
        if is_native(kind):
            shared, values = _shared(kind, deferred)
            made.append(new_loaded(kind, layout_of(kind, names, shared), row, values))
        else:
            made.append(from_dict(model, dict(zip(names, row, strict=True)), deferred))
    return made


def from_dict(model: Any, row: Mapping[str, Any], deferred: Mapping[str, Any]) -> Any:
    """Return the instance of a row, built by the model's own methods."""
    return model._construct_instance({**row, **deferred} if deferred else row)


class Pages:
    """Columns and rows of a result, page by page. Owned by the thread or task that reads them, which confirms each page
    by ``taken()``; until then, the same page is returned again."""

    __slots__ = ("_result", "_waits", "passed")

    def __init__(self, result: Any) -> None:
        self._result = result
        self._waits = True
        self.passed = 0  # rows of the confirmed pages

    @property
    def has_more(self) -> bool:
        """True if there are rows after the confirmed ones."""
        return self._waits or getattr(self._result, "has_more_pages", False) is True  # a mock may return any object

    def next(self) -> tuple[tuple[str, ...], Any]:
        """Return the unconfirmed page, or else the next one, if there is one."""
        if not self._is_here():
            self._result.fetch_next_page()
        self._waits = True
        return self._rows()

    async def anext(self) -> tuple[tuple[str, ...], Any]:
        """As :meth:`next`, without blocking the running loop."""
        if not self._is_here():
            await self._result.fetch_next_page_async()
        self._waits = True
        return self._rows()

    def _is_here(self) -> bool:
        """True if a page was fetched and not confirmed."""
        return self._waits or (type(self._result) is ResultSet and bool(self._result._current_rows))

    def taken(self, passed: int) -> None:
        """Confirm the page. *passed*: number of rows up to its end. May be called again after an interrupt."""
        if type(self._result) is ResultSet:
            self._result._current_rows = []
        self.passed = passed
        self._waits = False

    def _rows(self) -> tuple[tuple[str, ...], Any]:
        result = self._result
        if type(result) is not ResultSet:
            return tuple(getattr(result, "column_names", None) or ()), list(getattr(result, "current_rows", result))
        # A copy: its rows are replaced by instances, and after an interrupt the instances are built from the rows
        # again.
        return () if result._plan is None else result._plan.names, list(result.current_rows)
