"""Native half of the object mapper (L1). See models.pyx.

Everything is under the GIL: what two threads do at once is done one after the other. An instance is its program's own.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from typing_extensions import Self

_I = TypeVar("_I", bound="Instance")

class InstanceLayout:
    """Which column is at which place of a row, and of what all rows of a result share, which follows it. Immutable."""

    names: Final[tuple[str, ...]]
    converters: Final[tuple[Callable[[Any], Any] | None, ...]]
    def __init__(self, names: Iterable[str], converters: Iterable[Callable[[Any], Any] | None]) -> None: ...
    def __len__(self) -> int: ...
    def __contains__(self, name: object) -> bool: ...

class Instance:
    """Base of models: a row as it came, and beside it what is read instead. One program's own, as any object is."""

    _is_persisted: bool
    _touched: Final[dict[str, Any]]
    _given: Final[set[str]]
    def _begin(self, now: dict[str, Any], explicit: set[str]) -> None:
        """As a new one with these values, of which *explicit* were given."""
    def _keep(
        self,
        layout: InstanceLayout,
        row: tuple[Any, ...],
        now: dict[str, Any] | None = None,
        explicit: set[str] | None = None,
    ) -> None:
        """From now on *row* has the values of before, and *now*, if there are any, those that are read instead."""
    def _came(self, name: str, missing: Any = None) -> Any:
        """What was loaded of the column *name*, as it is read; *missing* if it was not."""
    def _is_known(self, name: str) -> bool:
        """Whether the value of the column *name* was loaded or written."""
    def update(self, **values: Any) -> Self:
        """Set these values, and write what was changed; the instance itself. What the request ends with is raised."""
    def _update_otherwise(self, values: dict[str, Any]) -> None:
        """Override. As :meth:`update`, where there is more to do than to bind the values."""
    def _set_all(self, values: dict[str, Any]) -> None:
        """As if each was set as an attribute."""
    def __setstate__(self, state: Any) -> None: ...

class ColumnAccess:
    """A column as an attribute: of an instance its value, of the class *query_evaluator*."""

    column: Final[Any]
    query_evaluator: Any
    def __init__(
        self, column: Any, query_evaluator: Any, name: str, initial: Callable[[], Any], undeletable: str | None = None
    ) -> None:
        """*initial* makes the value of a column that was not loaded; *undeletable* says why none can be deleted."""
    def __get__(self, instance: Any, owner: type) -> Any: ...
    def __set__(self, instance: Any, value: Any) -> None: ...
    def __delete__(self, instance: Any) -> None: ...

def new_loaded(cls: type[_I], layout: InstanceLayout, row: tuple[Any, ...], shared: tuple[Any, ...]) -> _I:
    """One instance, as load_instances() makes them."""

def load_instances(
    cls: type[_I], layout: InstanceLayout, rows: Iterable[tuple[Any, ...]], shared: tuple[Any, ...]
) -> list[_I]:
    """One instance of *cls*, a subclass of Instance, per row; ``__init__`` is not called. *shared* has the values of
    the last columns of *layout*, the same for all. If *rows* is a list they take the place of its rows."""

class Untouched:
    """A class of which, and of whose objects, nobody has replaced these methods since this was made. Any thread."""

    def __init__(self, kind: type, names: Iterable[str]) -> None: ...
    def holds(self) -> bool:
        """Whether the class has these methods still."""
    def of(self, one: object) -> bool:
        """Whether *one* is of the class itself, which has these methods still, and so has *one*."""

class ByNames:
    """What was worked out for the keywords of calls, by their names in their order. Any thread.

    It keeps *most* of them, and forgets all if there are more."""

    def __init__(self, most: int) -> None: ...
    def find(self, given: dict[str, Any]) -> Any:
        """What was added for these names, or None. Values are not looked at."""
    def add(self, given: dict[str, Any], found: Any) -> Any:
        """Remember *found* for these names; returns it."""

class WorkedOut:
    """What was worked out for models and the keywords of a call, kept by the model. Any thread."""

    def __init__(self, kind: str, settings: dict[str, Any], work_out: Callable[[Any, dict[str, Any]], Any]) -> None:
        """*settings* has the ``DEFAULT_KEYSPACE``, for which it is worked out anew when that is another one."""
    def find(self, model: Any, given: dict[str, Any]) -> Any:
        """What was kept, or what *work_out* gives."""
    def keep(self, known: ByNames, given: dict[str, Any], found: Any) -> Any:
        """Have *known* keep *found* for these keywords, which is returned; also that it is None."""

