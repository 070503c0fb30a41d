# Tokens, the token ring, and the shards of a ScyllaDB node.

cdef extern from "base/murmur3.h" namespace "fastcql" nogil:
    int64_t c_murmur3_token "fastcql::murmur3_token"(const uint8_t* data, size_t length)


def murmur3_token(key):
    cdef Py_buffer view
    cdef int64_t token
    if PyBytes_CheckExact(key):
        return c_murmur3_token(<const uint8_t*> PyBytes_AS_STRING(key), <size_t> PyBytes_GET_SIZE(key))
    PyObject_GetBuffer(key, &view, PyBUF_SIMPLE)
    try:
        token = c_murmur3_token(<const uint8_t*> view.buf, <size_t> view.len)
    finally:
        PyBuffer_Release(&view)
    return token

cdef extern from "routing/ring.h" namespace "fastcql" nogil:
    cdef cppclass Ring:
        Ring() except +
        Ring(const vector[int64_t]& tokens) except +
        size_t size() const
        int64_t token(size_t i) const
        size_t order(size_t i) const
        cbool has_duplicates() const
        size_t index(int64_t token) const


cdef class TokenRing:
    cdef Ring ring
    cdef readonly tuple owners

    def __cinit__(self, tokens, owners):
        cdef vector[int64_t] values
        cdef tuple given = tuple(owners)
        cdef size_t i
        values.reserve(len(tokens))
        for token in tokens:
            values.push_back(<int64_t> token)
        if <size_t> PyTuple_GET_SIZE(given) != values.size():
            raise ValueError(f"{values.size()} tokens for {len(given)} owners")
        self.ring = Ring(values)
        if self.ring.has_duplicates():
            raise ValueError("a token appears twice in the ring")
        self.owners = tuple([given[self.ring.order(i)] for i in range(self.ring.size())])

    def __len__(self):
        return self.ring.size()

    @property
    def tokens(self):
        cdef size_t i
        return tuple([self.ring.token(i) for i in range(self.ring.size())])

    def owner(self, int64_t token):
        if self.ring.size() == 0:
            raise LookupError("the ring is empty")
        return self.owners[self.ring.index(token)]

    def index(self, int64_t token):
        if self.ring.size() == 0:
            raise LookupError("the ring is empty")
        return self.ring.index(token)


# ---- shards of a ScyllaDB node: the mapping of tokens to them, and selection among objects kept per shard


cdef extern from "routing/ring.h" namespace "fastcql" nogil:
    uint32_t shard_of_token(int64_t token, uint32_t shards, uint32_t ignore_msb)


cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1


@cython.final
@cython.no_gc
cdef class ShardingInfo:
    cdef readonly uint32_t shards_count
    cdef readonly uint32_t sharding_ignore_msb
    cdef readonly str partitioner
    cdef readonly str sharding_algorithm
    cdef readonly object shard_aware_port
    cdef readonly object shard_aware_port_ssl

    def __init__(
        self,
        shard_id,
        shards_count,
        str partitioner,
        str sharding_algorithm,
        sharding_ignore_msb,
        shard_aware_port=None,
        shard_aware_port_ssl=None,
    ):
        if not 1 <= int(shards_count) < 1 << 32:
            raise ValueError(f"shards_count must be positive, got {shards_count}")
        if not 0 <= int(sharding_ignore_msb) < 64:
            raise ValueError(f"sharding_ignore_msb must be from 0 to 63, got {sharding_ignore_msb}")
        self.shards_count = int(shards_count)
        self.sharding_ignore_msb = int(sharding_ignore_msb)
        self.partitioner = partitioner
        self.sharding_algorithm = sharding_algorithm
        self.shard_aware_port = port_number(shard_aware_port)
        self.shard_aware_port_ssl = port_number(shard_aware_port_ssl)

    def shard_id_from_token(self, int64_t token_input):
        return shard_of_token(token_input, self.shards_count, self.sharding_ignore_msb)

    cdef tuple values(self):
        return (
            self.shards_count, self.partitioner, self.sharding_algorithm, self.sharding_ignore_msb,
            self.shard_aware_port, self.shard_aware_port_ssl,
        )

    def __eq__(self, other):
        if not isinstance(other, ShardingInfo):
            return NotImplemented
        return self.values() == (<ShardingInfo> other).values()

    def __hash__(self):
        return hash(self.values())

    def __reduce__(self):
        return ShardingInfo, (0, *self.values())

    def __repr__(self):
        port = "" if self.shard_aware_port is None else f", port {self.shard_aware_port}"
        ssl = "" if self.shard_aware_port_ssl is None else f", TLS port {self.shard_aware_port_ssl}"
        return f"<ShardingInfo: {self.shards_count} shards, {self.sharding_ignore_msb} bits ignored{port}{ssl}>"


set_class_name(<PyTypeObject*> ShardingInfo, "cassandra.shard_info.ShardingInfo")  # where users find it


cdef object port_number(port):
    return int(port) if port else None


@cython.final
cdef class ShardPicker:
    cdef readonly tuple slots
    cdef uint32_t ignore_msb
    cdef atomic[uint32_t] turn  # round-robin counter

    def __init__(self, ShardingInfo sharding not None, slots):
        self.slots = tuple(slots)
        if PyTuple_GET_SIZE(self.slots) != <Py_ssize_t> sharding.shards_count:
            raise ValueError(f"places must be one per shard: got {len(self.slots)} for {sharding.shards_count} shards")
        self.ignore_msb = sharding.sharding_ignore_msb

    def pick(self, token=None, shard=None):
        cdef uint32_t count = <uint32_t> PyTuple_GET_SIZE(self.slots)
        cdef int overflow = 0
        cdef long long number
        cdef uint32_t tried
        if shard is not None:
            number = PyLong_AsLongLongAndOverflow(shard, &overflow)
            if overflow == 0 and 0 <= number < count:
                return self.slots[number]
        if token is not None:
            number = PyLong_AsLongLongAndOverflow(token, &overflow)
            if overflow == 0:
                return self.slots[shard_of_token(number, count, self.ignore_msb)]
        for tried in range(count):
            slot = self.slots[(self.turn.fetch_add(1, memory_order_relaxed) + 1) % count]
            if slot is not None:
                return slot
        return None
