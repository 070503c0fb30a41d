# ColumnPlan: the columns of a result as Arrow types, and the pool of their memory.

cdef class ColumnPlan:
    cdef Plan* native
    cdef BlockPool* blocks
    cdef readonly tuple names

    def __cinit__(
        self,
        columns,
        pool,
        *,
        strings="utf8",
        decimals="utf8",
        varints="utf8",
        uuids="arrow.uuid",
    ):
        cdef _Choices choices = _Choices(strings, decimals, varints, uuids)
        if pool is None:
            self.blocks = &plain_blocks()
        else:
            self.blocks = <BlockPool*>PyCapsule_GetPointer(pool._blocks, "fastcql::memory::BlockPool")
        self.blocks.hold()
        self.native = new Plan()
        self.native.separate = pool is None
        columns = list(columns)
        self.names = tuple([name for name, _ in columns])
        level = [(name, codec, -1, True) for name, codec in columns]
        while level:  # level by level, so that children are side by side
            below = []
            for name, codec, parent, nullable in level:
                below.extend(add_type(self.native, choices, name, codec, parent, nullable))
            level = below
        if not self.native.complete():
            raise AssertionError("the types of a plan are not in order")

    def __dealloc__(self):
        if self.native != NULL:
            self.native.release()
        if self.blocks != NULL:
            self.blocks.let_go()

    def __len__(self):
        return self.native.columns

    def __eq__(self, other):
        if not isinstance(other, ColumnPlan):
            return NotImplemented
        return self.native.same_as((<ColumnPlan>other).native[0])

    __hash__ = None

    def __repr__(self):
        fields = [
            f"{self.native.types[i].name.decode()}: {self.native.types[i].format.decode()}"
            for i in range(self.native.columns)
        ]
        return f"<ColumnPlan {', '.join(fields)}>"

    @property
    def fields(self):
        return tuple([field_of(&self.native.types[i]) for i in range(self.native.columns)])

    def __reduce__(self):
        return _load_plan, ([state_of(&self.native.types[i]) for i in range(self.native.types.size())],)

    def __arrow_c_schema__(self):
        return schema_capsule(self.native)


class _Entries:
    """The pairs of a map, a separate type in Arrow."""

    def __init__(self, codec):
        self.children = codec.children


cdef list add_type(Plan* plan, _Choices choices, name, codec, int parent, bint nullable):
    """Add a field, and return (name, codec, parent, nullable) of each of its children."""
    cdef int index = <int>plan.types.size()
    cdef Type* type = &plan.add(parent)
    type.name = name.encode()
    type.nullable = nullable
    if codec is None:
        type.kind = Kind.Place
        type.format = b"i"
        return []
    if isinstance(codec, _Entries):
        type.kind = Kind.Struct
        type.format = b"+s"
        type.cql = b"map"
        key, value = codec.children
        return [("key", key, index, False), ("value", value, index, True)]
    encrypted = codec.stored is not None
    if encrypted:
        codec = codec.cipher.inner
    cql = codec.cql()
    type.cql = cql.encode()
    type.element = codec.element_size
    type.metadata = field_metadata(codec, cql, choices, encrypted)
    if codec.kind == 0 and not codec.dimensions:
        type.kind = Kind.Binary
        type.format = b"z"
    elif codec.dimensions:
        type.kind = Kind.Vector
        type.dimensions = codec.dimensions
        type.format = f"+w:{codec.dimensions}".encode()
        return [("item", codec.children[0], index, True)]
    elif codec.name in ("list", "set"):
        type.kind = Kind.List
        type.format = b"+l"
        return [("item", codec.children[0], index, True)]
    elif codec.name == "map":
        type.kind = Kind.Map
        type.format = b"+m"
        return [("entries", _Entries(codec), index, False)]
    elif codec.name in ("tuple", "udt"):
        type.kind = Kind.Struct
        type.format = b"+s"
        names = codec.field_names or [f"f{i}" for i in range(len(codec.children))]
        return [(field, child, index, True) for field, child in zip(names, codec.children)]
    else:
        choices.set_scalar(type[0], codec.kind, parent >= 0)
    return []


cdef string field_metadata(codec, str cql, _Choices choices, bint encrypted) except *:
    cdef Metadata metadata
    metadata.add(b"cql.type", cql.encode())
    if encrypted:
        metadata.add(b"cql.encrypted", b"true")
    if codec.kind in (_UUID, _TIMEUUID) and choices.tagged_uuids:
        metadata.add(b"ARROW:extension:name", b"arrow.uuid")
        metadata.add(b"ARROW:extension:metadata", b"")
    return metadata.bytes()


cdef object schema_capsule(Plan* plan):
    made = empty_schema()
    if not export_schema(plan[0], native_schema(made)):
        raise MemoryError()
    return made


cdef object empty_schema():
    """Return a capsule of a released schema, to be filled."""
    return owned_by_capsule(calloc(1, sizeof(ArrowSchema)), "arrow_schema", free_schema)


cdef ArrowSchema* native_schema(capsule) except NULL:
    return <ArrowSchema*>PyCapsule_GetPointer(capsule, "arrow_schema")


cdef void free_schema(capsule) noexcept:
    """Free the schema of a capsule, and release it unless it was taken over."""
    cdef ArrowSchema* schema = <ArrowSchema*>PyCapsule_GetPointer(capsule, "arrow_schema")
    if schema.release != NULL:
        schema.release(schema)
    free(schema)
