# Instances of models: a loaded row, and the values that the application set. Loading one makes one object, none per
# value.
#
# An instance belongs to the application, as any Python object; rows and layouts never change once they are shared.
#
# The garbage collector does not track an instance before it may be part of a cycle: until then it refers to immutable
# objects. Traversing thousands of them again and again would cost more than making them.

from copy import deepcopy

from cassandra._core.cpython.interpreter cimport is_subclass, new_object, state_of_class
from cassandra._core.cpython.references cimport (
    EpochReader, borrow_reference, get_value, load_reference, put_once, store_reference,
)

cdef extern from "Python.h":
    PyTypeObject* TYPE "Py_TYPE"(PyObject* o)
    PyObject* GET_TUPLE "PyTuple_GET_ITEM"(PyObject* t, Py_ssize_t i)
    void SET_TUPLE "PyTuple_SET_ITEM"(PyObject* t, Py_ssize_t i, PyObject* v)
    tuple PyTuple_New(Py_ssize_t n)
    void INCREF "Py_INCREF"(PyObject* o)
    bint PyDict_Next(dict d, Py_ssize_t* step, PyObject** key, PyObject** value)
    int SET_ATTRIBUTE "PyObject_GenericSetAttr"(object o, object name, object value) except -1
    bint GC_IS_TRACKED "PyObject_GC_IsTracked"(PyObject* o)
    void GC_TRACK "PyObject_GC_Track"(void* o)
    bint GC_DISABLE "PyGC_Disable"()
    bint GC_ENABLE "PyGC_Enable"()
    void GC_UNTRACK "PyObject_GC_UnTrack"(void* o)

cdef object _missing = object()


cdef inline void set_item(tuple made, Py_ssize_t at, PyObject* value) noexcept:
    """Set the item *at* of a new tuple, which is not set."""
    INCREF(value)
    SET_TUPLE(<PyObject*>made, at, value)


cdef str intern_name(name):
    from sys import intern

    return intern(name)

cdef str PERSISTED = intern_name("_is_persisted")


cdef inline void track_instance(object one) noexcept:
    if not GC_IS_TRACKED(<PyObject*>one):
        GC_TRACK(<PyObject*>one)


cdef enum:
    MAX_ELEMENTS = 65535  # of a container


@cython.final
cdef class Kind:
    """The values of a column that are stored as they are: those of exactly the class *cls*, or, with *item*, lists,
    sets and dicts whose elements are of exactly this class (keys of *item*, values of *value*). An empty container is a
    null, and none of these. Called, it copies a container, as converters of layouts do: None becomes an empty one."""

    cdef readonly type cls
    cdef readonly type item
    cdef readonly type value

    def __init__(self, type cls not None, type item=None, type value=None):
        if item is not None and (cls not in (list, set, dict) or (cls is dict) is not (value is not None)):
            raise TypeError(f"no kind of containers: {cls!r} of {item!r} and {value!r}")
        self.cls = cls
        self.item = item
        self.value = value

    def __call__(self, value):
        return self.copy(value)

    cdef object copy(self, value):
        if value is None:
            return self.cls()
        if self.cls is list:
            return list(value)
        return set(value) if self.cls is set else dict(value)

    def takes(self, value):
        """True if *value* is one of these values."""
        return self.has(value)

    cdef inline bint has(self, value) except -1:
        return type(value) is self.cls and (self.item is None or self.has_elements(value))

    cdef bint has_elements(self, value) except -1:
        cdef PyObject* key
        cdef PyObject* element
        cdef Py_ssize_t step = 0
        if not 0 < len(value) <= MAX_ELEMENTS:
            return False
        if self.cls is list:
            for one in <list>value:
                if type(one) is not self.item:
                    return False
        elif self.cls is set:
            for one in <set>value:
                if type(one) is not self.item:
                    return False
        else:
            while PyDict_Next(<dict>value, &step, &key, &element):
                if TYPE(key) != <PyTypeObject*>self.item or TYPE(element) != <PyTypeObject*>self.value:
                    return False
        return True


