# InstanceMaker: cells of a row to an instance of a program's own class.
#
# If construction only sets fields (_wire/class_shapes.py decides this) no Python code runs: fields are slots, inline
# values of the instance, or a tuple's items. Otherwise it is one call per row.
#
# Instances, and the list that holds them, are not tracked by the collector before the page is complete: it would
# traverse them again and again, and constructors could see a list with holes.

from libcpp.vector cimport vector

cdef extern from "Python.h":
    PyObject* VECTORCALL "PyObject_Vectorcall"(
        PyObject* function, PyObject** args, size_t flags, PyObject* names
    ) except NULL
    PyObject* CALL_NOTHING "PyObject_CallNoArgs"(PyObject* function) except NULL
    int SET_GENERIC "PyObject_GenericSetAttr"(PyObject* o, PyObject* name, PyObject* value) except -1
    size_t ARGUMENTS_OFFSET "PY_VECTORCALL_ARGUMENTS_OFFSET"

cdef enum MakerKind:
    BY_CALL  # cls(...)
    BY_INIT  # object.__new__(cls), then its __init__
    BY_TUPLE
    BY_SLOTS
    BY_VALUES
    BY_ATTRIBUTES

cdef enum:
    MAKING = -1  # in the place of a column: while a constructor runs

cdef enum:
    DEFAULT = -1  # sources other than a column
    FACTORY = -2

_MAKER_KINDS = {"call": BY_CALL, "init": BY_INIT, "tuple": BY_TUPLE, "fields": BY_ATTRIBUTES}


@cython.final
cdef class InstanceMaker:
    """Makes an instance of *row_class* from the cells of a row. Immutable."""

    cdef readonly object row_class
    cdef MakerKind _kind
    cdef bint _is_bare
    cdef bint _is_gc_class
    cdef Py_ssize_t _columns
    cdef Py_ssize_t _count
    cdef tuple _names
    cdef tuple _defaults
    cdef object _init
    cdef vector[Py_ssize_t] _sources
    cdef vector[Py_ssize_t] _places  # offsets of slots, or indexes of the values

    def __cinit__(self, row_class not None, str kind not None, Py_ssize_t columns, sources, names=(), defaults=()):
        if not isinstance(row_class, type):
            raise TypeError(f"{row_class!r} is not a class")
        if kind not in _MAKER_KINDS:
            raise ValueError(f"kind must be one of {', '.join(_MAKER_KINDS)}, got {kind!r}")
        self.row_class = row_class
        self._kind = _MAKER_KINDS[kind]
        self._columns = columns
        self._names = tuple([intern_name(name) for name in names])
        self._defaults = tuple(defaults)
        self._is_gc_class = IS_GC(<PyTypeObject*>row_class)
        used = set()
        for source in sources:
            if source in used and source >= 0:
                raise ValueError(f"column {source} is used twice")
            if not FACTORY <= source < columns:
                raise ValueError(f"column {source} is out of range: there are {columns} columns")
            if source < 0 and self._kind in (BY_CALL, BY_INIT):
                raise ValueError("sources of a constructor must be columns: it has its own defaults")
            used.add(source)
            self._sources.push_back(source)
        self._count = <Py_ssize_t>self._sources.size()
        if self._kind == BY_CALL or self._kind == BY_INIT:
            if len(self._names) > self._count:
                raise ValueError(f"{len(self._names)} names for {self._count} arguments")
        elif len(self._defaults) != self._count:
            raise ValueError(f"{len(self._defaults)} defaults for {self._count} fields")
        if self._kind != BY_CALL and self._kind != BY_TUPLE and row_class.__new__ is not object.__new__:
            if not hasattr(row_class, "__struct_fields__"):
                raise TypeError(f"{row_class!r} has its own __new__")
        if self._kind == BY_INIT:
            self._init = row_class.__init__
        elif self._kind == BY_TUPLE:
            if not is_plain_tuple_class(row_class):
                raise TypeError(f"{row_class!r} is not a namedtuple class without instance attributes")
        elif self._kind == BY_ATTRIBUTES:
            if len(self._names) != self._count:
                raise ValueError(f"{len(self._names)} names for {self._count} fields")
            if self._find_slots():
                self._kind = BY_SLOTS
                self._is_bare = is_bare_class(row_class)
            elif self._find_values():
                self._kind = BY_VALUES

    @property
    def kind(self):
        """Method by which instances are made."""
        return ("call", "init", "tuple", "slots", "values", "attributes")[<int>self._kind]

    def make(self, row):
        """Return the instance for one row, a sequence of values."""
        cdef Cells cells
        cdef Py_ssize_t i
        values = tuple(row)
        if len(values) != self._columns:
            raise ValueError(f"expected a row of {self._columns} values, got {len(values)}")
        if not cells.allocate(self._columns):
            raise MemoryError()
        for i in range(self._columns):
            cells.items()[i] = owned(values[i])
        made = Ref_take(make_instance(self, cells.items()))
        if self._is_untracked():
            GC_TRACK(<PyObject*>made)
        return made

    cdef inline bint _is_untracked(self) noexcept:
        """True if the collector does not track the instance."""
        return self._is_gc_class and self._kind >= BY_TUPLE

    cdef bint _find_slots(self) except -1:
        cdef Py_ssize_t offset
        self._places.clear()
        for name in self._names:
            offset = slot_offset(self.row_class, PyUnicode_AsUTF8AndSize(name, NULL))
            if offset < 0 or has_place(self._places, offset):
                return False
            self._places.push_back(offset)
        return True

    cdef bint _find_values(self) except -1:
        """True if the values of all fields are inline in an instance; find their places by setting them, and test
        it."""
        cdef PyObject** values
        cdef int i
        cdef list marks = [object() for _ in self._names]
        self._places.clear()
        if hasattr(self.row_class, "__del__"):  # it would run for the trial instances
            return False
        for name in self._names:
            if hasattr(type(getattr(self.row_class, name, None)), "__set__"):
                return False
        one = Ref_take(new_plain(self.row_class, ()))
        for name, mark in zip(self._names, marks):
            SET_GENERIC(<PyObject*>one, <PyObject*>name, <PyObject*>mark)
        values = attribute_values(<PyObject*>one)
        if values == NULL or inline_values_count(values) != self._count or inline_values_capacity(values) < self._count:
            return False
        for i in range(<int>self._count):
            if values[inline_value_index(values, i)] != <PyObject*>marks[i]:
                return False
            self._places.push_back(inline_value_index(values, i))
        other = Ref_take(new_plain(self.row_class, ()))
        values = attribute_values(<PyObject*>other)
        if values == NULL or inline_values_count(values) != 0 or inline_values_capacity(values) < self._count:
            return False
        for i in range(<int>self._count):
            add_value(values, self._places[i], owned(marks[i]))
        return list(vars(other).items()) == list(zip(self._names, marks))

    def __repr__(self):
        return f"<InstanceMaker of {self.row_class!r} by {self.kind}>"


