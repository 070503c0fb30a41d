"""Native half of the object mapper (L1). See models.pyx.

Everything runs under the GIL, so the calls of two threads do not overlap. An instance belongs to the application.
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, TypeVar

from typing_extensions import Self

_I = TypeVar("_I", bound="Instance")

class Kind:
    """The values of a column that are stored as they are: those of exactly the class *cls*, or, with *item*, non-empty
    lists, sets and dicts whose elements are of exactly this class (keys of *item*, values of *value*). Immutable.

    Called, it returns a copy of a container, of whatever class the server's value is decoded to; an empty one for None.

    Example::

        kind = Kind(list, str)
        kind.takes(["a"]), kind.takes([]), kind.takes([1])  # True, False, False
    """

    cls: Final[type]
    item: Final[type | None]
    value: Final[type | None]
    def __init__(self, cls: type, item: type | None = None, value: type | None = None) -> None:
        """Raise TypeError if *item* is given for another class than list, set and dict, or *value* for another class
        than dict."""
    def __call__(self, value: Any) -> Any: ...
    def takes(self, value: Any) -> bool:
        """True if *value* is one of these values."""

class InstanceLayout:
    """The index of each column in a row; columns whose values all rows of a result share follow. Immutable."""

    names: Final[tuple[str, ...]]
    converters: Final[tuple[Callable[[Any], Any] | None, ...]]
    def __init__(self, names: Iterable[str], converters: Iterable[Callable[[Any], Any] | None]) -> None: ...
    def __len__(self) -> int: ...
    def __contains__(self, name: object) -> bool: ...

class Instance:
    """Base of models: a loaded row, and the values that replace loaded ones. Belongs to the application."""

    __connection__: ClassVar[Any]  # of a model class: the name of its connection
    _shapes: ClassVar[Any]  # of a model class: precomputed objects, until an attribute of it is set
    _is_persisted: bool
    _touched: Final[dict[str, Any]]
    _given: Final[set[str]]
    def _begin(self, now: dict[str, Any], explicit: set[str]) -> None:
        """Become a new instance with these values, of which *explicit* were given."""
    def _keep(
        self,
        layout: InstanceLayout,
        row: tuple[Any, ...],
        now: dict[str, Any] | None = None,
        explicit: set[str] | None = None,
    ) -> None:
        """Set *row* as the loaded values, and *now*, if given, as the values that are read instead."""
    def _came(self, name: str, missing: Any = None) -> Any:
        """Return the loaded value of the column *name*, converted; *missing* if it was not loaded."""
    def _is_known(self, name: str) -> bool:
        """True if the value of the column *name* was loaded or written."""
    def save(self) -> Self:
        """Insert the row, or write its changes. Return the instance. Raise the error of the request."""
    def _save_by_slow_path(self) -> None:
        """Override. As :meth:`save`, if more has to be done than to bind the values."""
    def update(self, **values: Any) -> Self:
        """Set these values, and write the changed ones. Return the instance. Raise the error of the request."""
    def _update_by_slow_path(self, values: dict[str, Any]) -> None:
        """Override. As :meth:`update`, if more has to be done than to bind the values."""
    def _set_all(self, values: dict[str, Any]) -> None:
        """Set the values as attribute assignments do."""
    def __setstate__(self, state: Any) -> None: ...

class ColumnAccess:
    """Descriptor of a column: its value on an instance, *query_evaluator* on the class."""

    column: Final[Any]  #: The column.
    query_evaluator: Any  #: Makes conditions of comparisons with the column.
    def __init__(
        self, column: Any, query_evaluator: Any, name: str, initial: Callable[[], Any], undeletable: str | None = None
    ) -> None:
        """*initial* makes the value of a column that was not loaded; *undeletable* is the error of a deletion."""
    def __get__(self, instance: Any, owner: type) -> Any: ...
    def __set__(self, instance: Any, value: Any) -> None: ...
    def __delete__(self, instance: Any) -> None: ...

def new_loaded(cls: type[_I], layout: InstanceLayout, row: tuple[Any, ...], shared: tuple[Any, ...]) -> _I:
    """Return one instance, as load_instances() makes them."""

def load_instances(
    cls: type[_I], layout: InstanceLayout, rows: Iterable[tuple[Any, ...]], shared: tuple[Any, ...]
) -> list[_I]:
    """Return one instance of *cls*, a subclass of Instance, per row; ``__init__`` is not called. *shared* has the
    values of the last columns of *layout*, the same for all. If *rows* is a list the instances replace its rows."""

class UnmodifiedMethods:
    """Checks that these methods of a class and of its objects have not been replaced since this was made. Any
    thread."""

    def __init__(self, kind: type, names: Iterable[str]) -> None: ...
    def holds(self) -> bool:
        """True if the class still has these methods."""
    def of(self, one: object) -> bool:
        """True if *one* is of exactly this class, and it and the class still have these methods."""

class KeywordCache:
    """Precomputed objects for calls, by the names of the keywords in their order. Any thread.

    It keeps *most* of them, and drops all if there are more."""

    def __init__(self, most: int) -> None: ...
    def find(self, given: dict[str, Any]) -> Any:
        """Return the object that was added for these names, or None. Values are not compared."""
    def add(self, given: dict[str, Any], found: Any) -> Any:
        """Keep *found* for these names, and return it."""

class Precomputed:
    """Precomputed objects for models and the keywords of a call, kept by the model. Any thread."""

    def __init__(self, kind: str, settings: dict[str, Any], compute: Callable[[Any, dict[str, Any]], Any]) -> None:
        """*settings* has the ``DEFAULT_KEYSPACE``; after a change of it objects are computed anew."""
    def find(self, model: Any, given: dict[str, Any]) -> Any:
        """Return the kept object, or the result of *compute*."""
    def keep(self, known: KeywordCache, given: dict[str, Any], found: Any) -> Any:
        """Have *known* keep *found*, also None, for these keywords. Return it."""

class ExactKinds:
    """Binds values unmodified, containers copied, if they are of exactly these kinds; has the index of each.
    Immutable."""

    def __init__(self, kinds: Iterable[Kind | type | None], places: Iterable[int], count: int) -> None:
        """*kinds*: a class stands for its values; None for no value."""
    def bound(self, given: dict[str, Any]) -> list[Any] | None:
        """Return a list of *count* bound values, None where no value was given. Return None if the kind of a value is
        not the one at its position in *given*."""
    def bind_with(self, given: dict[str, Any], last: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        """Return the bound values with *last* after them; and without that."""

class PreparedEntry:
    """A prepared statement and the cache of its execute plans, a :class:`~cassandra._core.routing.PlanCache`."""

    statement: Final[Any]
    plans: Any  # while it is empty, is_ready() is called before each request
    def __init__(self, statement: Any, plans: Any) -> None: ...
    def is_ready(self) -> bool:
        """Override: set *plans* to the statement's present cache; return False if the statement is outdated."""