@cython.final
cdef class InstanceLayout:
    """The index of each column. The first indexes are those of a row, the others those of values that all rows of a
    result share. *converters* has None for a value that is read unmodified, a :class:`Kind` for a container that is
    copied, else the function that converts it. *columns*: names of all columns of the model."""

    cdef readonly tuple names
    cdef readonly tuple converters
    cdef dict _indexes
    cdef vector[Py_ssize_t] places  # of the columns of the model; -1: not in the layout
    cdef bint is_stored  # True if the layout has all columns of the model, and its values are the stored ones

    def __cinit__(self, names, converters, columns=()):
        self.names = tuple([intern_name(name) for name in names])
        self.converters = tuple(converters)
        if len(self.names) != len(self.converters):
            raise ValueError(f"{len(self.converters)} converters for {len(self.names)} columns")
        self._indexes = {name: place for place, name in enumerate(self.names)}
        self.is_stored = all([convert is None or type(convert) is Kind for convert in self.converters])
        for name in columns:
            self.places.push_back(self._indexes.get(name, -1))
            self.is_stored = self.is_stored and name in self._indexes

    def __len__(self):
        return len(self.names)

    def __contains__(self, name):
        return name in self._indexes

    def __repr__(self):
        return f"<InstanceLayout {', '.join(self.names)}>"


cdef extern from *:
    """
    #define fastcql_layout_of(one) FASTCQL_FIELD(one, _layout)
    #define fastcql_row_of(one) FASTCQL_FIELD(one, _row)
    #define fastcql_shared_of(one) FASTCQL_FIELD(one, _shared)
    #define fastcql_now_of(one) FASTCQL_FIELD(one, _now)
    #define fastcql_explicit_of(one) FASTCQL_FIELD(one, _explicit)
    #define fastcql_last_of(one) FASTCQL_FIELD(one, _last)
    """
    PyObject** layout_of "fastcql_layout_of"(Instance one)
    PyObject** row_of "fastcql_row_of"(Instance one)
    PyObject** shared_of "fastcql_shared_of"(Instance one)
    PyObject** now_of "fastcql_now_of"(Instance one)
    PyObject** explicit_of "fastcql_explicit_of"(Instance one)
    PyObject** last_of "fastcql_last_of"(ColumnAccess one)


