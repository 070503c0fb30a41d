# CQL types: compiled codecs, the Python classes of their values, and the types of result metadata.

# ---- Python classes of decoded values
#
# They are looked up once, at first use: importing the codec imports no module of theirs. Without the GIL they are loaded
# with this module, as the names have no lock. Slots of those classes are written by offset; a class that cannot be built
# that way is called.

from weakref import WeakValueDictionary


cdef class _SlottedClass:
    """A class of L0 or the standard library and the offsets of the slots that its values consist of."""

    cdef object cls
    cdef PyTypeObject* type
    cdef bint direct  # instances can be made by filling slots
    cdef bint tracked  # the collector has to track its instances
    cdef Py_ssize_t[4] offsets

    def __cinit__(self, cls, tuple slots, bint tracked=False):
        self.cls = cls
        self.type = <PyTypeObject*>cls
        self.tracked = tracked
        self.direct = is_slotted_class(cls)
        for i, slot in enumerate(slots):
            self.offsets[i] = slot_offset(cls, slot.encode())
            if self.offsets[i] < 0:
                self.direct = False


cdef _SlottedClass _uuid = None
cdef object _safe_uuid_unknown = None
cdef _SlottedClass _date = None
cdef _SlottedClass _time = None
cdef _SlottedClass _duration = None
cdef _SlottedClass _map = None
cdef object _set_from_list = None
cdef object _decimal = None
cdef object _exact = None  # a decimal context in which nothing is rounded


cdef int load_uuid() except -1:
    global _uuid, _safe_uuid_unknown
    import uuid

    _safe_uuid_unknown = uuid.SafeUUID.unknown
    _uuid = _SlottedClass(uuid.UUID, ("int", "is_safe"))
    return 0


cdef int load_temporal() except -1:
    global _date, _time, _duration
    from cassandra._base import temporal

    _time = _SlottedClass(temporal.Time, ("nanosecond_time",))
    _duration = _SlottedClass(temporal.Duration, ("months", "days", "nanoseconds"))
    _date = _SlottedClass(temporal.Date, ("days_from_epoch",))
    return 0


cdef int load_collections() except -1:
    global _map, _set_from_list
    from cassandra._base import collections

    _set_from_list = collections.SortedSet._from_list
    slots = ("_items", "_index", "cass_key_type", "protocol_version")
    _map = _SlottedClass(collections.OrderedMapSerializedKey, slots, True)
    return 0


cdef int load_decimal() except -1:
    global _decimal, _exact
    import decimal

    _exact = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
    _decimal = decimal.Decimal
    return 0


cdef object make_namedtuple(str name, tuple fields):
    """Return the class for types without a given class: cached, with names invalid in Python replaced; or tuple."""
    from cassandra._base.tuples import udt_class

    return udt_class(name, fields)


cdef object fitted(factory, str type_name, tuple names):
    """Return *factory*, or a wrapper that calls it with the fields that it takes."""
    from cassandra._base.tuples import fitted

    return fitted(factory, type_name, names)


cdef object decode_error(str message):
    from cassandra._base.errors import DecodeError
    from cassandra._base.logs import printable

    return DecodeError(printable(message))


cdef object driver_error(str message):
    from cassandra._base.errors import DriverException
    from cassandra._base.logs import printable

    return DriverException(printable(message))


cdef object protocol_error(str message):
    from cassandra._base.errors import ProtocolError
    from cassandra._base.logs import printable

    return ProtocolError(printable(message))


cdef object unsupported(str message):
    from cassandra._base.errors import UnsupportedOperation

    return UnsupportedOperation(message)


# ---- Codec: a compiled CQL type
#
# Decoders and encoders run on its TypeNode: plain C, children by pointer.

cdef enum:
    # Wire option ids double as operations.
    CUSTOM = 0x00
    ASCII = 0x01
    BIGINT = 0x02
    BLOB = 0x03
    BOOLEAN = 0x04
    COUNTER = 0x05
    DECIMAL = 0x06
    DOUBLE = 0x07
    FLOAT = 0x08
    INT = 0x09
    TEXT = 0x0A
    TIMESTAMP = 0x0B
    UUID = 0x0C
    VARCHAR = 0x0D
    VARINT = 0x0E
    TIMEUUID = 0x0F
    INET = 0x10
    DATE = 0x11
    TIME = 0x12
    SMALLINT = 0x13
    TINYINT = 0x14
    DURATION = 0x15
    LIST = 0x20
    MAP = 0x21
    SET = 0x22
    UDT = 0x30
    TUPLE = 0x31
    # Not on the wire.
    VECTOR = 0x40
    CALL = 0x41  # custom type with Python functions

