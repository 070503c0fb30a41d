# ResultPlan: how to decode the rows of one result shape. RowPlan: the same for one way of making rows.

cdef enum:
    KEPT_FACTORIES = 15  # the latest, beside a new one: a program may make one per request


@cython.final
cdef class ResultPlan:
    """Names and codecs of a result's columns. Immutable but for what is found out about it once: row plans, and
    *types* and *extra*, which belong to the layers above."""

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
    cdef bytes _key  # what it was made of, there
    cdef uint64_t _generation  # of that context then

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
        """The row plan noted for this very *factory*, None if there is none."""
        return factory_plan(self, factory)

    def note_row_plan(self, factory, RowPlan row_plan not None):
        """Have rows for *factory* made by *row_plan* from now on. What was noted first stays; returns that."""
        cdef RowPlan known = factory_plan(self, factory)
        if known is not None:
            return known
        if row_plan.plan is not self:
            raise ValueError("this row plan is for another result")
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
    """By identity: there are few factories, and most results only ever see one."""
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
    """A ResultPlan for one way of making rows."""

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
            raise ValueError(f"rows are made as {', '.join(_ROW_KINDS)}, not {kind!r}")
        self._kind = _ROW_KINDS[kind]
        if (maker is not None) != (self._kind == ROW_INSTANCE):
            raise ValueError("a maker is needed for instances, and only for those")
        if maker is not None and maker._columns != plan._count:
            raise ValueError(f"{maker!r} is for {maker._columns} columns, the result has {plan._count}")
        if (row_class is not None) != (self._kind == ROW_NAMED):
            raise ValueError("a row class is needed for named rows, and only for those")
        if self._kind == ROW_NAMED and not is_plain_tuple_class(row_class):
            raise TypeError(f"{row_class!r} is not a namedtuple class without instance attributes")
        fields = getattr(row_class, "_fields", None)
        if fields is not None and len(fields) != plan._count:
            raise ValueError(f"{row_class!r} has {len(fields)} fields, the result has {plan._count} columns")
        self._turns_back = turns_back(self)


cdef RowPlan tuple_plan(ResultPlan plan):
    """The plan's own plan for tuples, made once."""
    if plan._tuples is None:
        plan._tuples = RowPlan(plan, "tuple")
    return plan._tuples