cdef class Instance:
    """Base of models: values by column name, the loaded ones included.

    * ``_row`` and ``_shared``: loaded values, at the indexes of the layout; never changed
    * ``_now``: values that are read instead: those that were set, and those that may be changed in place
    * ``_explicit``: names of the values that the application set
    * ``_was_set``: an attribute was set, possibly one of the instance's own

    An instance belongs to one thread at a time. Without the GIL, threads that share one see the values of some moment:
    what is replaced is released when no thread reads it any more.
    """

    cdef InstanceLayout _layout
    cdef tuple _row
    cdef tuple _shared
    cdef dict _now
    cdef set _explicit
    cdef public bint _is_persisted
    cdef bint _was_set

    # Of a model class, whose metaclass sets them: the name of its connection, and its ModelPlan.
    __connection__ = None
    _plan = None

    def __setattr__(self, name, value):
        track_instance(self)
        if name is not PERSISTED:  # a field
            self._was_set = True
        SET_ATTRIBUTE(self, name, value)

    cdef dict now(self):
        """Return the dict of values that are read instead of loaded ones, to be extended."""
        cdef EpochReader reader
        reader.announce()
        found = <object>borrow_reference(now_of(self))
        if found is None:
            track_instance(self)
            found = put_once(now_of(self), {})
        return <dict>found

    cdef set explicit(self):
        """Return the names of the values that the application set, to be extended."""
        cdef EpochReader reader
        reader.announce()
        found = <object>borrow_reference(explicit_of(self))
        if found is None:
            found = put_once(explicit_of(self), set())
        return <set>found

    # What these four return is valid in the epoch that the caller has announced.

    cdef inline InstanceLayout layout(self):
        return <InstanceLayout>borrow_reference(layout_of(self))

    cdef inline dict current_or_none(self):
        return <dict>borrow_reference(now_of(self))

    cdef inline set explicit_or_none(self):
        return <set>borrow_reference(explicit_of(self))

    cdef object loaded_value(self, Py_ssize_t place):
        """Return the loaded value at *place* of a layout; None if another thread has put a shorter row there."""
        cdef tuple values = <tuple>borrow_reference(row_of(self))
        if place >= len(values):
            place -= len(values)
            values = <tuple>borrow_reference(shared_of(self))
        return values[place] if place < len(values) else None

    cdef object converted_value(self, name, object missing):
        """Return the loaded value of this column, converted; *missing* if it was not loaded."""
        cdef EpochReader reader
        cdef Py_ssize_t place
        reader.announce()
        cdef InstanceLayout layout = self.layout()
        found = None if layout is None else layout._indexes.get(name)
        if found is None:
            return missing
        place = found
        convert = layout.converters[place]
        value = self.loaded_value(place)
        return value if convert is None else convert(value)

    def _begin(self, dict now not None, set explicit not None):
        """Become a new instance with these values, of which *explicit* were given."""
        track_instance(self)
        self.set_values(None, None, None, now, explicit)

    cdef int set_values(self, InstanceLayout layout, tuple row, tuple shared, dict now, set explicit) except -1:
        store_reference(layout_of(self), layout)
        store_reference(row_of(self), row)
        store_reference(shared_of(self), shared)
        store_reference(now_of(self), now)
        store_reference(explicit_of(self), explicit)
        return 0

    def _keep(self, InstanceLayout layout not None, tuple row not None, dict now=None, set explicit=None):
        """Set *row* as the loaded values, and *now*, if given, as the values that are read instead."""
        self.keep(layout, row, now, explicit)

    cdef int keep(self, InstanceLayout layout, tuple row, dict now=None, set explicit=None) except -1:
        if len(row) != len(layout.names):
            raise ValueError(f"{len(row)} values for {len(layout.names)} columns")
        if now is not None or explicit is not None:
            track_instance(self)
        self.set_values(layout, row, (), now, explicit)
        return 0

    @property
    def _touched(self):
        """Values that are read instead of loaded ones, by name; they may have been changed in place."""
        return self.now()

    @property
    def _given(self):
        """Names of the values that the application set."""
        return self.explicit()

    def _loaded(self, name, missing=None):
        """Return the loaded value of the column *name*, converted; *missing* if it was not loaded."""
        return self.converted_value(name, missing)

    cdef bint is_explicit(self, name) except -1:
        """True if the application set the value of the column *name*."""
        cdef EpochReader reader
        reader.announce()
        cdef set explicit = self.explicit_or_none()
        return explicit is not None and name in explicit

    cdef bint is_known(self, name) except -1:
        """True if the value of the column *name* was loaded or written."""
        cdef EpochReader reader
        reader.announce()
        cdef InstanceLayout layout = self.layout()
        return layout is not None and name in layout._indexes

    cdef inline bint has_own_attributes(self) except -1:
        """True if an attribute of its own was set."""
        return self._was_set and bool(getattr(self, "__dict__", None))

    def update(self, **values):
        """Set these values, and write the changed ones."""
        cdef ModelPlan plan = plan_of(type(self))
        if plan is None or not plan.write_now(self, values):
            self._update_by_slow_path(values)
        return self

    def save(self):
        """Insert the row, or write its changes."""
        cdef ModelPlan plan = plan_of(type(self))
        if plan is None or not plan.write_now(self, None):
            self._save_by_slow_path()
        return self

    def _save_by_slow_path(self):
        """Override. As :meth:`save`, by methods that the model, or a program, overrides."""
        raise NotImplementedError

    def _update_by_slow_path(self, dict values not None):
        """Override. As :meth:`update`, by methods that the model, or a program, overrides, and for values that are
        refused."""
        raise NotImplementedError

    def __reduce__(self):
        """Pickle loaded values, converted, and a mark for those that have a converter: converters are not pickled."""
        cdef EpochReader reader
        reader.announce()
        cdef InstanceLayout layout = self.layout()
        cdef dict now = self.current_or_none()
        cdef set explicit = self.explicit_or_none()
        loaded = None
        if layout is not None:
            made = tuple([convert is not None for convert in layout.converters])
            loaded = (layout.names, made, tuple([self.converted_value(name, None) for name in layout.names]))
        now = None if now is None else dict(now)
        explicit = None if explicit is None else set(explicit)
        state = (loaded, now, explicit, self._is_persisted, getattr(self, "__dict__", None))
        return _instance_of, (type(self),), state

    def __setstate__(self, state):
        loaded, now, explicit, self._is_persisted, attributes = state
        track_instance(self)
        self._now = None if now is None else dict(now)  # the copy's own
        self._explicit = None if explicit is None else set(explicit)
        if loaded is not None:
            names, made, self._row = loaded
            self._shared = ()
            self._layout = InstanceLayout(names, [deepcopy if each else None for each in made])
        if attributes:
            self._was_set = True
            self.__dict__.update(attributes)


def _instance_of(cls):
    """Return an empty instance, to be unpickled or copied to."""
    check_model(cls)
    return new_object(cls, ())