class ExactKinds:
    """Values that are bound as they are, if they are of these classes: at which place each is bound. Immutable."""

    def __init__(self, kinds: Iterable[Any], places: Iterable[int], count: int) -> None: ...
    def bound(self, given: dict[str, Any]) -> list[Any] | None:
        """A list of *count*: what is bound, None where nothing was given. None if a value is of another class than that
        of its place in *given*."""
    def bound_with(self, given: dict[str, Any], last: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        """What is bound, with *last* behind it; and without that."""

class Statements:
    """What was prepared for one session, by shape."""

    statements: dict[Any, Any]

class ConnectionFields:
    """Base of connections: what every request reads of them."""

    _ready: Any  # the session, once it is connected; else None

class ReadyStatements:
    """What was prepared for sessions, by shapes of statements. Any thread."""

    def __init__(
        self, usual: Untouched, key: str, connections: dict[Any, Any], default: Any, settings: dict[str, Any]
    ) -> None:
        """*usual*: what sessions are; *key*: the attribute of one whose ``statements`` are prepared. *connections* are
        by name; one without name is *default*. *settings*: nothing is sent unless ``PREPARING``, and while
        ``executed_by`` is not ``execute``."""
    def send(self, name: Any, shape: Any, values: Any, row_factory: Any = None) -> Any:
        """The future of ``execute_async`` of what was prepared, with *values*, for the session of connection *name*;
        its rows are made by *row_factory*, if that is not None. None where the connection is not connected, its session
        not the usual one, nothing was prepared, or for a table that is another one since, or the values are none that
        could be bound."""

class Plain:
    """What was worked out for a model and the keywords of a call, with values that are bound as they are. Any thread.

    None, where a request was to be made, says that there is more to do, and nothing was sent; or that it is done anew,
    as what was sent had to be prepared again."""

    model: Final[Any]
    shape: Final[Any]
    keyspace: Final[Any]
    def __init__(self, model: Any, shape: Any, keyspace: Any, ready: ReadyStatements) -> None: ...
    def _is_done_anew(self, error: Exception, future: Any) -> bool:
        """Override. Whether a request that ended with *error* is made another time."""

class RowUpdate(Plain):
    """Values by some names take the place of others in a row of *columns*. Immutable.

    *given*: per name, in their order, the class of its value, its place among those that are bound, and in a row.
    *key*: class and place in a row, of what is bound then. *others*: those of the other columns, and what tells whether
    a value of another class will do. *layout* is that of the row that was written, and of most instances. *usual*: what
    writes where there is more to do."""

    layout: Final[InstanceLayout]
    def __init__(
        self,
        model: Any,
        shape: Any,
        keyspace: Any,
        ready: ReadyStatements,
        usual: Untouched,
        layout: InstanceLayout,
        columns: Iterable[str],
        given: Iterable[tuple[type | None, int, int]],
        key: Iterable[tuple[type | None, int]],
        others: Iterable[tuple[type | None, int, Callable[[Any], bool]]],
    ) -> None: ...
    def bound(self, instance: Instance, given: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        """What is bound, and the row that will be there. None where there is more to it: a value of another class, or
        the same as before; or *instance* has columns that were not loaded, or are made anew for who reads them, or
        something was set on it, an attribute of its own too."""
    def send(self, instance: Instance, given: dict[str, Any]) -> tuple[Any, tuple[Any, ...]] | None:
        """The future of the request, and the row that will be there. Once it was sent, the values are those of the
        instance, whatever becomes of the request."""

class RowUpdates(WorkedOut):
    """The :class:`RowUpdate` of models and the names of values."""

    def write(self, instance: Instance, given: dict[str, Any]) -> bool:
        """As ``send`` of what is found, and waits: whether it was written, and the instance is that of the row now.
        What the request ends with is raised; the values are those of the instance then, too."""

def set_row_updates(updates: RowUpdates) -> None:
    """By which ``Instance.update`` writes from now on."""

class RowInsert(Plain):
    """A new row with values of some columns, which *exact* binds, and of others that are made. Immutable.

    *made*: name, place among what is bound, class, and what makes the value. *left*: what tells whether a column may be
    left without a value. *places*: per column of *layout*, where its value is among what is bound, or None."""

    def __init__(
        self,
        model: Any,
        shape: Any,
        keyspace: Any,
        ready: ReadyStatements,
        usual: Untouched,
        layout: InstanceLayout,
        exact: ExactKinds,
        made: Iterable[tuple[str, int, type | None, Callable[[], Any]]],
        left: Iterable[Callable[[], bool]],
        places: Iterable[int | None],
    ) -> None: ...
    def defaults(self) -> dict[str, Any]:
        """Values that are not given, made anew."""
    def bound(self, given: dict[str, Any], made: dict[str, Any]) -> list[Any] | None:
        """What is bound of what was given, and of what was *made*."""
    def send(self, given: dict[str, Any], made: dict[str, Any]) -> tuple[Any, list[Any]] | None:
        """The future of the request, and what was bound."""
    def write(self, given: dict[str, Any], made: dict[str, Any]) -> Any:
        """The instance of the row that was written, which is waited for. What the request ends with is raised."""
    def written(self, bound: list[Any]) -> Any:
        """The instance of a row that was written."""

class RowRead(Plain):
    """The row with values by *names*, which *exact* binds, and *last* after them. Immutable, but for the layout of its
    rows, which the first one tells."""

    names: Final[tuple[str, ...]]
    def __init__(
        self,
        model: Any,
        shape: Any,
        keyspace: Any,
        ready: ReadyStatements,
        names: Iterable[str],
        exact: ExactKinds,
        last: Any,
        row_factory: Any,
    ) -> None: ...
    def send(self, given: dict[str, Any]) -> tuple[Any, tuple[Any, ...]] | None:
        """The future of a request for the row, and the values as they are read."""
    def only_one(self, result: Any, known: tuple[Any, ...]) -> Any:
        """The instance of a result."""
    def _converted(self, given: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        """Override. What is bound, and the values as they are read, of values of other classes."""
    def _layout_of(self, names: tuple[str, ...]) -> InstanceLayout:
        """Override. The layout of rows of columns of these names."""
    def _several(self, instances: list[Any], known: tuple[Any, ...]) -> Any:
        """Override. What is returned where there is not one instance."""

class RowReads(WorkedOut):
    """The :class:`RowRead` of models and the names of values."""

    def read(self, model: Any, given: dict[str, Any]) -> Any:
        """As ``send`` of what is found, and waits: the instance. What the request ends with is raised."""
