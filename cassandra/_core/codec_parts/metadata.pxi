# Types and column specifications of result metadata, and the TypeContext that resolves and caches them.

cdef enum:
    GLOBAL_SPEC = 0x1
    HAS_MORE_PAGES = 0x2
    NO_METADATA = 0x4
    METADATA_CHANGED = 0x8
    # Limits of the cache of plans, so that no server fills the memory with it: bytes of specifications and, for the
    # objects made of them, some bytes per column. A plan that takes a sixteenth of the limit is not cached.
    MAX_KEPT_SPECS = 4 << 20
    WEIGHT_OF_COLUMN = 32
    MAX_KEPT_CUSTOM = 4096  # characters of the name of a cached custom type, for the same reason
    LONGEST_SHOWN = 256  # characters of a name in an error
    # Limits of metadata, checked before objects are made of it: a column takes four bytes on the wire and a hundred
    # here, a list<list<...>> two for three hundred. No table and no user type comes near.
    MAX_COLUMNS = 65535
    MAX_SPECS = 32 << 20  # bytes
    MAX_WEIGHT = 1 << 20  # of all types, nested ones too; 1 for a scalar, which is shared
    WEIGHT_OF_NESTED = 4  # a separate object
    WEIGHT_OF_UDT = 32  # a separate class


cdef uint64_t _generations = 0


cdef uint64_t next_generation() noexcept:
    """Return the generation of plans that are made with the same types; unique among all contexts."""
    global _generations
    _generations += 1
    return _generations


@cython.final
cdef class TypeContext:
    """Resolves types that wire metadata does not define alone, and caches the plans of results."""

    cdef object _resolve_custom
    cdef object _resolve_udt
    cdef public object resolve_column
    cdef dict _plans  # column count, flag and bytes of the specifications -> ResultPlan
    cdef dict _customs  # class name -> Codec
    cdef Py_ssize_t _size
    cdef Py_ssize_t _kept  # bytes of the plans, as weighed
    cdef uint64_t _tick
    cdef uint64_t _generation

    def __cinit__(self, resolve_custom=None, resolve_udt=None, Py_ssize_t plan_cache_size=256):
        if plan_cache_size < 0:
            raise ValueError("plan_cache_size cannot be negative")
        self._resolve_custom = resolve_custom
        self._resolve_udt = resolve_udt
        self._plans = {}
        self._customs = {}
        self._size = plan_cache_size
        self._generation = next_generation()

    def clear(self):
        """Drop plans and custom types: a user type was registered or altered."""
        # New dicts: a thread that still resolves a type by its old definition writes into the unreferenced ones.
        self._plans = {}
        self._customs = {}
        self._kept = 0
        self._generation = next_generation()

    def user_type(self, str keyspace not None, str name not None):
        """Return the class registered for a user type, or None."""
        return None if self._resolve_udt is None else self._resolve_udt(keyspace, name)

    def __len__(self):
        """Return the number of plans in the cache."""
        return len(self._plans)


cdef Codec custom_type(TypeContext context, str name):
    cdef dict customs = context._customs
    codec = customs.get(name)
    if codec is None:
        try:
            codec = custom_codec(name) if context._resolve_custom is None else context._resolve_custom(name)
        except Exception as error:
            raise protocol_error(f"cannot resolve the type {name[:LONGEST_SHOWN]!r}: {error}") from error
        if not isinstance(codec, Codec):
            raise TypeError(f"resolve_custom returned {type(codec).__name__} instead of a Codec for {name!r}")
        if len(customs) >= 1024:
            customs.clear()
        if len(name) <= MAX_KEPT_CUSTOM:
            customs[name] = codec
    return codec