cdef Instance make_loaded(cls, InstanceLayout layout, tuple row, tuple shared):
    cdef Instance made = <Instance>new_object(cls, ())
    GC_UNTRACK(<void*>made)
    made._layout = layout
    made._row = row
    made._shared = shared
    made._is_persisted = True
    return made


cdef int check_model(cls) except -1:
    if not is_subclass(cls, <PyTypeObject*>Instance):
        raise TypeError(f"expected a subclass of Instance, got {cls!r}")
    return 0


def new_loaded(cls, InstanceLayout layout not None, tuple row not None, tuple shared not None):
    """Return one instance of *cls*, see load_instances()."""
    check_model(cls)
    if len(row) + len(shared) != len(layout.names):
        raise ValueError(f"{len(row)} values and {len(shared)} shared ones for {len(layout.names)} columns")
    return make_loaded(cls, layout, row, shared)


def load_instances(cls, InstanceLayout layout not None, rows, tuple shared not None):
    """Return one instance of *cls* per row. If *rows* is a list they replace its rows: a second list would cost another
    pass over memory. ``__init__`` is not called; *shared* follows the values of each row."""
    cdef list found = rows if type(rows) is list else list(rows)
    cdef Py_ssize_t own = len(layout.names) - len(shared)
    cdef Py_ssize_t at = 0
    check_model(cls)
    # One collection after the loop, instead of one per 700 instances: none of them is garbage meanwhile.
    cdef bint collects = GC_DISABLE()
    try:
        while at < len(found):
            row = found[at]
            if type(row) is not tuple or len(<tuple>row) != own:
                raise TypeError(f"a row must be a tuple of {own} values, got {row!r}")
            found[at] = make_loaded(cls, layout, <tuple>row, shared)
            at += 1
    finally:
        if collects:
            GC_ENABLE()
    return found


@cython.final
cdef class _ColumnIndex:
    """The index of a column in a layout. One object, so that a thread never reads a part of another thread's update."""

    cdef InstanceLayout layout
    cdef Py_ssize_t place  # -1: not in the layout
    cdef object convert


cdef class ColumnAccess:
    """Descriptor of a column: its value on an instance, the object that builds queries on the class."""

    cdef readonly object column
    cdef public object query_evaluator
    cdef object _name
    cdef object _initial
    cdef object _readonly
    cdef _ColumnIndex _last  # for the layout that was read last

    def __init__(self, column, query_evaluator, name, initial, undeletable=None):
        """*initial* makes the value of a column that was not loaded; *undeletable* is the error of a deletion."""
        self.column = column
        self.query_evaluator = query_evaluator
        self._name = intern_name(name)
        self._initial = initial
        self._readonly = undeletable
        self._last = _ColumnIndex.__new__(_ColumnIndex)

    def __get__(self, instance, owner):
        cdef EpochReader reader
        cdef Instance one
        cdef InstanceLayout layout
        cdef dict now
        cdef _ColumnIndex at
        reader.announce()
        if instance is None:
            return self.query_evaluator
        one = <Instance?>instance
        now = one.current_or_none()
        if now is not None:
            value = get_value(now, self._name, _missing)
            if value is not _missing:
                return value
        layout = one.layout()
        if layout is not None:
            at = <_ColumnIndex>borrow_reference(last_of(self))
            if at.layout is not layout:
                at = self.find(layout)
            if at.place >= 0:
                value = one.loaded_value(at.place)
                return value if at.convert is None else self.keep_made(one, at.convert(value))
        return self.keep_made(one, self._initial())

    cdef object keep_made(self, Instance one, value):
        """Keep *value*, which was made at this access, for later ones. Return the kept one."""
        return one.now().setdefault(self._name, value)

    cdef _ColumnIndex find(self, InstanceLayout layout):
        cdef _ColumnIndex at = _ColumnIndex.__new__(_ColumnIndex)
        found = layout._indexes.get(self._name)
        at.layout = layout
        at.place = -1
        if found is not None:
            at.place = found
            at.convert = layout.converters[at.place]
        store_reference(last_of(self), at)
        return at

    def __set__(self, instance, value):
        cdef Instance one = <Instance?>instance
        one.now()[self._name] = value
        one.explicit().add(self._name)

    def __delete__(self, instance):
        cdef Instance one = <Instance?>instance
        if self._readonly is not None:
            raise AttributeError(self._readonly)
        one.now()[self._name] = None
