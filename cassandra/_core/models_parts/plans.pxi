# Plans of models: the values of an instance, the checks before a write, its statements, and the instance afterwards.


@cython.final
cdef class PreparedWrites:
    """The statements that write an instance now, and the values that they write."""

    cdef readonly Instance instance
    cdef readonly list writes
    cdef readonly dict options
    cdef readonly object connection
    cdef list current
    cdef dict now  # copies of the values; None for a write that no other code runs beside

    def join(self):
        """Add the statements to the batch of the instance. Return False if there is none."""
        return self.instance_plan().join(self)

    def send(self, Write write not None):
        """Return the future of the request of a statement; None if a Request is needed."""
        if not write.plan.is_sent_as_it_is(self.options):
            return None
        return write.plan._ready.submit(self.connection, write.shape, write.values, None)

    def finish(self):
        """Take the values that were written as the stored ones. Values that were set since are changes."""
        cdef dict later = {}
        cdef set given = set()
        cdef ModelPlan plan = self.instance_plan()
        cdef set explicit = self.instance.explicit()
        for name, value in self.instance.now().items():
            column = get_value(plan._by_name, name, None)
            before = get_value(self.now, name, _missing)
            if before is not _missing and column is not None:
                if before == value if (<ColumnPlan>column).changes_in_place else before is value:
                    continue
            later[name] = value
            if name in explicit:
                given.add(name)
        for name in later:
            if name in self.now:
                self.instance.now()[name] = self.now[name]
            else:
                del self.instance.now()[name]
                explicit.discard(name)
        self.current = plan.current(self.instance)
        plan.finish(self)
        self.instance.now().update(later)
        self.instance.explicit().update(given)

    cdef ModelPlan instance_plan(self):
        return plan_of(type(self.instance))


@cython.final
cdef class _Known:
    """What is known of a model until one of its attributes is set. One object, so that a thread never reads a part of
    another thread's update."""

    cdef unsigned int state  # version of the class; 0: not known
    cdef object keyspace
    cdef object connection
    cdef int overrides
    cdef bint has_counter
    cdef tuple keys, partition, clustering
    cdef dict shapes
    cdef KeywordCache reads


cdef extern from *:
    """
    #define fastcql_known_of(one) FASTCQL_FIELD(one, _known)
    """
    PyObject** known_of "fastcql_known_of"(ModelPlan one)