cdef Codec take_type(Cursor* c, TypeContext context, int depth):
    """Read one [option]."""
    cdef int kind = take_short(c)
    if depth >= MAX_DEPTH:
        raise protocol_error(f"a CQL type is nested more than {MAX_DEPTH} levels deep")
    if kind == LIST:
        return noted(list_codec(take_type(c, context, depth + 1)))
    if kind == SET:
        return noted(set_codec(take_type(c, context, depth + 1)))
    if kind == MAP:
        key = take_type(c, context, depth + 1)
        return noted(map_codec(key, take_type(c, context, depth + 1)))
    if kind == TUPLE:
        return noted(tuple_codec(take_types(c, context, depth + 1)))
    if kind == UDT:
        return take_udt(c, context, depth + 1)
    if kind == CUSTOM:
        return custom_type(context, take_string(c))
    codec = _scalars.get(kind)
    if codec is None:
        raise protocol_error(f"unknown CQL type 0x{kind:04x}")
    return codec


cdef list take_types(Cursor* c, TypeContext context, int depth):
    cdef int i, n = take_short(c)
    return [take_type(c, context, depth) for i in range(n)]


cdef Codec take_udt(Cursor* c, TypeContext context, int depth):
    cdef int i, n
    cdef list names = [], types = []
    keyspace = take_string(c)
    name = take_string(c)
    n = take_short(c)
    for i in range(n):
        names.append(take_string(c))
        types.append(take_type(c, context, depth))
    return noted(udt_codec(keyspace, name, names, types, context.user_type(keyspace, name)))


cdef int skip(Cursor* c, Py_ssize_t n) except -1:
    need(c, n)
    c.p += n
    return 0


cdef int skip_type(Cursor* c, int depth, int* weight) except -1:
    cdef int kind = take_short(c)
    cdef int i, n
    if depth >= MAX_DEPTH:
        raise protocol_error(f"a CQL type is nested more than {MAX_DEPTH} levels deep")
    if kind == LIST or kind == SET:
        weigh(weight, WEIGHT_OF_NESTED)
        skip_type(c, depth + 1, weight)
    elif kind == MAP:
        weigh(weight, WEIGHT_OF_NESTED)
        skip_type(c, depth + 1, weight)
        skip_type(c, depth + 1, weight)
    elif kind == TUPLE:
        weigh(weight, WEIGHT_OF_NESTED)
        n = take_short(c)
        for i in range(n):
            skip_type(c, depth + 1, weight)
    elif kind == UDT:
        weigh(weight, WEIGHT_OF_UDT)
        skip(c, take_short(c))
        skip(c, take_short(c))
        n = take_short(c)
        for i in range(n):
            skip(c, take_short(c))
            skip_type(c, depth + 1, weight)
    elif kind == CUSTOM:
        n = take_short(c)
        weigh(weight, WEIGHT_OF_NESTED + n)  # types may be nested in the name
        skip(c, n)
    else:
        weigh(weight, 1)
    return 0


cdef int weigh(int* weight, int more) except -1:
    weight[0] += more
    if weight[0] > MAX_WEIGHT:
        raise protocol_error("metadata has more types than any table can have")
    return 0


cdef int check_columns(Cursor* c, int32_t columns) except -1:
    """Refuse a column count above the limit, or above the size of the rest of the message."""
    if columns < 0 or <int64_t>columns * 4 > c.end - c.p:
        raise protocol_error(f"metadata of {columns} columns in {c.end - c.p} bytes")
    if columns > MAX_COLUMNS:
        raise protocol_error(f"metadata of {columns} columns exceeds the limit of {MAX_COLUMNS}")
    return 0


cdef int skip_specs(Cursor* c, int flags, int32_t columns) except -1:
    """Move behind the specifications. ProtocolError if they are cut off, or exceed a limit."""
    cdef const uint8_t* start = c.p
    cdef int i, weight = 0
    check_columns(c, columns)
    if flags & GLOBAL_SPEC:
        skip(c, take_short(c))
        skip(c, take_short(c))
    for i in range(columns):
        if not flags & GLOBAL_SPEC:
            skip(c, take_short(c))
            skip(c, take_short(c))
        skip(c, take_short(c))
        skip_type(c, 0, &weight)
    if c.p - start > MAX_SPECS:
        raise protocol_error(f"metadata of {c.p - start} bytes for {columns} columns")
    return 0