cdef enum:
    MAX_DEPTH = 128  # nesting of types; a bound for the C stack against hostile metadata

cdef struct TypeNode:
    int op  # read by operation_of()
    int atomic  # decoded values hold no reference that could be part of a cycle; read by is_atomic()
    int depth  # 1 for a scalar
    Py_ssize_t fixed  # bytes of a vector element of this type, -1 if they vary
    Py_ssize_t arity  # children; dimensions of a vector
    TypeNode** children
    PyObject* codec  # the owner, borrowed

# The two fields of a node that replace_functions() changes while other threads convert values. A thread that reads CALL
# finds the functions, which were stored before.
cdef extern from *:
    """
    template <typename Node> inline int fastcql_operation(const Node* node) noexcept {
    #if FASTCQL_FREE_THREADED
        return __atomic_load_n(&node->op, __ATOMIC_ACQUIRE);
    #else
        return node->op;
    #endif
    }
    template <typename Node> inline void fastcql_set_operation(Node* node, int value) noexcept {
        __atomic_store_n(&node->op, value, __ATOMIC_RELEASE);
    }
    template <typename Node> inline int fastcql_is_atomic(const Node* node) noexcept {
        return __atomic_load_n(&node->atomic, __ATOMIC_RELAXED);
    }
    template <typename Node> inline void fastcql_set_atomic(Node* node, int value) noexcept {
        __atomic_store_n(&node->atomic, value, __ATOMIC_RELAXED);
    }
    """
    int operation_of "fastcql_operation"(const TypeNode* node) noexcept
    void set_operation "fastcql_set_operation"(TypeNode* node, int value) noexcept
    int is_atomic "fastcql_is_atomic"(const TypeNode* node) noexcept
    void set_atomic "fastcql_set_atomic"(TypeNode* node, int value) noexcept

_SCALARS = {
    ASCII: ("ascii", -1),
    BIGINT: ("bigint", 8),
    BLOB: ("blob", -1),
    BOOLEAN: ("boolean", 1),
    COUNTER: ("counter", -1),
    DECIMAL: ("decimal", -1),
    DOUBLE: ("double", 8),
    FLOAT: ("float", 4),
    INT: ("int", 4),
    TEXT: ("text", -1),
    TIMESTAMP: ("timestamp", 8),
    UUID: ("uuid", 16),
    VARCHAR: ("text", -1),
    VARINT: ("varint", -1),
    TIMEUUID: ("timeuuid", 16),
    INET: ("inet", -1),
    # The following have one size each, yet vectors prefix their elements with a length, as Cassandra's own classes do.
    DATE: ("date", -1),
    TIME: ("time", -1),
    SMALLINT: ("smallint", -1),
    TINYINT: ("tinyint", -1),
    DURATION: ("duration", -1),
}


cdef object _live = WeakValueDictionary()  # codecs by id


@cython.final
cdef class _ValueFactory:
    """How values of a user type are made. That of a codec is replaced as a whole, while other threads decode."""

    cdef object given  # class or callable, by the program; or None
    cdef object make  # what is called or filled; None for a namedtuple of which no value was decoded yet (put_once)
    cdef bint in_place  # *make* is a plain tuple class, of which instances are filled
    cdef bint tracked  # the collector has to track those instances

    def __cinit__(self, Codec codec, given):
        if given is not None and not callable(given):
            raise TypeError(f"the factory of {codec.type_name} is not callable")
        self.given = given
        self.in_place = given is None or given is tuple or is_fields_tuple(given, codec.field_names)
        self.make = given if self.in_place else fitted(given, codec.type_name, codec.field_names)
        for child in codec.children:
            self.tracked |= not is_atomic(&(<Codec>child).node)


cdef extern from *:
    """
    #define fastcql_decode_of(codec) FASTCQL_FIELD(codec, _decode)
    #define fastcql_encode_of(codec) FASTCQL_FIELD(codec, _encode)
    #define fastcql_empty_of(codec) FASTCQL_FIELD(codec, _empty)
    #define fastcql_factory_of(codec) FASTCQL_FIELD(codec, _factory)
    #define fastcql_original_of(codec) FASTCQL_FIELD(codec, _original)
    #define fastcql_make_of(factory) FASTCQL_FIELD(factory, make)
    """
    PyObject** decode_of "fastcql_decode_of"(Codec codec)
    PyObject** encode_of "fastcql_encode_of"(Codec codec)
    PyObject** empty_of "fastcql_empty_of"(Codec codec)
    PyObject** factory_of "fastcql_factory_of"(Codec codec)
    PyObject** original_of "fastcql_original_of"(Codec codec)
    PyObject** make_of "fastcql_make_of"(_ValueFactory factory)


