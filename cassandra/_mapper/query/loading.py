"""Instances from rows. Rows are tuples and become instances natively, unless a model makes its own of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from cassandra._core.models import ByNames, Instance, InstanceLayout, WorkedOut, load_instances, new_loaded
from cassandra._mapper import defaults
from cassandra._mapper.instances import is_left_out
from cassandra._session.request.result import ResultSet

W = TypeVar("W", bound=WorkedOut)

#: Shapes and layouts per model; programs that select many sets of columns fill no memory.
KEPT = 512
NAMES_KEPT = 128
NATIVE = "native"
#: Kept where nothing can be worked out.
NONE = object()


def keep(model: Any, key: Any, found: Any) -> Any:
    """What was worked out for *model*, until something is set on that, or too much was kept."""
    shapes = model._shapes
    if len(shapes) >= KEPT:
        shapes.clear()
    shapes[key] = found
    return found


def worked_out(of: type[W], kind: str, work_out: Callable[[Any, tuple[str, ...]], Any]) -> W:
    """An object that finds what *work_out* makes of a model and the names of keywords, a ``Plain`` or None. It is made
    once, and anew for another default keyspace."""

    def work_out_now(model: Any, given: dict[str, Any]) -> Any:
        found = work_out(model, tuple(given))  # which may keep something, and forget the rest for that
        known = model._shapes.get(kind) or keep(model, kind, ByNames(NAMES_KEPT))
        return known_by.keep(known, given, found)

    known_by = of(kind, vars(defaults), work_out_now)
    return known_by


def is_native(model: Any) -> bool:
    """Whether nobody sees how instances of *model* are made."""
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
    """Instances of rows with these columns; *deferred* are values of further columns, the same for all, by the names
    that they have in the table."""
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
    """Of models that share a table: which one a row is of its discriminator says."""
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
    """The instance that the model itself makes of a row."""
    return model._construct_instance({**row, **deferred} if deferred else row)


class Pages:
    """Columns and rows of a result, page after page. Of the thread or the task that reads them, which says when it has
    taken a page: until then it is there again for who asks."""

    __slots__ = ("_result", "_waits", "passed")

    def __init__(self, result: Any) -> None:
        self._result = result
        self._waits = True
        self.passed = 0  # rows of the pages that were taken

    @property
    def has_more(self) -> bool:
        """Whether there are rows after those that were taken."""
        return self._waits or getattr(self._result, "has_more_pages", False) is True  # of a mock it is anything

    def next(self) -> tuple[tuple[str, ...], Any]:
        """The page that was not taken, or the next one, if there is one."""
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
        """Whether a page was fetched that was not taken."""
        return self._waits or (type(self._result) is ResultSet and bool(self._result._current_rows))

    def taken(self, passed: int) -> None:
        """The page was read. *passed*: the number of rows up to its end. May be called again after an interrupt."""
        if type(self._result) is ResultSet:
            self._result._current_rows = []
        self.passed = passed
        self._waits = False

    def _rows(self) -> tuple[tuple[str, ...], Any]:
        result = self._result
        if type(result) is not ResultSet:
            return tuple(getattr(result, "column_names", None) or ()), list(getattr(result, "current_rows", result))
        # A copy: instances take the place of its rows, and after an interrupt they are made of the rows again.
        return () if result._plan is None else result._plan.names, list(result.current_rows)
