# Plans of columns, and the statements that write them.


cdef enum:  # when a value is null
    NULL_IF_NONE
    NULL_IF_EMPTY
    NULL_BY_COLUMN  # the column decides

cdef enum:  # what a model overrides
    LOADS = 1  # a method that makes an instance
    WRITES = 2  # a method that writes one
    COLUMNS = 4  # the attribute of a column
    CREATES = 8  # a method of its query sets that creates an instance
    READS = 16  # a method of its query sets that reads one row
    SAVES = 32  # its ``save()``

cdef enum:  # columns of a row that was not loaded from it: an instance whose key has changed
    MOVED_NONE
    MOVED_ROW  # all columns that are not static
    MOVED_ALL

cdef enum:  # statements, and the options that determine their texts
    INSERT = 1
    UPDATE = 2
    DELETE = 4
    WITH_TTL = 8
    WITH_TIMESTAMP = 16
    WITH_EXISTENCE = 32  # IF NOT EXISTS or IF EXISTS
    WITH_KEY = 64
    WITH_PARTITION = 128
    FLAGS = 8  # bits of them
    FIRST_COLUMNS = 55

cdef enum:  # outcomes of a statement that was to be sent as it is
    NOT_SENT
    REFUSED  # it has to be repeated, by a Request
    EXECUTED

cdef enum:  # of a model
    MAX_SHAPES = 512
    MAX_READS = 128

cdef uint64_t ALL_COLUMNS = <uint64_t>-1

VERBS = {"INSERT": INSERT, "UPDATE": UPDATE, "DELETE": DELETE}
OVERRIDES = {"load": LOADS, "write": WRITES, "columns": COLUMNS, "create": CREATES, "read": READS, "save": SAVES}


@cython.final
cdef class ColumnPlan:
    """How the values of a column are made, checked, compared and bound. Immutable."""

    cdef readonly str name
    cdef readonly object column
    cdef readonly Py_ssize_t number
    cdef object bit
    cdef uint64_t mask  # the same; 0 after the first columns
    cdef readonly object initial  # makes the value of a column that was neither given nor loaded; None: it is None
    cdef readonly Kind kind
    cdef type _checked  # class of values that are valid, and neither converted by the column
    cdef type _bound  # nor before they are bound
    cdef object _convert
    cdef object _change
    cdef int _null
    cdef bint _converts_none, _accepts_none, _has_default
    cdef bint is_key, is_static, is_counter, is_map, changes_in_place
    cdef bint _is_container

    def __init__(
        self, column, Py_ssize_t number, Kind kind, type checked, type bound, convert, bint converts_none, initial,
        change, empty_is_null, bint is_counter, bint is_map,
    ):
        self.name = intern_name(column.column_name)
        self.column = column
        self.number = number
        self.bit = (<object>1) << number
        self.mask = <uint64_t>1 << number if number < FIRST_COLUMNS else 0
        self.kind = kind
        self.initial = initial
        self._checked = checked
        self._bound = bound
        self._convert = convert
        self._converts_none = converts_none
        self._change = change
        self._null = NULL_BY_COLUMN if empty_is_null is None else NULL_IF_EMPTY if empty_is_null else NULL_IF_NONE
        self._accepts_none = kind is not None and not column.required
        self._has_default = column.has_default
        self._is_container = kind is not None and kind.item is not None
        self.is_key = column.primary_key
        self.is_static = column.static
        self.is_counter = is_counter
        self.is_map = is_map
        self.changes_in_place = column.changes_in_place

    cdef bint is_null(self, value) except -1:
        """True if *value* is stored as null."""
        if self._null == NULL_BY_COLUMN:
            return bool(self.column._val_is_null(value))
        return value is None or (self._null == NULL_IF_EMPTY and not value)

    cdef inline bint is_plain_container(self, value) except -1:
        """True if *value* is of the kind of the column, or empty."""
        return self._is_container and type(value) is self.kind.cls and (not value or self.kind.has_elements(value))

    cdef object converted(self, value):
        """Return a given *value* as an instance has it."""
        if type(value) is self._checked:
            return value
        if self.is_plain_container(value):
            return self.kind.copy(value)
        if self._convert is None or (value is None and not self._converts_none):
            return value
        return self._convert(value)

    cdef object stored(self, value):
        """Return *value* as it is bound; containers are copied."""
        if type(value) is self._bound:
            return value
        if self._is_container and self.kind.has(value):
            return self.kind.copy(value)
        return self.column.to_database(value)

    def in_text(self, value):
        """Return a bound *value* as it is bound in a statement that is not prepared."""
        if type(value) is self._bound or (self._is_container and self.kind.has(value)):
            return self.column.to_database(value)
        return value

    cdef object copied(self, value):
        """Return a copy of a value that can change in place."""
        return self.kind.copy(value) if self.is_plain_container(value) else deepcopy(value)

    cdef inline bint has_moved(self, int moved) noexcept:
        return moved == MOVED_ALL or (moved == MOVED_ROW and not self.is_static)