cdef class ModelPlan:
    """Reads and writes of a model: of its columns, and until an attribute of the model is set, also of its keys and
    texts. Any thread."""

    cdef readonly object model
    cdef readonly tuple columns
    cdef readonly InstanceLayout layout  # of all columns
    cdef dict _by_name
    cdef dict _settings
    cdef ReadyStatements _ready
    cdef UnmodifiedMethods _unmodified
    cdef object _methods  # names that an instance must not have of its own
    cdef dict _options  # of instances: their names, and values that mean that they are not set
    cdef object _inherited, _deferred
    cdef bint _has_attributes  # in the places of columns
    cdef _Known _known

    def __init__(
        self, model, columns, InstanceLayout layout not None, dict settings not None, ReadyStatements ready not None,
        UnmodifiedMethods unmodified not None, methods, dict options not None, inherited, deferred,
    ):
        self.model = model
        self.columns = tuple(columns)
        self.layout = layout
        self._by_name = {column.name: column for column in self.columns}
        self._settings = settings
        self._ready = ready
        self._unmodified = unmodified
        self._methods = methods
        self._options = options
        self._inherited = inherited
        self._deferred = deferred
        if any([not isinstance(column, ColumnPlan) for column in self.columns]):
            raise TypeError("expected plans of columns")

    # ---- what is known until an attribute is set

    def _describe(self):
        """Override. Return what the model overrides, whether it has counters, and the names of its primary key, of its
        partition key and of its clustering keys."""
        raise NotImplementedError

    def forget(self):
        """An attribute of the model was set."""
        store_reference(known_of(self), None)

    cdef _Known known(self):
        cdef _Known known = load_reference(known_of(self))
        cdef unsigned int state = state_of_class(self.model)
        if known is not None and known.keyspace is self._settings["DEFAULT_KEYSPACE"]:
            if state != 0 and known.state == state:
                return known
            connection = self.model.__connection__  # the look-up gives the class a version, if there are any left
            state = state_of_class(self.model)
            if state == known.state and connection is known.connection:
                return known
        return self.find_out()

    cdef _Known find_out(self):
        cdef _Known known = _Known.__new__(_Known)
        known.connection = self.model.__connection__
        known.state = state_of_class(self.model)  # before the attributes are read: another thread may set one
        known.keyspace = self._settings["DEFAULT_KEYSPACE"]
        known.overrides, known.has_counter, keys, partition, clustering = self._describe()
        self._has_attributes = known.overrides & COLUMNS
        known.keys = self.plans_of(keys)
        known.partition = self.plans_of(partition)
        known.clustering = self.plans_of(clustering)
        known.shapes = {}
        known.reads = KeywordCache(MAX_READS)
        store_reference(known_of(self), known)
        return known

    cdef tuple plans_of(self, names):
        return tuple([self._by_name[name] for name in names])

    def overrides(self):
        """Return the steps of which the model overrides methods: a sum of OVERRIDES."""
        return self.known().overrides

    # ---- reads of one row

    def read(self, dict given not None):
        """Return the instance of the row with these values; None if a query set is needed."""
        found = self.find_read(given)
        return None if found is None else (<RowRead?>found).read(given)

    def read_of(self, dict given not None):
        """Return the RowRead of the names of these values; None if a query set is needed."""
        return self.find_read(given)

    cdef object find_read(self, dict given):
        cdef _Known known = self.known()
        found = known.reads.find(given)
        if found is None:
            found = self._read_of(tuple(given))
            known.reads.add(given, _missing if found is None else found)
        return None if found is _missing else found

    def _read_of(self, names):
        """Override. Return the RowRead of these columns, or None."""

    # ---- values of an instance

    def make(self, dict values not None):
        """Return a new instance with these values; None if a method has to be called that the model overrides, or to
        report an unknown name."""
        if self.known().overrides & (LOADS | CREATES):
            return None
        for name in values:
            if name not in self._by_name:
                return None
        return self.new_with(values)

    def new(self, dict values not None, dict options=None):
        """Return a new instance with these values, and with those of *options* that instances have; its ``__init__`` is
        not called."""
        cdef Instance one = self.new_with(values)
        if options is not None:
            for name, value in options.items():
                if name in self._inherited:
                    setattr(one, name, value)
        return one

    cdef Instance new_with(self, dict values):
        cdef Instance one = <Instance>new_object(self.model, ())
        self.begin_with(one, values)
        return one

    def begin(self, Instance one not None, dict values not None):
        """Make *one* a new instance with these values."""
        self.begin_with(one, values)

    cdef int begin_with(self, Instance one, dict values) except -1:
        cdef dict now = {}
        cdef Py_ssize_t found = 0
        cdef set given = set(values)
        cdef ColumnPlan plan
        for column in self.columns:
            plan = <ColumnPlan>column
            value = get_value(values, plan.name, _missing)
            if value is _missing:
                now[plan.name] = None if plan.initial is None else plan.initial()
            else:
                found += 1
                now[plan.name] = plan.converted(value)
        if found < len(given):
            given.intersection_update(self._by_name)
        track_instance(one)
        one.set_values(None, None, None, now, given)
        return 0

    cdef list current(self, Instance one):
        """Return the values that are read instead of loaded ones, by the number of the column; _missing for others."""
        cdef Py_ssize_t at = 0, count = len(self.columns)
        cdef list found = [_missing] * count
        cdef dict now
        cdef EpochReader reader
        reader.announce()
        now = one.current_or_none()
        if now is not None:
            for name, value in now.items():
                if at >= count or name is not (<ColumnPlan>self.columns[at]).name:
                    column = get_value(self._by_name, name, None)
                    if column is None:
                        continue
                    at = (<ColumnPlan>column).number
                found[at] = value
                at += 1
        return found

    cdef object value(self, Instance one, ColumnPlan plan, list current):
        """Return the value as the attribute has it."""
        cdef InstanceLayout layout
        cdef Py_ssize_t place
        cdef EpochReader reader
        reader.announce()
        value = current[plan.number]
        if value is not _missing:
            return value
        layout = one.layout()
        if layout is not None and not self._has_attributes:
            place = self.place_of(plan, layout)
            if place >= 0 and layout.converters[place] is None:
                return one.loaded_value(place)
        value = getattr(one, plan.name, None)
        current[plan.number] = get_value(one.now(), plan.name, _missing)  # the attribute may have kept it
        return value

    cdef inline Py_ssize_t place_of(self, ColumnPlan plan, InstanceLayout layout) except -2:
        """Return the index of a column in a layout; -1 if it is not there."""
        if layout.places.size() == <size_t>len(self.columns):
            return layout.places[plan.number]
        place = layout._indexes.get(plan.name)
        return -1 if place is None else place

    cdef object previous_value(self, Instance one, ColumnPlan plan):
        """Return the value when the instance was last loaded or written; None if it never was."""
        value = one.converted_value(plan.name, _missing)
        if value is not _missing:
            return value
        if (one._is_persisted or plan.is_counter) and plan.initial is not None:
            return plan.initial()
        return None

    cdef bint is_loaded(self, Instance one, ColumnPlan plan) except -1:
        """False if the instance was read from a row without this column."""
        return not one._is_persisted or one.is_known(plan.name)

    cdef bint has_changed(self, Instance one, ColumnPlan plan, value) except -1:
        """True if *value*, read instead of the loaded one, differs from it: it was assigned or changed in place."""
        if value is _missing:
            return False
        if one.is_explicit(plan.name):
            if not plan.is_counter and not self.is_loaded(one, plan):
                return not plan.is_null(value)  # the stored value is not known
            return bool(value != self.previous_value(one, plan))
        if not plan.changes_in_place:
            return False
        before = self.previous_value(one, plan)
        default = plan.column.get_default() if plan._has_default else None
        if plan.is_null(default):
            return not plan.is_null(value) and bool(value != before)
        return bool(value != (default if before is None else before))

    cdef bint is_deleted(self, Instance one, ColumnPlan plan, value) except -1:
        """True if the column has no value and had one before, or null was assigned."""
        if value is _missing or not plan.is_null(value):
            return False
        return one.is_explicit(plan.name) or not plan.is_null(self.previous_value(one, plan))

    cdef bint has_key(self, Instance one, list current, tuple keys) except -1:
        """True if none of the values of these columns has changed."""
        for column in keys:
            if self.has_changed(one, <ColumnPlan>column, current[(<ColumnPlan>column).number]):
                return False
        return True

    cdef int moved(self, Instance one, _Known known, list current) except -1:
        """Return the columns that belong to another row, or another partition, than the one that the instance was
        loaded from or written to. Their stored value there is not known: the whole value is written, or a null."""
        if not one._is_persisted:
            return MOVED_NONE
        return MOVED_ROW if self.has_key(one, current, known.partition) else MOVED_ALL

    cdef bint is_partition(self, Instance one, _Known known, list current) except -1:
        """True if the model has clustering keys and none has a value: the instance is a partition, not a row."""
        for column in known.clustering:
            if not (<ColumnPlan>column).is_null(self.value(one, <ColumnPlan>column, current)):
                return False
        return len(known.clustering) > 0

    def previous(self, Instance one not None, name):
        """Return the value of a column when the instance was last loaded or written; None if it never was."""
        return self.previous_value(one, self._by_name[name])

    def changed(self, Instance one not None):
        """Return the names of the columns with changed values."""
        cdef list current = self.current(one)
        return [
            (<ColumnPlan>column).name
            for column in self.columns
            if self.has_changed(one, <ColumnPlan>column, current[(<ColumnPlan>column).number])
        ]

    def can_update(self, Instance one not None):
        """True if the row exists already: it was loaded or written, and its key has not changed since."""
        return one._is_persisted and self.has_key(one, self.current(one), self.known().keys)

    # ---- checks before a write

    def validate(self, Instance one not None):
        """Check all values, and convert those that can be converted. The instance has containers of its own then."""
        self.check(one, self.current(one), True)

    cdef int check(self, Instance one, list current, bint copying) except -1:
        cdef ColumnPlan plan
        cdef Py_ssize_t place
        cdef EpochReader reader
        reader.announce()
        cdef InstanceLayout layout = one.layout()
        for column in self.columns:
            plan = <ColumnPlan>column
            value = current[plan.number]
            if value is _missing:
                place = -1 if layout is None or self._has_attributes else self.place_of(plan, layout)
                convert = None if place < 0 else layout.converters[place]
                if convert is not None and type(convert) is Kind and plan._is_container and plan._accepts_none:
                    continue  # it was loaded, and not read since
                value = self.value(one, plan, current) if place < 0 or convert is not None else one.loaded_value(place)
            if type(value) is plan._checked:
                continue
            if plan.is_plain_container(value) and (not value or len(value) <= MAX_ELEMENTS):
                if copying:
                    current[plan.number] = one.now()[plan.name] = plan.kind(value)
                continue
            if value is None:
                if plan._has_default and not one._is_persisted and not one.is_explicit(plan.name):
                    value = plan.column.get_default()
                elif plan._accepts_none:
                    continue
            checked = plan.column.validate(value)
            if current[plan.number] is not _missing and checked is not current[plan.number]:
                current[plan.number] = one.now()[plan.name] = checked
        return 0

    # ---- statements

    cdef Write begin_write(self, int verb, dict options, conditions):
        cdef Write made = <Write>Write.__new__(Write)
        made.plan = self
        made.verb = verb
        made.parts = []
        made.options = options
        made.conditions = conditions
        return made

    cdef Write end_write(self, Write write, Instance one, _Known known, list current, tuple keys):
        cdef list values = []
        for column in keys:
            values.append((<ColumnPlan>column).stored(self.value(one, <ColumnPlan>column, current)))
        write.keys = keys
        write.key_values = values
        write.take_shape(known)
        return write

    def saves(self, Instance one not None, dict options, bint exists):
        """Return the statements that insert the row, or update it if it exists."""
        return self.saving(one, self.known(), self.current(one), options, exists)

    cdef list saving(self, Instance one, _Known known, list current, dict options, bint exists):
        cdef list writes
        cdef ColumnPlan plan
        cdef Write write
        cdef int moved
        cdef bint is_partition, nulls
        if exists or known.has_counter:
            return self.updating(one, known, current, options, exists)
        moved = self.moved(one, known, current)
        is_partition = self.is_partition(one, known, current)
        nulls = moved != MOVED_NONE
        write = self.begin_write(INSERT, options, None)
        for column in self.columns:
            plan = <ColumnPlan>column
            value = self.value(one, plan, current)
            if plan.is_null(value):
                nulls = nulls or one.is_explicit(plan.name)
                continue
            value = plan.stored(value)
            if not is_partition or plan.is_static or plan in known.partition:
                write.add(plan, value)
        writes = []
        # an INSERT of a partition key alone is not valid
        if write.parts and not (is_partition and nulls and len(write.parts) == len(known.partition)):
            writes.append(self.end_write(write, one, known, current, ()))
        if nulls:
            self.add_deletion(writes, one, known, current, options, None, moved, is_partition)
        return writes

    def updates(self, Instance one not None, dict options, bint exists):
        """Return the statements that write only the changes."""
        return self.updating(one, self.known(), self.current(one), options, exists)

    cdef list updating(self, Instance one, _Known known, list current, dict options, bint exists):
        cdef int moved = MOVED_NONE if exists else self.moved(one, known, current)
        cdef bint is_partition = self.is_partition(one, known, current)
        cdef bint static_only = True, is_whole
        cdef list writes = []
        cdef ColumnPlan plan
        conditions = None if options is None else get_value(options, "_conditional", None)
        cdef Write write = self.begin_write(UPDATE, options, conditions)
        for column in self.columns:
            plan = <ColumnPlan>column
            value = current[plan.number]
            if plan.is_key or (value is _missing and not plan.is_counter and moved == MOVED_NONE):
                continue
            if is_partition and not plan.is_static:
                continue
            is_whole = plan.has_moved(moved)
            if not is_whole and not plan.is_counter and not self.has_changed(one, plan, value):
                continue
            value = self.value(one, plan, current)
            if value is None or (not plan.is_counter and plan.is_null(value)):
                continue  # a null is deleted
            if plan.is_counter:
                value = plan._change(plan.column, value, None if is_whole else self.previous_value(one, plan))
            elif is_whole or plan._change is None or (one.is_explicit(plan.name) and not self.is_loaded(one, plan)):
                value = plan.stored(value)
            else:
                value = plan._change(plan.column, value, self.previous_value(one, plan))
                if value is None:  # a map that only lost keys
                    continue
            write.add(plan, value)
            static_only = static_only and plan.is_static
        if write.parts:
            keys = known.partition if static_only or is_partition else known.keys
            writes.append(self.end_write(write, one, known, current, keys))
        if conditions:
            updated = [(<ColumnPlan>column).column.db_field_name for column in write.columns]
            conditions = [condition for condition in conditions if condition.field not in updated]
        self.add_deletion(writes, one, known, current, options, conditions, moved, is_partition)
        return writes

    def deletes_nulls(self, Instance one not None, dict options, conditions):
        """Return the statement that deletes values that became null, in a list."""
        cdef list writes = []
        self.add_deletion(writes, one, self.known(), self.current(one), options, conditions, MOVED_NONE, False)
        return writes

    cdef int add_deletion(
        self, list writes, Instance one, _Known known, list current, dict options, conditions, int moved,
        bint is_partition,
    ) except -1:
        """Add the statement that deletes values that became null or have moved as nulls, and keys that were removed
        from maps."""
        cdef Write write = None
        cdef bint static_only = True
        cdef ColumnPlan plan
        for column in self.columns:
            plan = <ColumnPlan>column
            value = current[plan.number]
            if plan.is_key or plan.is_counter or (value is _missing and moved == MOVED_NONE):
                continue
            if is_partition and not plan.is_static:
                continue
            part = _deleted
            if plan.has_moved(moved):
                if not plan.is_null(self.value(one, plan, current)):
                    continue
            elif not self.is_deleted(one, plan, value):
                if value is _missing or not plan.is_map:
                    continue
                part = self._removed_keys(plan.column, value, self.previous_value(one, plan))
                if part is None:
                    continue
            if write is None:
                write = self.begin_write(DELETE, options, conditions)
            write.add(plan, part)
            static_only = static_only and plan.is_static
        if write is not None:
            writes.append(self.end_write(write, one, known, current, known.partition if static_only else known.keys))
        return 0

    def deletes(self, Instance one not None, dict options):
        """Return the statement that deletes the row, or the rows with these parts of the key."""
        cdef _Known known = self.known()
        cdef list current = self.current(one)
        cdef tuple keys = known.keys
        for column in known.keys:
            if column not in known.partition and self.value(one, <ColumnPlan>column, current) is None:
                keys = tuple([key for key in keys if key is not column])
        conditions = None if options is None else get_value(options, "_conditional", None)
        return self.end_write(self.begin_write(DELETE, options, conditions), one, known, current, keys)

    def _statement(self, write):
        """Override. Return the statement of a Write, with its text."""
        raise NotImplementedError

    def _shape_and_values(self, statement):
        """Override. Return shape and values of a statement."""
        raise NotImplementedError

    def _microseconds(self, timestamp):
        """Override. Return a timestamp in microseconds."""
        raise NotImplementedError

    def _removed_keys(self, column, value, before):
        """Override. Return the Change that removes keys from a map; None if none were removed."""
        raise NotImplementedError

    # ---- the instance afterwards

    def settle(self, Instance one not None, loaded=None):
        """Take the current values as the stored ones: the instance was written.

        *loaded*: names of the columns that were read, for the instance of a new row. Columns that were not loaded, and
        neither set nor changed since, stay unknown."""
        self.settle_with(one, self.current(one), loaded, False)

    cdef int settle_with(self, Instance one, list current, loaded, bint detached) except -1:
        """*detached*: containers that the application has a reference to are no longer those of the instance."""
        cdef dict kept = None
        cdef set unknown = None
        cdef list row = []
        cdef ColumnPlan plan
        cdef Py_ssize_t place
        cdef EpochReader reader
        reader.announce()
        cdef InstanceLayout layout = one.layout()
        if loaded is None and not one.current_or_none() and not one.explicit_or_none():
            one._is_persisted = True
            return 0
        for column in self.columns:
            plan = <ColumnPlan>column
            value = current[plan.number]
            place = -1 if layout is None else self.place_of(plan, layout)
            if loaded is not None:
                is_known = plan.name in loaded
            else:
                is_known = place >= 0 or not one._is_persisted
                is_known = is_known or one.is_explicit(plan.name) or self.has_changed(one, plan, value)
            if not is_known:
                unknown = set() if unknown is None else unknown
                unknown.add(plan.name)
                if value is not _missing:
                    kept = {} if kept is None else kept
                    kept[plan.name] = plan.kind(value) if detached and plan.is_plain_container(value) else value
                continue
            if value is _missing:
                convert = None if place < 0 else layout.converters[place]
                if place >= 0 and (convert is None or type(convert) is Kind):
                    value = one.loaded_value(place)
                else:
                    value = self.previous_value(one, plan)
            elif plan.changes_in_place:
                if value is None and plan._converts_none:
                    value = plan.column.to_python(None)  # a container that was written as null is empty
                else:
                    if not detached or not plan.is_plain_container(value):
                        kept = {} if kept is None else kept
                        kept[plan.name] = value
                    value = plan.copied(value)
            row.append(value)
        one.keep(self.layout if unknown is None else self._layout_without(unknown), tuple(row), kept)
        one._is_persisted = True
        return 0

    def _layout_without(self, unknown):
        """Override. Return the layout of instances of which the columns *unknown* were neither loaded nor written."""
        raise NotImplementedError

    # ---- execution

    cdef dict options_of(self, Instance one):
        """Return a copy of the attributes that were set on *one*; None if one may be a method, or a property of the
        model."""
        cdef dict own = dict(one.__dict__)
        for name in own:
            if name not in self._options and (name in self._methods or name.startswith("_")):
                return None
        return own

    cdef bint is_sent_as_it_is(self, dict options) except -1:
        """True if the options are a part of the statement."""
        if options is None:
            return True
        for name in ("_timeout", "__consistency__", "_if_exists", "_if_not_exists", "_conditional"):
            if get_value(options, name, _missing) is not _missing and options[name] is not self._options[name]:
                return False
        return True

    cdef PreparedWrites prepared(self, Instance one, dict values):
        """Return the statements of ``save()``, or, with *values*, of ``update()`` after these values were set. None if
        a method has to be called that the model, or a program, overrides, or to report an error."""
        cdef _Known known = self.known()
        if known.overrides & (WRITES | COLUMNS) or not self._unmodified.holds_now():
            return None
        return self.prepared_by(known, one, values)

    cdef PreparedWrites prepared_by(self, _Known known, Instance one, dict values):
        cdef dict options = None
        cdef PreparedWrites made
        if one.has_own_attributes():
            options = self.options_of(one)
            if options is None:
                return None
        if values is not None:
            for name in values:
                column = get_value(self._by_name, name, None)
                if column is None or (<ColumnPlan>column).is_key:
                    return None
            if options is not None:
                options.pop("_if_not_exists", None)  # an update does not insert
            self.assign(one, values)
        made = PreparedWrites.__new__(PreparedWrites)
        made.current = self.current(one)
        self.check(one, made.current, False)
        made.instance = one
        made.options = options
        made.connection = known.connection if options is None else options.get("_connection") or known.connection
        exists = one._is_persisted and self.has_key(one, made.current, known.keys)
        if values is None:
            made.writes = self.saving(one, known, made.current, options, exists)
        else:
            made.writes = self.updating(one, known, made.current, options, exists)
        return made

    def prepare(self, Instance one not None, dict values=None):
        """As :meth:`prepared`, for a task: the values are copied."""
        cdef PreparedWrites made = self.prepared(one, values)
        if made is not None:
            made.now = {}
            for name, value in one.now().items():
                column = get_value(self._by_name, name, None)
                if column is not None and (<ColumnPlan>column).changes_in_place:
                    value = (<ColumnPlan>column).copied(value)
                made.now[name] = value
        return made

    cdef bint write_now(self, Instance one, dict values) except -1:
        """Save the instance, or update it with *values*, and wait. Return False if its methods have to be called."""
        cdef _Known known = self.known()
        cdef PreparedWrites prepared
        cdef int outcome = NOT_SENT
        cdef bint is_sent
        if known.overrides & (WRITES | COLUMNS) or not self._unmodified.holds_now():
            return False
        if one._is_persisted and not known.has_counter and not one.has_own_attributes():
            outcome = self.write_row(one, known, values)
            if outcome == EXECUTED:
                return True
        prepared = self.prepared_by(known, one, values)
        if prepared is None:
            return False
        if not self.join(prepared):
            is_sent = outcome != REFUSED and self.is_sent_as_it_is(prepared.options)
            for write in prepared.writes:
                if not is_sent or not self.is_executed(<Write>write, prepared.connection):
                    self._execute(write, prepared)
        self.finish(prepared)
        return True

    cdef int write_row(self, Instance one, _Known known, dict values) except -1:
        """Write the changes, *values* included, of a row that was loaded or written, and wait. NOT_SENT if a Write is
        needed: a value is not bound as it is, or the statement has not been composed yet."""
        cdef uint64_t changed = 0
        cdef Py_ssize_t number, at = 0
        cdef int outcome
        cdef tuple bound
        cdef tuple row = self.changed_row(one, values, &changed)
        shape = None if row is None else get_value(known.shapes, UPDATE | WITH_KEY | changed << FLAGS, None)
        if shape is None:
            return NOT_SENT
        bound = PyTuple_New(count_bits(changed) + len(known.keys))
        for number in range(min(len(row), FIRST_COLUMNS)):
            if changed >> number & 1:
                set_item(bound, at, GET_TUPLE(<PyObject*>row, number))
                at += 1
        for column in known.keys:
            set_item(bound, at, GET_TUPLE(<PyObject*>row, (<ColumnPlan>column).number))
            at += 1
        try:
            outcome = self.executed(known.connection, shape, bound)
        except BaseException:
            self.assign(one, values)
            raise
        if outcome == EXECUTED:
            one.keep(self.layout, row)
        return outcome

    cdef tuple changed_row(self, Instance one, dict values, uint64_t* changed):
        """Return the loaded row with the values that were set since, and with *values*; *changed*: the bits of the
        columns that differ. None if one of the values is not valid and bound as it is."""
        cdef PyObject* value
        cdef ColumnPlan plan
        cdef tuple row, made
        cdef dict now
        cdef InstanceLayout layout
        cdef EpochReader reader
        reader.announce()
        layout = one.layout()
        if layout is None or not layout.is_stored or layout.places.size() != <size_t>len(self.columns):
            return None
        if layout is self.layout:
            row = <tuple>borrow_reference(row_of(one))
        else:
            row = tuple([one.loaded_value(place) for place in layout.places])
        if len(row) != len(self.columns):
            return None  # another thread has put a shorter row there
        made = PyTuple_New(len(row))
        now = one.current_or_none()
        if now is not None and not self.replace(row, made, now, changed):
            return None
        if values is not None and (changed[0] != 0 or not self.replace(row, made, values, changed)):
            return None
        for column in self.columns:
            plan = <ColumnPlan>column
            value = GET_TUPLE(<PyObject*>made, plan.number)
            if value == NULL:
                value = GET_TUPLE(<PyObject*>row, plan.number)
                set_item(made, plan.number, value)
            if TYPE(value) != <PyTypeObject*>plan._checked:
                if plan.is_key or not plan._accepts_none or not (<object>value is None or plan._is_container):
                    return None
        return made

    cdef bint replace(self, tuple row, tuple made, dict values, uint64_t* changed) except -1:
        """Put those of *values* that differ from *row* into *made*, a new row. Return False if one is not a usual value:
        a changed container, a null, a part of the key, static, or of another class than its column's."""
        cdef ColumnPlan plan
        for name, value in values.items():
            found = get_value(self._by_name, name, None)
            if found is None:
                return False
            plan = <ColumnPlan>found
            if plan.mask == 0 or plan.is_key or plan.is_static or GET_TUPLE(<PyObject*>made, plan.number) != NULL:
                return False
            if TYPE(<PyObject*>value) == <PyTypeObject*>plan._checked:
                if value != row[plan.number]:  # NaN is never equal
                    changed[0] |= plan.mask
            elif not value or not plan.is_plain_container(value):
                return False
            elif len(value) > MAX_ELEMENTS or value != row[plan.number]:
                return False
            if changed[0] & plan.mask:
                set_item(made, plan.number, <PyObject*>value)
        return True

    cdef int assign(self, Instance one, dict values) except -1:
        """Set these values."""
        cdef dict now
        cdef set explicit
        if values is not None:
            now, explicit = one.now(), one.explicit()
            for name, value in values.items():
                now[name] = value
                explicit.add(name)
        return 0

    cdef bint is_executed(self, Write write, connection) except -1:
        return self.executed(connection, write.shape, write.values) == EXECUTED

    cdef int executed(self, connection, shape, values) except -1:
        """Send a statement, and wait. NOT_SENT or REFUSED: it was not executed, because a Request is needed."""
        future = self._ready.submit(connection, shape, values, None)
        if future is None:
            return NOT_SENT
        try:
            outcome_of(future)
        except Exception as error:
            if not self._must_be_repeated(error, future):
                raise
            return REFUSED
        return EXECUTED

    cdef bint join(self, PreparedWrites prepared) except -1:
        """Add the statements to the batch of the instance. Return False if there is none."""
        batch = None if prepared.options is None else get_value(prepared.options, "_batch", None)
        if batch is None:
            return False
        for write in prepared.writes:
            batch._join(self._deferred(write), prepared.connection)
        return True

    cdef int finish(self, PreparedWrites prepared) except -1:
        self.settle_with(prepared.instance, prepared.current, None, True)
        if prepared.options is not None and get_value(prepared.options, "_timestamp", None) is not None:
            prepared.instance._timestamp = None
        return 0

    def create(self, dict values not None, dict options=None):
        """Insert a row with these values, or add that to the batch among the *options* of a query set, and return its
        instance. None if a method has to be called that the model overrides, to report an unknown name, or for other
        options. A row of usual values needs no values of an instance before it is written."""
        cdef _Known known = self.known()
        cdef Py_ssize_t count = len(self.columns)
        cdef Py_ssize_t step = 0, at = 0
        cdef PyObject* name
        cdef PyObject* given_value
        cdef dict made = None
        cdef list row, bound
        cdef uint64_t given = 0
        cdef bint is_usual = not known.has_counter and count <= FIRST_COLUMNS
        cdef bint is_missing
        cdef ColumnPlan plan
        cdef Instance one
        if known.overrides & ~READS or not self._unmodified.holds_now():
            return None
        if options is not None and not self.has_only_batch(options):
            return None
        batch = None if options is None else options["_batch"]
        row = [_missing] * count
        while PyDict_Next(values, &step, &name, &given_value):
            if at >= count or name != <PyObject*>(<ColumnPlan>self.columns[at]).name:
                found = get_value(self._by_name, <object>name, None)
                if found is None:
                    return None
                at = (<ColumnPlan>found).number
            row[at] = <object>given_value
            at += 1
        for column in self.columns:
            plan = <ColumnPlan>column
            value = row[plan.number]
            is_missing = value is _missing
            if is_missing:
                value = None
                if plan.initial is not None:
                    made = {} if made is None else made
                    value = made[plan.name] = plan.initial()
                row[plan.number] = value
            if TYPE(<PyObject*>value) == <PyTypeObject*>plan._checked:
                given |= plan.mask
            elif value is not None and plan.is_plain_container(value) and (value or is_missing):
                value = row[plan.number] = plan.kind.copy(value)
                if value:
                    given |= plan.mask
            elif not (is_missing and plan.initial is None and plan._accepts_none) or plan.is_key:
                is_usual = False
        if is_usual:
            bound = row if given == ALL_COLUMNS >> (64 - count) else bound_values(row, given)
            if batch is not None:
                batch._join(self._deferred(self.insert_of(known, given, bound)), known.connection)
                one = make_loaded(self.model, self.layout, tuple(row), ())
                one._batch = batch  # its next writes are part of the batch, too
                return one
            if self.is_inserted(known, given, bound):
                return make_loaded(self.model, self.layout, tuple(row), ())
        if made is not None:
            values.update(made)
        one = self.new_with(values)
        if made is not None:
            one.explicit().difference_update(made)
        if batch is not None:
            one._batch = batch
        return one.save()

    cdef bint has_only_batch(self, dict options) except -1:
        """True if no other option of a query set than its batch affects new rows."""
        if get_value(options, "_batch", None) is None or get_value(options, "_consistency", None) is not None:
            return False
        for name in options:
            if name in self._inherited and name != "_batch":
                return False
        return True

    cdef Write insert_of(self, _Known known, uint64_t given, list bound):
        """Return the INSERT of the values *bound* of the columns with the bits *given*."""
        cdef Write write = self.begin_write(INSERT, None, None)
        write.parts = bound
        write._first = given
        return self.end_write(write, None, known, None, ())

    cdef bint is_inserted(self, _Known known, uint64_t given, list bound) except -1:
        """Insert a row, see :meth:`insert_of`, and wait. Return False if it was not executed, because a Request is
        needed."""
        shape = get_value(known.shapes, INSERT | given << FLAGS, None)
        if shape is None:
            return self.is_executed(self.insert_of(known, given, bound), known.connection)
        return self.executed(known.connection, shape, tuple(bound)) == EXECUTED

    def _must_be_repeated(self, error, future):
        """Override. Return True if a request that ended with *error* was not executed and has to be repeated."""
        return False

    def _execute(self, write, prepared):
        """Override. Execute a Write, and wait."""
        raise NotImplementedError


cdef inline Py_ssize_t count_bits(uint64_t bits) noexcept:
    cdef Py_ssize_t found = 0
    while bits != 0:
        bits &= bits - 1  # without the lowest one
        found += 1
    return found


cdef list bound_values(list row, uint64_t columns):
    """Return the values of the columns with these bits."""
    cdef Py_ssize_t number
    return [row[number] for number in range(len(row)) if columns >> number & 1]


cdef ModelPlan plan_of(model):
    """Return the plan of a class; None if it has none."""
    plan = model._plan
    return <ModelPlan?>plan if plan is not None else None
