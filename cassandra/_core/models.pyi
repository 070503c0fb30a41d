"""Native half of the object mapper (L1). See models.pyx.

Everything runs under the GIL, so the calls of two threads do not overlap. An instance belongs to the application.
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, Protocol, TypeVar

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
    """The index of each column in a row; columns whose values all rows of a result share follow. *columns*: names of
    all columns of the model, for its plan. Immutable."""

    names: Final[tuple[str, ...]]
    converters: Final[tuple[Callable[[Any], Any] | None, ...]]
    def __init__(
        self, names: Iterable[str], converters: Iterable[Callable[[Any], Any] | None], columns: Iterable[str] = ()
    ) -> None: ...
    def __len__(self) -> int: ...
    def __contains__(self, name: object) -> bool: ...

class Instance:
    """Base of models: a loaded row, and the values that replace loaded ones. Belongs to the application."""

    __connection__: ClassVar[Any]  # of a model class: the name of its connection
    _plan: ClassVar[Any]  # of a model class: its ModelPlan
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
    def _loaded(self, name: str, missing: Any = None) -> Any:
        """Return the loaded value of the column *name*, converted; *missing* if it was not loaded."""
    def save(self) -> Self:
        """Insert the row, or write its changes. Return the instance. Raise the error of the request."""
    def _save_by_slow_path(self) -> None:
        """Override. As :meth:`save`, by methods that the model, or a program, overrides."""
    def update(self, **values: Any) -> Self:
        """Set these values, and write the changed ones. Return the instance. Raise the error of the request."""
    def _update_by_slow_path(self, values: dict[str, Any]) -> None:
        """Override. As :meth:`update`, by methods that the model, or a program, overrides, and for values that are
        refused."""
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

class RowRead:
    """Reads the row with values of exactly these *kinds* by *names*, and *last* bound after them. Any thread.
    Immutable, except the layout of its rows, which the first result determines.

    Methods that make a request return None if a query set is needed, and nothing was sent; or if the request has to
    be repeated, because its statement had to be prepared again."""

    plan: Final[ModelPlan]
    names: Final[tuple[str, ...]]
    shape: Final[Any]
    def __init__(
        self,
        plan: ModelPlan,
        names: Iterable[str],
        shape: Any,
        kinds: Iterable[type | None],
        last: Any,
        row_factory: Any,
    ) -> None: ...
    def send(self, given: dict[str, Any]) -> tuple[Any, tuple[Any, ...]] | None:
        """Return the future of a request for the row, and the values as they are read."""
    def only_one(self, result: Any, known: tuple[Any, ...]) -> Any:
        """Return the instance of a result."""
    def _must_be_repeated(self, error: Exception, future: Any) -> bool:
        """Override. Return True if a request that ended with *error* was not executed and has to be repeated."""
    def _converted(self, given: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        """Override. Return the bound values, and the values as they are read, for values of other classes."""
    def _layout_of(self, names: tuple[str, ...]) -> InstanceLayout:
        """Override. Return the layout of rows of columns of these names."""
    def _several(self, instances: list[Any], known: tuple[Any, ...]) -> Any:
        """Override. Return the result for no or several instances."""

VERBS: Final[dict[str, int]]  # numbers of statements, by their first words
OVERRIDES: Final[dict[str, int]]  # what a model may override: flags by name

class ModelColumn(Protocol):
    """A column of a model, as the engine uses it."""

    column_name: str
    db_field_name: str
    primary_key: bool
    static: bool
    required: bool
    has_default: bool
    changes_in_place: bool
    def validate(self, value: Any) -> Any:
        """Return a value as it may be stored. Raise an error if it is not valid."""
    def to_python(self, value: Any) -> Any:
        """Return a given value as an instance has it."""
    def to_database(self, value: Any) -> Any:
        """Return a value as it is bound."""
    def get_default(self) -> Any:
        """Return the default."""
    def _val_is_null(self, val: Any) -> bool:
        """True if a value is stored as null."""

class WriteCondition(Protocol):
    """A condition of a write."""

    field: str

class WriteBatch(Protocol):
    """A batch of an instance."""

    def _join(self, statement: Any, connection: Any) -> None:
        """Add a statement that is executed over *connection*."""

class ColumnPlan:
    """How the values of a column are made, checked, compared and bound. Immutable.

    Values of the class *checked* are valid, and those of the class *bound* are stored, as they are. *convert* makes a
    given value the value of an instance, also None if *converts_none*. *initial* makes the value of a column that was
    neither given nor loaded; None makes None. *change* is called with column, value and previous value, and returns the
    Change of a value that is not assigned as a whole. *empty_is_null*: None if the column decides which values are
    null."""

    name: Final[str]
    column: Final[Any]
    number: Final[int]
    initial: Final[Callable[[], Any] | None]
    kind: Final[Kind | None]
    def __init__(
        self,
        column: Any,  # a ModelColumn
        number: int,
        kind: Kind | None,
        checked: type | None,
        bound: type | None,
        convert: Callable[[Any], Any] | None,
        converts_none: bool,
        initial: Callable[[], Any] | None,
        change: Callable[[Any, Any, Any], Change | None] | None,
        empty_is_null: bool | None,
        is_counter: bool,
        is_map: bool,
    ) -> None: ...
    def in_text(self, value: Any) -> Any:
        """Return a bound *value* as it is bound in a statement that is not prepared."""

class Change:
    """A change of a container or counter: its clause, what determines the clause's text, and the bound values."""

    clause: Final[Any]
    text: Final[Any]
    values: Final[Iterable[Any]]
    def __init__(self, clause: Any, text: Any, values: Iterable[Any]) -> None: ...