@cython.final
cdef class Codec:
    """A compiled CQL type. Made by :func:`scalar` and its companions, never directly.

    Programs may replace the factory of a user type, the empty value and the functions of a type while other threads
    convert values: those fields are replaced by store_reference.
    """

    cdef TypeNode node
    cdef TypeNode** _children_store
    cdef readonly int kind
    cdef readonly str name
    cdef readonly tuple children
    cdef readonly object keyspace
    cdef readonly object type_name
    cdef readonly tuple field_names
    cdef readonly int dimensions
    cdef readonly Codec stored
    cdef readonly object cipher
    cdef public object py_type
    cdef object _factory  # _ValueFactory of a user type; or None
    cdef object _empty  # decoded from zero bytes where they are not a value of the type
    cdef object _decode
    cdef object _encode
    cdef object _original  # operation, atomic, and functions, once a program has replaced them (put_once)
    cdef object __weakref__

    def __cinit__(self):
        _live[id(self)] = self
        self.children = ()
        self.field_names = ()
        self.node.codec = <PyObject*>self
        self.node.fixed = -1
        self.node.depth = 1
        self.node.atomic = 1

    def __init__(self):
        raise TypeError("codecs are made by scalar(), list_codec() and so on")

    def __dealloc__(self):
        free(self._children_store)

    @property
    def factory(self):
        factory = load_reference(factory_of(self))
        return None if factory is None else (<_ValueFactory>factory).given

    @factory.setter
    def factory(self, value):
        if self.type_name is None:  # another type, or an encrypted column
            raise AttributeError(f"{self.name} has no factory")
        store_reference(factory_of(self), _ValueFactory(self, value))

    @property
    def empty_value(self):
        """Decoded from zero bytes, for types without a zero-length value. None by default."""
        return load_reference(empty_of(self))

    @empty_value.setter
    def empty_value(self, value):
        store_reference(empty_of(self), value)

    @property
    def element_size(self):
        """Size in bytes of an element of a vector of this type; -1 if elements have a length prefix."""
        return self.node.fixed

    def cql(self):
        """Return the CQL spelling without ``frozen``: ``map<text, list<int>>``."""
        cdef int op = operation_of(&self.node)
        if op in (LIST, SET, MAP, TUPLE):
            return f"{self.name}<{', '.join([child.cql() for child in self.children])}>"
        if op == VECTOR:
            return f"vector<{self.children[0].cql()}, {self.dimensions}>"
        if op == UDT:
            return self.type_name
        return f"'{self.name}'" if self.kind == CUSTOM else self.name

    def __repr__(self):
        return f"<Codec {self.cql()}>"

    def decode(self, data, int protocol_version=4):
        """Return the value of these bytes; None for None. DriverException, which is a ValueError too, if they are not a
        value of this type."""
        cdef Py_buffer view
        if data is None:
            return None
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            return <object>Ref_take(decode_value(&self.node, <const uint8_t*>view.buf, view.len, protocol_version))
        except MemoryError:
            raise
        except Exception as error:
            raise decode_error(f"Failed to decode a value of type {self.cql()}: {error}") from error
        finally:
            PyBuffer_Release(&view)

    def encode(self, value, int protocol_version=4):
        """Return the bytes of *value*. TypeError, OverflowError or ValueError if this type cannot hold it."""
        cdef ByteBuffer out
        if value is None:
            raise TypeError(f"None is null, not a value of type {self.cql()}")
        encode_value(&self.node, value, &out, protocol_version)
        return buffer_bytes(&out)


cdef inline object Ref_take(PyObject* o):
    """Take over a new reference."""
    cdef object result = <object>o
    DECREF(o)
    return result


cdef bytes buffer_bytes(ByteBuffer* out):
    if out.failed():
        raise MemoryError()
    return PyBytes_FromStringAndSize(<const char*>out.data(), <Py_ssize_t>out.size())


cdef Codec new_codec(int kind, int op, str name):
    cdef Codec codec = Codec.__new__(Codec)
    codec.kind = kind
    codec.name = name
    codec.node.op = op
    return codec