cdef bint has_place(vector[Py_ssize_t]& places, Py_ssize_t place) noexcept:
    cdef size_t i
    for i in range(places.size()):
        if places[i] == place:
            return True
    return False


cdef PyObject* take_value(InstanceMaker maker, Py_ssize_t i, PyObject** cells) except NULL:
    """Return a new reference to the value of field *i*."""
    cdef Py_ssize_t source = maker._sources[i]
    cdef PyObject* value
    if source >= 0:
        value = cells[source]
        cells[source] = NULL
        return value
    value = tuple_items(<PyObject*>maker._defaults)[i]
    if source == FACTORY:
        return CALL_NOTHING(value)
    INCREF(value)
    return value


cdef PyObject* make_instance(InstanceMaker maker, PyObject** cells) except NULL:
    """Return an instance of *cells*, some of which it takes over. The collector does not track it yet if
    ``_is_untracked``."""
    cdef Ref made
    cdef Ref value
    cdef PyObject** values
    cdef Py_ssize_t i
    if maker._kind == BY_CALL or maker._kind == BY_INIT:
        return call_class(maker, cells)
    if maker._kind == BY_TUPLE:
        made.reset(new_row(<PyTypeObject*>maker.row_class, maker._count))
        for i in range(maker._count):
            tuple_items(made.get())[i] = take_value(maker, i, cells)
        return made.release()
    if maker._is_bare:
        made.reset(new_instance(<PyTypeObject*>maker.row_class, False))
    else:
        made.reset(new_plain(maker.row_class, ()))
        if maker._is_gc_class:
            GC_UNTRACK(made.get())
    if maker._kind == BY_SLOTS:
        for i in range(maker._count):
            set_slot(made.get(), maker._places[i], take_value(maker, i, cells))
        return made.release()
    values = attribute_values(made.get()) if maker._kind == BY_VALUES else NULL
    if values != NULL:
        for i in range(maker._count):
            add_value(values, maker._places[i], take_value(maker, i, cells))
        return made.release()
    for i in range(maker._count):
        value.reset(take_value(maker, i, cells))
        SET_GENERIC(made.get(), tuple_items(<PyObject*>maker._names)[i], value.get())
    return made.release()


cdef enum:
    FEW = 32  # arguments that need no allocation


cdef PyObject* call_class(InstanceMaker maker, PyObject** cells) except NULL:
    cdef PyObject* few[FEW + 2]
    cdef vector[PyObject*] many
    cdef PyObject** arguments = few
    cdef PyObject* names = <PyObject*>maker._names if len(maker._names) else NULL
    cdef Py_ssize_t i, positional = maker._count - len(maker._names)
    cdef Ref made
    cdef Ref nothing
    if maker._count > FEW:
        many.resize(<size_t>maker._count + 2)
        arguments = many.data()
    for i in range(maker._count):
        arguments[i + 2] = cells[maker._sources[i]]
    if maker._kind == BY_CALL:
        return VECTORCALL(
            <PyObject*>maker.row_class, arguments + 2, <size_t>positional | ARGUMENTS_OFFSET, names
        )
    made.reset(new_plain(maker.row_class, ()))
    arguments[1] = made.get()
    nothing.reset(
        VECTORCALL(<PyObject*>maker._init, arguments + 1, <size_t>(positional + 1) | ARGUMENTS_OFFSET, names)
    )
    if nothing.get() != Py_None:
        raise TypeError(f"{maker.row_class.__qualname__}.__init__() should return None")
    return made.release()
