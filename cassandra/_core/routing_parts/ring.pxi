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