cdef int adopt(Codec codec, tuple children) except -1:
    """Set a codec's children and check the resulting depth."""
    cdef Codec child
    cdef Py_ssize_t i, n = len(children)
    codec._children_store = <TypeNode**>malloc((n + 1) * sizeof(TypeNode*))
    if codec._children_store == NULL:
        raise MemoryError()
    codec.node.children = codec._children_store
    codec.node.arity = n
    codec.children = children
    for i in range(n):
        child = children[i]
        codec.node.children[i] = &child.node
        codec.node.depth = max(codec.node.depth, child.node.depth + 1)
        codec.node.atomic &= is_atomic(&child.node)
    if codec.node.depth > MAX_DEPTH:
        raise ValueError(f"a CQL type is nested more than {MAX_DEPTH} levels deep")
    return 0


cdef tuple checked_children(elements):
    cdef tuple children = tuple(elements)
    for child in children:
        if not isinstance(child, Codec):
            raise TypeError(f"expected a Codec, got {type(child).__name__}")
    return children


cdef Codec new_scalar(int kind):
    name, fixed = _SCALARS[kind]
    cdef Codec codec = new_codec(kind, kind, name)
    codec.node.fixed = fixed
    return codec


cdef dict _scalars = {kind: new_scalar(kind) for kind in _SCALARS}


def scalar(int kind):
    """Return the codec of a type without parameters; one object per wire id."""
    codec = _scalars.get(kind)
    if codec is None:
        raise ValueError(f"unknown CQL type without parameters: 0x{kind:04x}")
    return codec


def list_codec(element):
    cdef Codec codec = new_codec(LIST, LIST, "list")
    adopt(codec, checked_children((element,)))
    codec.node.atomic = 0
    return codec


def set_codec(element):
    cdef Codec codec = new_codec(SET, SET, "set")
    adopt(codec, checked_children((element,)))
    codec.node.atomic = 0
    return codec


def map_codec(key, value):
    cdef Codec codec = new_codec(MAP, MAP, "map")
    adopt(codec, checked_children((key, value)))
    codec.node.atomic = 0
    return codec


def tuple_codec(elements):
    cdef Codec codec = new_codec(TUPLE, TUPLE, "tuple")
    adopt(codec, checked_children(elements))
    return codec


def vector_codec(element, int dimensions):
    cdef Codec codec = new_codec(CUSTOM, VECTOR, "vector")
    if dimensions <= 0:
        raise ValueError(f"dimensions of a vector must be positive, got {dimensions}")
    adopt(codec, checked_children((element,)))
    codec.dimensions = dimensions
    codec.node.arity = dimensions
    codec.node.atomic = 0
    if codec.node.children[0].fixed >= 0:
        if dimensions > INT32_MAX // codec.node.children[0].fixed:
            raise ValueError(f"a vector of {dimensions} dimensions is too large")
        codec.node.fixed = dimensions * codec.node.children[0].fixed
    return codec


def udt_codec(str keyspace not None, str name not None, field_names, elements, factory=None):
    cdef Codec codec = new_codec(UDT, UDT, "udt")
    codec.keyspace = keyspace
    codec.type_name = name
    codec.field_names = tuple(field_names)
    adopt(codec, checked_children(elements))
    if len(codec.field_names) != len(codec.children):
        raise ValueError(f"{len(codec.field_names)} field names for {len(codec.children)} types in {name}")
    codec.factory = factory
    codec.node.atomic = 0  # a later factory may return any object
    return codec


def custom_codec(str class_name not None, decode=None, encode=None):
    """Return the codec of a server type without a kernel here: bytes, or the results of the two functions."""
    cdef Codec codec = new_codec(CUSTOM, BLOB if decode is None and encode is None else CALL, class_name)
    codec._decode = decode
    codec._encode = encode
    codec.node.atomic = decode is None
    return codec


def encrypted_codec(Codec stored not None, cipher not None):
    """Return the codec of a column of type *stored* whose values *cipher* encrypts and decrypts."""
    cdef Codec codec = new_codec(stored.kind, CALL, stored.name)
    codec.stored = stored
    codec.cipher = cipher
    codec._decode = cipher.decode
    codec._encode = cipher.encode
    codec.node.atomic = 0
    return codec


# While a type's functions are replaced by a program, every codec of it calls them like one with Python functions, in
# all positions: plans and the codecs of nested types point to its node. The type's own functions use a copy.


