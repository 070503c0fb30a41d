# Instances of models: a row as it came, and beside it what a program set. Loading one costs an object, not a value.
#
# An instance is its program's own, as any Python object is; rows and layouts never change once they are shared.
#
# The garbage collector is not told of one before it may be part of a cycle: until then it refers to what cannot change.
# Going over thousands of them again and again would cost more than making them.

from copy import deepcopy


cdef str PERSISTED = intern_name("_is_persisted")


cdef inline void tell_collector(object one) noexcept:
    if not GC_IS_TRACKED(<PyObject*>one):
        GC_TRACK(<PyObject*>one)


@cython.final
cdef class InstanceLayout:
    """Which column is at which place. The first places are those of a row, the others of what all rows of a result
    have in common. *converters* has None for a value that is read as it came, and else what makes of it what is read."""

    cdef readonly tuple names
    cdef readonly tuple converters
    cdef dict _places

    def __cinit__(self, names, converters):
        self.names = tuple([intern_name(name) for name in names])
        self.converters = tuple(converters)
        if len(self.names) != len(self.converters):
            raise ValueError(f"{len(self.converters)} converters for {len(self.names)} columns")
        self._places = {name: place for place, name in enumerate(self.names)}

    def __len__(self):
        return len(self.names)

    def __contains__(self, name):
        return name in self._places

    def __repr__(self):
        return f"<InstanceLayout {', '.join(self.names)}>"


cdef class Instance:
    """Base of models: values by column name, of which it knows those of before, too.

    * ``_row`` and ``_shared``: values as they came, where its layout says; never changed
    * ``_now``: what is read instead: values that were set, and those that may be changed in place
    * ``_explicit``: names of those that a program set
    * ``_was_set``: an attribute was, which may be one of its own
    """

    cdef InstanceLayout _layout
    cdef tuple _row
    cdef tuple _shared
    cdef dict _now
    cdef set _explicit
    cdef public bint _is_persisted
    cdef bint _was_set

    def __setattr__(self, name, value):
        tell_collector(self)
        if name is not PERSISTED:  # which is a field
            self._was_set = True
        SET_ATTRIBUTE(self, name, value)

    cdef dict now(self):
        """What is read instead of what was loaded, to be added to."""
        if self._now is None:
            tell_collector(self)
            self._now = {}
        return self._now

    cdef object as_it_came(self, Py_ssize_t place):
        cdef Py_ssize_t own = len(self._row)
        return self._row[place] if place < own else self._shared[place - own]

    cdef object came(self, name, object missing):
        """What was loaded of this column, converted; *missing* if it was not loaded."""
        cdef Py_ssize_t place
        if self._layout is None:
            return missing
        found = self._layout._places.get(name)
        if found is None:
            return missing
        place = found
        convert = self._layout.converters[place]
        value = self.as_it_came(place)
        return value if convert is None else convert(value)

    def _begin(self, dict now not None, set explicit not None):
        """As a new one with these values, of which *explicit* were given."""
        tell_collector(self)
        self._layout = None
        self._row = None
        self._shared = None
        self._now = now
        self._explicit = explicit

    def _keep(self, InstanceLayout layout not None, tuple row not None, dict now=None, set explicit=None):
        """From now on *row* has the values of before, and *now*, if there are any, those that are read instead."""
        self.keep(layout, row, now, explicit)

    cdef int keep(self, InstanceLayout layout, tuple row, dict now=None, set explicit=None) except -1:
        if len(row) != len(layout.names):
            raise ValueError(f"{len(row)} values for {len(layout.names)} columns")
        if now is not None or explicit is not None:
            tell_collector(self)
        self._layout = layout
        self._row = row
        self._shared = ()
        self._now = now
        self._explicit = explicit
        return 0

    @property
    def _touched(self):
        """Values that are read instead of those that were loaded, by name; what is in here may have changed."""
        return self.now()

    @property
    def _given(self):
        """Names of the values that a program set."""
        if self._explicit is None:
            self._explicit = set()
        return self._explicit

    def _came(self, name, missing=None):
        """What was loaded of the column *name*, as it is read; *missing* if it was not."""
        return self.came(name, missing)

    def _is_known(self, name):
        """Whether the value of the column *name* was loaded or written."""
        return self._layout is not None and name in self._layout._places

    cdef bint is_as_loaded(self) except -1:
        """Whether nothing was set since it was loaded or written, on the instance neither."""
        return (
            self._layout is not None
            and self._is_persisted
            and not self._now
            and not self._explicit
            and not (self._was_set and getattr(self, "__dict__", None))
        )

    cdef list as_loaded(self, tuple names):
        """The values of these columns, as a list, where all were loaded or written, none is made anew for who reads it,
        and nothing was set since, on the instance neither; else None."""
        cdef InstanceLayout layout = self._layout
        cdef list found = []
        cdef Py_ssize_t place
        if not self.is_as_loaded():
            return None
        for name in names:
            known = layout._places.get(name)
            if known is None:
                return None
            place = known
            if layout.converters[place] is not None:
                return None
            found.append(self.as_it_came(place))
        return found

    def update(self, **values):
        """Set these values, and write what was changed."""
        if row_updates is None or not row_updates.written(self, values):
            self._update_otherwise(values)
        return self

    def _update_otherwise(self, dict values not None):
        """Override. As :meth:`update`, where there is more to do than to bind the values."""
        raise NotImplementedError

    def _set_all(self, dict values not None):
        """As if each was set as an attribute."""
        self.set_all(values)

    cdef int set_all(self, dict values) except -1:
        tell_collector(self)
        if self._explicit:
            self._explicit.update(values)
        else:
            self._explicit = set(values)
        if self._now:
            self._now.update(values)
        else:
            self._now = values.copy()
        return 0

    def __reduce__(self):
        """Of what was loaded, as it is read, and which of it was made: converters are of the program that reads."""
        layout = self._layout
        loaded = None
        if layout is not None:
            made = tuple([convert is not None for convert in layout.converters])
            loaded = (layout.names, made, tuple([self.came(name, None) for name in layout.names]))
        now = None if self._now is None else dict(self._now)
        explicit = None if self._explicit is None else set(self._explicit)
        state = (loaded, now, explicit, self._is_persisted, getattr(self, "__dict__", None))
        return _instance_of, (type(self),), state

    def __setstate__(self, state):
        loaded, now, explicit, self._is_persisted, attributes = state
        tell_collector(self)
        self._now = None if now is None else dict(now)  # a copy's own
        self._explicit = None if explicit is None else set(explicit)
        if loaded is not None:
            names, made, self._row = loaded
            self._shared = ()
            self._layout = InstanceLayout(names, [deepcopy if each else None for each in made])
        if attributes:
            self._was_set = True
            self.__dict__.update(attributes)