cdef list take_specs(Cursor* c, int flags, int32_t columns, TypeContext context, bint is_bound):
    """Read column specifications checked by skip_specs(): (keyspace, table, name, codec) each. *is_bound*:
    parameters."""
    cdef int i
    resolve = context.resolve_column
    cdef list specs = []
    keyspace = table = None
    if flags & GLOBAL_SPEC:
        keyspace = take_string(c)
        table = take_string(c)
    for i in range(columns):
        if not flags & GLOBAL_SPEC:
            keyspace = take_string(c)
            table = take_string(c)
        name = take_string(c)
        try:
            codec = take_type(c, context, 0)
        except ValueError as error:  # the codec cannot be made
            raise protocol_error(f"type of column {name[:LONGEST_SHOWN]!r}: {error}") from error
        specs.append((keyspace, table, name, codec if resolve is None else resolve(keyspace, table, name, codec, is_bound)))
    return specs


cdef ResultPlan take_plan(Cursor* c, int flags, int32_t columns, TypeContext context):
    """Return the plan of the specifications at the cursor: a cached one if the same bytes were read before."""
    cdef Cursor start = c[0]
    cdef ResultPlan plan
    cdef dict plans = context._plans
    cdef uint64_t generation = context._generation
    skip_specs(c, flags, columns)
    cdef Py_ssize_t n = c.p - start.p
    if n + <Py_ssize_t>columns * WEIGHT_OF_COLUMN > MAX_KEPT_SPECS // 16:
        return ResultPlan(take_specs(&start, flags, columns, context, False))
    cdef bytes key = PyBytes_FromStringAndSize(NULL, n + 5)
    cdef char* text = PyBytes_AS_STRING(key)
    memcpy(text, &columns, 4)
    text[4] = <char>(flags & GLOBAL_SPEC)
    memcpy(text + 5, start.p, <size_t>n)
    known = plans.get(key)
    context._tick += 1
    if known is not None:
        plan = <ResultPlan>known
        plan._used = context._tick
        return plan
    plan = ResultPlan(take_specs(&start, flags, columns, context, False))
    plan._used = context._tick
    plan._key = key
    plan._generation = generation
    remember(context, plans, key, plan)
    return plan


cdef bint describes(ResultPlan plan, Cursor* c, int flags, int32_t columns, TypeContext context) except -1:
    """True if take_plan() would give *plan*, or an equal one; if so the cursor is behind the specifications. They are
    self-delimiting, so specifications that begin with the same bytes are the same."""
    cdef bytes key = plan._key
    if key is None or plan._generation != context._generation:
        return take_plan(c, flags, columns, context) is plan
    cdef const char* known = PyBytes_AS_STRING(key)
    cdef Py_ssize_t n = PyBytes_GET_SIZE(key) - 5
    if (
        memcmp(known, &columns, 4) != 0
        or known[4] != <char>(flags & GLOBAL_SPEC)
        or c.end - c.p < n
        or memcmp(known + 5, c.p, <size_t>n) != 0
    ):
        return False
    c.p += n
    context._tick += 1
    plan._used = context._tick
    return True


cdef Py_ssize_t weight_of(ResultPlan plan) noexcept:
    return PyBytes_GET_SIZE(plan._key) + plan._count * WEIGHT_OF_COLUMN


cdef int remember(TypeContext context, dict plans, bytes key, ResultPlan plan) except -1:
    """Cache a plan; evict the least recently used ones."""
    if context._size == 0:
        return 0
    while plans and (len(plans) >= context._size or context._kept + weight_of(plan) > MAX_KEPT_SPECS):
        forget_oldest(context, plans)
    if plans.setdefault(key, plan) is plan and plans is context._plans:
        context._kept += weight_of(plan)
    return 0


cdef int forget_oldest(TypeContext context, dict plans) except -1:
    cdef uint64_t oldest = 0
    victim = None
    for candidate, other in plans.copy().items():  # copy() is atomic, unlike making a list
        if victim is None or (<ResultPlan>other)._used < oldest:
            victim = candidate
            oldest = (<ResultPlan>other)._used
    gone = plans.pop(victim, None)
    if gone is not None and plans is context._plans:
        context._kept -= weight_of(<ResultPlan>gone)
    return 0