cdef tuple own_functions(Codec codec):
    """Return the operation, *atomic*, and the functions that *codec* was made with."""
    # Read before _original, which is set before any of them changes: without it they are the codec's own.
    cdef tuple now = (
        operation_of(&codec.node), is_atomic(&codec.node),
        load_reference(decode_of(codec)), load_reference(encode_of(codec)),
    )
    cdef object original = load_once(original_of(codec))
    return now if original is None else <tuple>original


def replace_functions(Codec codec not None, decode, encode):
    """Let *decode* and *encode* convert the values of *codec*, in all plans that contain it; see the stub."""
    put_once(original_of(codec), own_functions(codec))
    store_reference(decode_of(codec), decode)
    store_reference(encode_of(codec), encode)
    set_atomic(&codec.node, 0)
    set_operation(&codec.node, CALL)


def restore_functions(Codec codec not None):
    """Undo :func:`replace_functions`."""
    cdef object original = load_once(original_of(codec))
    if original is None:
        return
    op, atomic, decode, encode = <tuple>original
    if op == CALL:  # else they remain, for threads that have just read CALL
        store_reference(decode_of(codec), decode)
        store_reference(encode_of(codec), encode)
    set_operation(&codec.node, op)
    set_atomic(&codec.node, atomic)


def native_copy(Codec codec not None, bint deep=False):
    """Return a codec of the same type with the functions of the driver; see the stub."""
    op, atomic, decode, encode = own_functions(codec)
    cdef Codec copy = new_codec(codec.kind, op, codec.name)
    copy.keyspace = codec.keyspace
    copy.type_name = codec.type_name
    copy.field_names = codec.field_names
    copy.dimensions = codec.dimensions
    copy.stored = codec.stored
    copy.cipher = codec.cipher
    copy.py_type = codec.py_type
    copy._decode = decode
    copy._encode = encode
    copy.empty_value = codec.empty_value
    if codec.children:
        adopt(copy, tuple([native_copy(child, True) for child in codec.children]) if deep else codec.children)
    copy.node.arity = codec.node.arity
    copy.node.fixed = codec.node.fixed
    copy.node.atomic = atomic
    if op == UDT:
        copy.factory = codec.factory
    return copy


def all_codecs():
    """Return the live codecs."""
    return [codec for reference in _live.valuerefs() if (codec := reference()) is not None]


cdef object _on_new = None  # a function of codecs while functions of parameterised types are replaced


def set_on_new(function):
    """Call *function* from now on with each codec read from a server's metadata; None: stop."""
    global _on_new
    _on_new = function


cdef inline Codec register_codec(codec):
    if _on_new is not None:
        _on_new(codec)
    return <Codec>codec


cdef bint is_fields_tuple(make, tuple names) except -1:
    """True for a class straight from namedtuple(), not a subclass, that has *names* in their order.

    Names that cannot be attributes may be spelled differently.
    """
    if not is_plain_tuple_class(make) or make.__bases__ != (tuple,):
        return False
    fields = make.__dict__.get("_fields")
    if not isinstance(fields, tuple) or len(fields) != len(names):
        return False
    from collections import Counter
    from keyword import iskeyword

    times = None if fields == names else Counter(names)
    for field, name in zip(fields, names):
        valid = name.isidentifier() and not name.startswith("_") and not iskeyword(name)
        if field != name and valid and times[name] == 1:
            return False
    return True


# ---- types and column specifications of result metadata, and the TypeContext that resolves and caches them

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


cdef atomic[uint64_t] _generations


@cython.final
cdef class _Resolved:
    """The plans and types that a TypeContext has made since it was cleared."""

    cdef dict plans  # column count, flag and bytes of the specifications -> ResultPlan
    cdef dict customs  # class name -> Codec
    cdef atomic[int64_t] kept  # bytes of the plans, as weighed
    cdef uint64_t generation  # of these plans; unique among all contexts

    def __cinit__(self):
        self.plans = {}
        self.customs = {}
        self.generation = _generations.fetch_add(1) + 1


