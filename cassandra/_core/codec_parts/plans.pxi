# ResultPlan: decoder of the rows of one result shape. RowPlan: the same with one row format.

cdef enum:
    KEPT_FACTORIES = 15  # the latest, besides a new one: a program may make one per request


@cython.final
cdef class ResultPlan:
    """Names and codecs of a result's columns. Immutable except for cached values: row plans, and *types* and *extra*,
    which belong to the layers above."""

    cdef readonly tuple specs
    cdef readonly tuple names
    cdef readonly tuple codecs
    cdef public object types
    cdef public object extra
    cdef tuple _factories  # of (row factory, RowPlan); replaced, never changed
    cdef const TypeNode** _nodes
    cdef Py_ssize_t _count
    cdef int _atomic
    cdef RowPlan _tuples
    cdef uint64_t _used  # tick of its last use in a TypeContext
    cdef bytes _key  # its key in that context's cache
    cdef uint64_t _generation  # of that context when the plan was made

    def __cinit__(self, specs):
        cdef Py_ssize_t i
        cdef Codec codec
        self.specs = tuple([tuple(spec) for spec in specs])
        self._factories = ()
        self._count = len(self.specs)
        self.names = tuple([intern_name(spec[2]) for spec in self.specs])
        self.codecs = checked_children([spec[3] for spec in self.specs])
        self._nodes = <const TypeNode**>malloc((self._count + 1) * sizeof(TypeNode*))
        if self._nodes == NULL:
            raise MemoryError()
        self._atomic = 1
        for i in range(self._count):
            codec = self.codecs[i]
            self._nodes[i] = &codec.node
            self._atomic &= codec.node.atomic

    def __dealloc__(self):
        free(self._nodes)

    def __len__(self):
        return self._count

    def row_plan(self, factory):
        """Return the row plan cached for exactly this *factory*, None if there is none."""
        return factory_plan(self, factory)

    def note_row_plan(self, factory, RowPlan row_plan not None):
        """Use *row_plan* for rows of *factory* from now on. A plan cached earlier stays; return the valid one."""
        cdef RowPlan known = factory_plan(self, factory)
        if known is not None:
            return known
        if row_plan.plan is not self:
            raise ValueError("the row plan belongs to another result plan")
        self._factories = (*self._factories[-KEPT_FACTORIES:], (factory, row_plan))
        return row_plan

    @property
    def keyspace(self):
        return self.specs[0][0] if self.specs else None

    @property
    def table(self):
        return self.specs[0][1] if self.specs else None

    def __repr__(self):
        columns = ", ".join([f"{spec[2]} {(<Codec>spec[3]).cql()}" for spec in self.specs])
        return f"<ResultPlan {columns}>"


cdef RowPlan factory_plan(ResultPlan plan, factory):
    """Look up by identity: there are few factories, and most results have only one."""
    cdef tuple known = plan._factories
    cdef tuple entry
    for entry in known:
        if entry[0] is factory:
            return <RowPlan>entry[1]
    return None


cdef str intern_name(name):
    from sys import intern

    return intern(name)


cdef enum RowKind:
    ROW_TUPLE
    ROW_NAMED
    ROW_DICT
    ROW_ORDERED
    ROW_INSTANCE


_ROW_KINDS = {
    "tuple": ROW_TUPLE, "named": ROW_NAMED, "dict": ROW_DICT, "ordered": ROW_ORDERED, "instance": ROW_INSTANCE
}


@cython.final
cdef class RowPlan:
    """A ResultPlan with one row format."""

    cdef readonly ResultPlan plan
    cdef readonly str kind
    cdef readonly object row_class
    cdef RowKind _kind
    cdef bint _turns_back
    cdef InstanceMaker _maker

    def __cinit__(self, ResultPlan plan not None, str kind not None, row_class=None, InstanceMaker maker=None):
        self.plan = plan
        self.kind = kind
        self.row_class = row_class
        self._maker = maker
        if kind not in _ROW_KINDS:
            raise ValueError(f"kind must be one of {', '.join(_ROW_KINDS)}, got {kind!r}")
        self._kind = _ROW_KINDS[kind]
        if (maker is not None) != (self._kind == ROW_INSTANCE):
            raise ValueError("maker must be given for kind 'instance', and only for it")
        if maker is not None and maker._columns != plan._count:
            raise ValueError(f"{maker!r} is for {maker._columns} columns, the result has {plan._count}")
        if (row_class is not None) != (self._kind == ROW_NAMED):
            raise ValueError("row_class must be given for kind 'named', and only for it")
        if self._kind == ROW_NAMED and not is_plain_tuple_class(row_class):
            raise TypeError(f"{row_class!r} is not a namedtuple class without instance attributes")
        fields = getattr(row_class, "_fields", None)
        if fields is not None and len(fields) != plan._count:
            raise ValueError(f"{row_class!r} has {len(fields)} fields, the result has {plan._count} columns")
        self._turns_back = turns_back(self)


cdef RowPlan tuple_plan(ResultPlan plan):
    """Return the plan's cached row plan for tuples."""
    if plan._tuples is None:
        plan._tuples = RowPlan(plan, "tuple")
    return plan._tuples