class Statements:
    """Prepared statements of one session, by shape."""

    statements: dict[Any, PreparedEntry]

class ConnectionFields:
    """Base of connections: the fields that every request reads."""

    _ready: Any  # the session, once it is connected; else None

class ReadyStatements:
    """Sends statements that are prepared in their session, by shape. Any thread."""

    def __init__(
        self,
        unmodified: UnmodifiedMethods,
        key: str,
        connections: dict[Any, Any],
        default: Any,
        settings: dict[str, Any],
    ) -> None:
        """*unmodified*: the class of sessions and its methods; *key*: name of a session's attribute with its
        ``Statements``.
        *connections* are by name; *default* is used without a name. *settings*: requests are sent only while
        ``PREPARING`` is true and ``executed_by`` is ``execute``."""
    def send(self, name: Any, shape: Any, values: Any, row_factory: Any = None) -> Any:
        """Return the future of ``execute_async`` of the prepared statement of *shape*, with *values*, for the session
        of connection *name*; its rows are made by *row_factory*, if that is not None. None if the connection is not
        connected, its session is not an unmodified one, no statement is prepared, or only for a table that has been
        replaced since, or the values cannot be bound."""

class FastRequest:
    """A precomputed request of a model and the keywords of a call, with values that are bound unmodified. Any thread.

    Methods that make a request return None if the slow path is needed, and nothing was sent; or if the request has to
    be repeated, because its statement had to be prepared again."""

    model: Final[Any]
    shape: Final[Any]
    keyspace: Final[Any]
    def __init__(self, model: Any, shape: Any, keyspace: Any, ready: ReadyStatements) -> None: ...
    def _must_be_repeated(self, error: Exception, future: Any) -> bool:
        """Override. Return True if a request that ended with *error* has to be repeated."""