@cython.final
cdef class TypeContext:
    """Resolves types that wire metadata does not define alone, and caches the plans of results. Any thread."""

    cdef object _resolve_custom
    cdef object _resolve_udt
    cdef public object resolve_column
    cdef _Resolved _resolved  # read by resolved()
    cdef Py_ssize_t _size
    cdef atomic[uint64_t] _tick
    cdef atomic[uint64_t] _generation  # of _resolved

    def __cinit__(self, resolve_custom=None, resolve_udt=None, Py_ssize_t plan_cache_size=256):
        if plan_cache_size < 0:
            raise ValueError("plan_cache_size cannot be negative")
        self._resolve_custom = resolve_custom
        self._resolve_udt = resolve_udt
        self._size = plan_cache_size
        self._resolved = _Resolved()
        self._generation.store(self._resolved.generation)

    cdef _Resolved resolved(self):
        with cython.critical_section(self):
            return self._resolved

    cdef uint64_t tick(self) noexcept:
        return self._tick.fetch_add(1, memory_order_relaxed) + 1

    def clear(self):
        """Drop plans and custom types: a user type was registered or altered."""
        # A thread that still resolves a type by its old definition keeps it where no other thread finds it.
        cdef _Resolved before, resolved = _Resolved()
        with cython.critical_section(self):
            before, self._resolved = self._resolved, resolved
            self._generation.store(resolved.generation)

    def user_type(self, str keyspace not None, str name not None):
        """Return the class registered for a user type, or None."""
        return None if self._resolve_udt is None else self._resolve_udt(keyspace, name)

    def __len__(self):
        """Return the number of plans in the cache."""
        return len(self.resolved().plans)


cdef Codec custom_type(TypeContext context, str name):
    cdef dict customs = context.resolved().customs
    codec = get_value(customs, name, None)
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
        return register_codec(list_codec(take_type(c, context, depth + 1)))
    if kind == SET:
        return register_codec(set_codec(take_type(c, context, depth + 1)))
    if kind == MAP:
        key = take_type(c, context, depth + 1)
        return register_codec(map_codec(key, take_type(c, context, depth + 1)))
    if kind == TUPLE:
        return register_codec(tuple_codec(take_types(c, context, depth + 1)))
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
    return register_codec(udt_codec(keyspace, name, names, types, context.user_type(keyspace, name)))


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
    cdef _Resolved resolved = context.resolved()
    cdef uint64_t tick = context.tick()
    skip_specs(c, flags, columns)
    cdef Py_ssize_t n = c.p - start.p
    if n + <Py_ssize_t>columns * WEIGHT_OF_COLUMN > MAX_KEPT_SPECS // 16:
        return ResultPlan(take_specs(&start, flags, columns, context, False))
    cdef bytes key = PyBytes_FromStringAndSize(NULL, n + 5)
    cdef char* text = PyBytes_AS_STRING(key)
    memcpy(text, &columns, 4)
    text[4] = <char>(flags & GLOBAL_SPEC)
    memcpy(text + 5, start.p, <size_t>n)
    known = get_value(resolved.plans, key, None)
    if known is not None:
        plan = <ResultPlan>known
        plan._used.store(tick, memory_order_relaxed)
        return plan
    plan = ResultPlan(take_specs(&start, flags, columns, context, False))
    plan._used.store(tick, memory_order_relaxed)
    plan._key = key
    plan._generation = resolved.generation
    remember(context, resolved, key, plan)
    return plan


cdef bint describes(ResultPlan plan, Cursor* c, int flags, int32_t columns, TypeContext context) except -1:
    """True if take_plan() would give *plan*, or an equal one; if so the cursor is behind the specifications. They are
    self-delimiting, so specifications that begin with the same bytes are the same."""
    cdef bytes key = plan._key
    if key is None or plan._generation != context._generation.load():
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
    plan._used.store(context.tick(), memory_order_relaxed)
    return True


cdef Py_ssize_t weight_of(ResultPlan plan) noexcept:
    return PyBytes_GET_SIZE(plan._key) + plan._count * WEIGHT_OF_COLUMN


cdef int remember(TypeContext context, _Resolved resolved, bytes key, ResultPlan plan) except -1:
    """Cache a plan; evict the least recently used ones."""
    cdef dict plans = resolved.plans
    if context._size == 0:
        return 0
    while plans and (len(plans) >= context._size or resolved.kept.load() + weight_of(plan) > MAX_KEPT_SPECS):
        forget_oldest(resolved)
    if plans.setdefault(key, plan) is plan:
        resolved.kept.fetch_add(weight_of(plan))
    return 0


cdef int forget_oldest(_Resolved resolved) except -1:
    cdef uint64_t used, oldest = 0
    victim = None
    for candidate, other in resolved.plans.copy().items():  # copy() is atomic, unlike making a list
        used = (<ResultPlan>other)._used.load(memory_order_relaxed)
        if victim is None or used < oldest:
            victim = candidate
            oldest = used
    gone = resolved.plans.pop(victim, None)
    if gone is not None:
        resolved.kept.fetch_sub(weight_of(<ResultPlan>gone), memory_order_relaxed)
    return 0