class Write:
    """A statement that writes an instance: the parts that it consists of, its shape, and the values to bind. Its text
    is composed for the first statement of a shape, or if it is needed. Immutable."""

    plan: Final[ModelPlan]
    verb: Final[int]
    columns: Final[list[ColumnPlan]]
    parts: Final[list[Any]]  # of each column: the bound value, or its Change
    keys: Final[list[ColumnPlan]]
    key_values: Final[list[Any]]
    options: Final[dict[str, Any] | None]  # of the instance, by their names
    conditions: Final[Any]
    shape: Final[Any]
    values: Final[list[Any]]
    def statement(self) -> Any:
        """Return the statement with its text."""

class PreparedWrites:
    """The statements that write an instance now, for a task. Its values have been copied: what is set while the task
    waits remains a change."""

    instance: Final[Instance]
    writes: Final[list[Write]]
    options: Final[dict[str, Any] | None]  # of the instance, by their names
    connection: Final[Any]
    def join(self) -> bool:
        """Add the statements to the batch of the instance. Return False if there is none."""
    def send(self, write: Write) -> Any:
        """Return the future of the request of a statement; None if it cannot be sent as it is."""
    def finish(self) -> None:
        """Take the values that were written as the stored ones."""

class ModelPlan:
    """Reads and writes of one model. Any thread.

    *layout* has all columns. *settings* has the ``DEFAULT_KEYSPACE``; after a change of it, and of an attribute of the
    model, texts are composed anew. *unmodified*: methods that programs see called; instances are written natively while
    none is replaced, and none of *methods* is set on an instance. *options* of instances, by name, with values that
    mean that they are not set; *inherited*: those that instances of a query set have from it. *deferred* makes the
    statement of a batch.
    """

    model: Final[Any]
    columns: Final[tuple[ColumnPlan, ...]]
    layout: Final[InstanceLayout]
    def __init__(
        self,
        model: Any,
        columns: Iterable[ColumnPlan],
        layout: InstanceLayout,
        settings: dict[str, Any],
        ready: ReadyStatements,
        unmodified: UnmodifiedMethods,
        methods: frozenset[str],
        options: dict[str, Any],
        inherited: frozenset[str],
        deferred: Callable[[Write], Any],
    ) -> None: ...
    def forget(self) -> None:
        """An attribute of the model was set."""
    def overrides(self) -> int:
        """Return what the model overrides: a sum of OVERRIDES."""
    def read(self, given: dict[str, Any]) -> Any:
        """Return the instance of the row with these values; None if a query set is needed."""
    def read_of(self, given: dict[str, Any]) -> Any:
        """Return the RowRead of the names of these values; None if a query set is needed."""
    def begin(self, one: Instance, values: dict[str, Any]) -> None:
        """Make *one* a new instance with these values."""
    def create(self, values: dict[str, Any], options: dict[str, Any] | None = None) -> Any:
        """Insert a row with these values, or add that to the batch among the *options* of a query set, and return its
        instance. None if a method has to be called that the model overrides, to report an unknown name, or for other
        options."""
    def make(self, values: dict[str, Any]) -> Any:
        """Return a new instance with these values; None if a method has to be called that the model overrides, or to
        report an unknown name."""
    def new(self, values: dict[str, Any], options: dict[str, Any] | None = None) -> Any:
        """Return a new instance with these values, and with those of *options* that instances have; its ``__init__`` is
        not called."""
    def previous(self, one: Instance, name: str) -> Any:
        """Return the value of a column when the instance was last loaded or written; None if it never was."""
    def changed(self, one: Instance) -> list[str]:
        """Return the names of the columns with changed values."""
    def can_update(self, one: Instance) -> bool:
        """True if the row exists already: it was loaded or written, and its key has not changed since."""
    def validate(self, one: Instance) -> None:
        """Check all values, and convert those that can be converted. The instance has containers of its own then."""
    def saves(self, one: Instance, options: dict[str, Any] | None, exists: bool) -> list[Write]:
        """Return the statements that insert the row, or update it if it exists."""
    def updates(self, one: Instance, options: dict[str, Any] | None, exists: bool) -> list[Write]:
        """Return the statements that write only the changes."""
    def deletes(self, one: Instance, options: dict[str, Any] | None) -> Write:
        """Return the statement that deletes the row, or the rows with these parts of the key."""
    def deletes_nulls(self, one: Instance, options: dict[str, Any] | None, conditions: Any) -> list[Write]:
        """Return the statement that deletes values that became null, in a list."""
    def settle(self, one: Instance, loaded: Any = None) -> None:
        """Take the current values as the stored ones. *loaded*: names of the columns that were read, for the instance
        of a new row. Columns that were not loaded, and neither set nor changed since, stay unknown."""
    def prepare(self, one: Instance, values: dict[str, Any] | None = None) -> PreparedWrites | None:
        """Return the writes of ``save()``, or, with *values*, of ``update()`` after these values were set. None if
        methods have to be called that the model, or a program, overrides, or to report an error."""

    # To be overridden.
    def _describe(self) -> tuple[int, bool, Iterable[str], Iterable[str], Iterable[str]]:
        """Return what the model overrides, whether it has counters, and the names of its primary key, of its partition
        key and of its clustering keys."""
    def _read_of(self, names: tuple[str, ...]) -> RowRead | None:
        """Return the RowRead of these columns."""
    def _layout_without(self, unknown: set[str]) -> InstanceLayout:
        """Return the layout of instances of which these columns were neither loaded nor written."""
    def _statement(self, write: Write) -> Any:
        """Return the statement of a Write, with its text."""
    def _shape_and_values(self, statement: Any) -> tuple[Any, list[Any]]:
        """Return shape and values of a statement."""
    def _microseconds(self, timestamp: Any) -> int:
        """Return a timestamp in microseconds."""
    def _removed_keys(self, column: Any, value: Any, before: Any) -> Change | None:
        """Return the Change that removes keys from a map; None if none were removed."""
    def _must_be_repeated(self, error: Exception, future: Any) -> bool:
        """Return True if a request that ended with *error* was not executed and has to be repeated."""
    def _execute(self, write: Write, prepared: PreparedWrites) -> None:
        """Execute a statement that cannot be sent as it is, and wait."""