@cython.final
cdef class Change:
    """A change of a container or counter: its clause, what determines the clause's text, and the bound values."""

    cdef readonly object clause
    cdef readonly object text
    cdef readonly object values

    def __init__(self, clause, text, values):
        self.clause = clause
        self.text = text
        self.values = values


cdef Change _deleted = Change(None, "", ())  # of a whole column


cdef class Write:
    """A statement that writes an instance: the parts that it consists of, its shape, and the values to bind. Its text
    is composed for the first statement of a shape, or if it is needed. Immutable once it has its shape."""

    cdef readonly ModelPlan plan
    cdef readonly int verb
    cdef readonly list parts  # of each assigned or deleted column: the bound value, or its Change
    cdef readonly tuple keys
    cdef readonly list key_values
    cdef readonly dict options  # of the instance, by their names; None: it has none
    cdef readonly object conditions
    cdef readonly object shape
    cdef readonly list values
    cdef uint64_t _first  # bits of the columns
    cdef object _others  # bits of the columns after the first ones
    cdef bint _has_changes

    cdef int add(self, ColumnPlan column, part) except -1:
        self._first |= column.mask
        if column.mask == 0:
            self._others = column.bit if self._others is None else self._others | column.bit
        if type(part) is Change:
            self._has_changes = True
        self.parts.append(part)
        return 0

    @property
    def columns(self):
        """Plans of the columns of *parts*."""
        others = self._first if self._others is None else self._others | self._first
        return [column for column in self.plan.columns if others & (<ColumnPlan>column).bit]

    def statement(self):
        """Return the statement with its text."""
        return self.plan._statement(self)

    cdef int take_shape(self, _Known known) except -1:
        """Set shape and values."""
        cdef dict options = self.options
        cdef uint64_t flags = self.verb
        cdef bint has_other_keys
        ttl = stamp = None
        if options is not None:
            ttl = None if self.verb == DELETE else get_value(options, "_ttl", None)
            if ttl:
                flags |= WITH_TTL
            stamp = get_value(options, "_timestamp", None)
            if stamp:
                flags |= WITH_TIMESTAMP
                stamp = self.plan._microseconds(stamp)
            if get_value(options, "_if_not_exists" if self.verb == INSERT else "_if_exists", None):
                flags |= WITH_EXISTENCE
        has_other_keys = len(self.keys) > 0 and self.keys is not known.keys and self.keys is not known.partition
        if self.keys is known.keys:
            flags |= WITH_KEY
        elif self.keys is known.partition:
            flags |= WITH_PARTITION
        key = flags | self._first << FLAGS
        if self._has_changes or self._others is not None or has_other_keys:
            key = (key, self._others, self.keys, *[(<Change>part).text for part in self.parts if type(part) is Change])
        if self.conditions or (flags & WITH_TTL and type(ttl) is not int) or (flags & WITH_TIMESTAMP and not stamp):
            self.shape, self.values = self.plan._shape_and_values(self.statement())
            return 0
        self.shape = get_value(known.shapes, key, None)
        if self.shape is None:
            self.compose(known.shapes, key)
        else:
            self.values = self.bound(flags, ttl, stamp)
        return 0

    cdef list bound(self, uint64_t flags, ttl, stamp):
        """Return the values in the order in which they are bound."""
        cdef list values = self.parts
        if self._has_changes:
            values = []
            for part in self.parts:
                if type(part) is Change:
                    values.extend((<Change>part).values)
                else:
                    values.append(part)
        if flags & (WITH_TTL | WITH_TIMESTAMP):
            using = ([ttl] if flags & WITH_TTL else []) + ([stamp] if flags & WITH_TIMESTAMP else [])
            values = using + values if self.verb == UPDATE else values + using
        return values + self.key_values if self.key_values else values

    cdef int compose(self, dict shapes, key) except -1:
        """Take shape and values of the statement as it is composed. Later statements take its shape, if it binds its
        values in their order."""
        self.shape, self.values = self.plan._shape_and_values(self.statement())
        names = [name for name in self.shape.keys if name not in ("ttl", "timestamp")]
        if names == [str(number) for number in range(len(names))]:
            if len(shapes) >= MAX_SHAPES:
                shapes.clear()
            shapes[key] = self.shape
        return 0