def _instance_of(cls):
    """An empty one, that was pickled or is copied."""
    check_model(cls)
    return Ref_take(new_of(cls, <PyObject*>_no_arguments))


cdef Instance loaded_of(cls, InstanceLayout layout, tuple row, tuple shared):
    cdef Instance made = <Instance>Ref_take(new_of(cls, <PyObject*>_no_arguments))
    GC_UNTRACK(<void*>made)
    made._layout = layout
    made._row = row
    made._shared = shared
    made._is_persisted = True
    return made


cdef int check_model(cls) except -1:
    if not is_subclass(cls, <PyTypeObject*>Instance):
        raise TypeError(f"{cls!r} is no subclass of Instance")
    return 0


def new_loaded(cls, InstanceLayout layout not None, tuple row not None, tuple shared not None):
    """One instance of *cls*, see load_instances()."""
    check_model(cls)
    if len(row) + len(shared) != len(layout.names):
        raise ValueError(f"{len(row)} values and {len(shared)} shared ones for {len(layout.names)} columns")
    return loaded_of(cls, layout, row, shared)


def load_instances(cls, InstanceLayout layout not None, rows, tuple shared not None):
    """One instance of *cls* per row, in the place of it if *rows* is a list: a second one would go over memory once
    more. ``__init__`` is not called; *shared* follows the values of each row."""
    cdef list found = rows if type(rows) is list else list(rows)
    cdef Py_ssize_t own = len(layout.names) - len(shared)
    cdef Py_ssize_t at = 0
    check_model(cls)
    # One collection after all of it, in the place of one per 700 instances: none is garbage meanwhile.
    cdef bint collects = GC_DISABLE()
    try:
        while at < len(found):
            row = found[at]
            if type(row) is not tuple or len(<tuple>row) != own:
                raise TypeError(f"a row is a tuple of {own} values, not {row!r}")
            found[at] = loaded_of(cls, layout, <tuple>row, shared)
            at += 1
    finally:
        if collects:
            GC_ENABLE()
    return found


@cython.final
cdef class _Place:
    """Where a column is in a layout. One object, so that a thread never sees half of what another one found."""

    cdef InstanceLayout layout
    cdef Py_ssize_t place  # -1: nowhere
    cdef object convert


cdef class ColumnAccess:
    """A column as an attribute: of an instance its value, of the class what queries are made with."""

    cdef readonly object column
    cdef public object query_evaluator
    cdef object _name
    cdef object _initial
    cdef object _readonly
    cdef _Place _last  # in the layout that was read last

    def __init__(self, column, query_evaluator, name, initial, undeletable=None):
        """*initial* makes the value of a column that was not loaded; *undeletable* says why none can be deleted."""
        self.column = column
        self.query_evaluator = query_evaluator
        self._name = intern_name(name)
        self._initial = initial
        self._readonly = undeletable
        self._last = _Place.__new__(_Place)

    def __get__(self, instance, owner):
        cdef Instance one
        cdef _Place at
        if instance is None:
            return self.query_evaluator
        one = <Instance?>instance
        if one._now is not None:
            value = one._now.get(self._name, _missing)
            if value is not _missing:
                return value
        if one._layout is not None:
            at = self._last
            if at.layout is not one._layout:
                at = self.find(one._layout)
            if at.place >= 0:
                value = one.as_it_came(at.place)
                return value if at.convert is None else self.noted(one, at.convert(value))
        return self.noted(one, self._initial())

    cdef object noted(self, Instance one, value):
        """What was made is the same when it is read again."""
        return one.now().setdefault(self._name, value)

    cdef _Place find(self, InstanceLayout layout):
        cdef _Place at = _Place.__new__(_Place)
        found = layout._places.get(self._name)
        at.layout = layout
        at.place = -1
        if found is not None:
            at.place = found
            at.convert = layout.converters[at.place]
        self._last = at
        return at

    def __set__(self, instance, value):
        cdef Instance one = <Instance?>instance
        if one._explicit is None:
            one._explicit = set()
        one.now()[self._name] = value
        one._explicit.add(self._name)

    def __delete__(self, instance):
        cdef Instance one = <Instance?>instance
        if self._readonly is not None:
            raise AttributeError(self._readonly)
        one.now()[self._name] = None