class RowUpdate(FastRequest):
    """Replaces the values of some columns in a row of *layout*. Immutable.

    *given*: per name, in their order, the class of its value, its index among the bound values, and its index in a row.
    *key*: class and row index of the values that are bound after those. *others*: those of the other columns, and a
    predicate that accepts values of another class. *layout* has all columns.
    *unmodified*: methods that write in the slow path; the fast path is used while they are not replaced."""

    layout: Final[InstanceLayout]
    def __init__(
        self,
        model: Any,
        shape: Any,
        keyspace: Any,
        ready: ReadyStatements,
        unmodified: UnmodifiedMethods,
        layout: InstanceLayout,
        given: Iterable[tuple[type | None, int, int]],
        key: Iterable[tuple[type | None, int]],
        others: Iterable[tuple[type | None, int, Callable[[Any], bool]]],
    ) -> None: ...
    def bound(self, instance: Instance, given: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        """Return the bound values, and the resulting row. None if the slow path is needed: a value is of another class,
        or unchanged; *instance* has columns that were not loaded, or that are converted, not only copied, when they are
        read; or a value or an attribute of its own was set on it, or a container was changed in place."""
    def send(self, instance: Instance, given: dict[str, Any]) -> tuple[Any, tuple[Any, ...]] | None:
        """Return the future of the request, and the resulting row. Once it was sent, the instance has the new values,
        also if the request fails."""

class RowUpdates(Precomputed):
    """The :class:`RowUpdate` of models and the names of values."""

    def write(self, instance: Instance, given: dict[str, Any]) -> bool:
        """Send as :class:`RowUpdate` does, and wait. Return True if it was written, and the instance has the new row.
        Raise the error of the request; the instance has the new values then, too."""

def set_row_updates(updates: RowUpdates) -> None:
    """Set the updates by which ``Instance.update`` writes from now on."""

class RowInsert(FastRequest):
    """Inserts a row with values of some columns, which *exact* binds, and of others that are made. Immutable.

    *made*: name, index among the bound values, kind, and factory of the value. *left*: predicates, true if a column
    may be left without a value. *places*: per column of *layout*, the index of its value among the bound values, or
    None."""

    def __init__(
        self,
        model: Any,
        shape: Any,
        keyspace: Any,
        ready: ReadyStatements,
        unmodified: UnmodifiedMethods,
        layout: InstanceLayout,
        exact: ExactKinds,
        made: Iterable[tuple[str, int, Kind | type | None, Callable[[], Any]]],
        left: Iterable[Callable[[], bool]],
        places: Iterable[int | None],
    ) -> None: ...
    def defaults(self) -> dict[str, Any]:
        """Make values for the columns that are not given."""
    def bound(self, given: dict[str, Any], made: dict[str, Any]) -> list[Any] | None:
        """Return the bound values, from *given* and *made*."""
    def send(self, given: dict[str, Any], made: dict[str, Any]) -> tuple[Any, list[Any]] | None:
        """Return the future of the request, and the bound values."""
    def write(self, given: dict[str, Any], made: dict[str, Any]) -> Any:
        """Send, and wait. Return the instance of the row that was written. Raise the error of the request."""
    def written(self, bound: list[Any]) -> Any:
        """Return the instance of a row that was written."""

class RowSave:
    """Writes instances of one model whose values are bound unmodified: new ones by a :class:`RowInsert`, changes by a
    :class:`RowUpdate`. Any thread. Immutable, except for the *most* plans of each that it keeps.

    *kinds*: per column of *layout*, the kind of its values. *is_key*: true for columns of the primary key. *is_needed*:
    true for columns that are not null in a new row. *settings* has the ``DEFAULT_KEYSPACE``; after a change of it plans
    are made anew. *unmodified*: methods that write in the slow path."""

    model: Final[Any]
    layout: Final[InstanceLayout]
    def __init__(
        self,
        model: Any,
        settings: dict[str, Any],
        unmodified: UnmodifiedMethods,
        layout: InstanceLayout,
        kinds: Iterable[Kind | type | None],
        is_key: Iterable[bool],
        is_needed: Iterable[bool],
        most: int,
    ) -> None: ...
    def _insert(self, names: tuple[str, ...]) -> RowInsert | None:
        """Override. Return the plan for a new row with values in the columns *names*."""
    def _update(self, names: tuple[str, ...]) -> RowUpdate | None:
        """Override. Return the plan for changes of the columns *names*."""
    def send(self, one: Instance) -> tuple[FastRequest, Any, tuple[Any, ...]] | None:
        """Return the plan, the future of its request, and the row for :meth:`written`. None if the slow path is needed:
        nothing has changed; a null was assigned; the key, or a container in place, was changed; a value is of another
        kind; a column was not loaded; or *one* has attributes of its own."""
    def written(self, one: Instance, row: tuple[Any, ...]) -> None:
        """Take *row* as the stored one: the request has succeeded."""

class RowSaves:
    """The :class:`RowSave` of models. A model keeps its own, in its ``_shapes``, under *kind*. Any thread."""

    def __init__(self, kind: str, compute: Callable[[Any], RowSave | None]) -> None: ...
    def find(self, model: Any) -> RowSave | None:
        """Return the kept object, or the result of *compute*."""
    def write(self, instance: Instance) -> bool:
        """Save *instance*, and wait. Return False if the slow path is needed. Raise the error of the request; the
        instance has its changes then."""

def set_row_saves(saves: RowSaves) -> None:
    """Set the saves by which ``Instance.save`` writes from now on."""

class RowRead(FastRequest):
    """Reads the row with values by *names*, which *exact* binds, and *last* after them. Immutable, except the layout of
    its rows, which the first result determines."""

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
        """Return the future of a request for the row, and the values as they are read."""
    def only_one(self, result: Any, known: tuple[Any, ...]) -> Any:
        """Return the instance of a result."""
    def _converted(self, given: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        """Override. Return the bound values, and the values as they are read, for values of other classes."""
    def _layout_of(self, names: tuple[str, ...]) -> InstanceLayout:
        """Override. Return the layout of rows of columns of these names."""
    def _several(self, instances: list[Any], known: tuple[Any, ...]) -> Any:
        """Override. Return the result for no or several instances."""

class RowReads(Precomputed):
    """The :class:`RowRead` of models and the names of values."""

    def read(self, model: Any, given: dict[str, Any]) -> Any:
        """Send as :class:`RowRead` does, and wait. Return the instance. Raise the error of the request."""
