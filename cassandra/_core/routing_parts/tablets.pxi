from uuid import UUID


@cython.final
@cython.no_gc
cdef class _TabletHosts:
    """Python ids of the numbered hosts. They are made on first use."""

    cdef shared_ptr[NativeHosts] native
    cdef list known  # by number; None: not made yet
    cdef dict numbers  # of hosts looked up before: of a UUID by its int, which is hashed without Python code
    cdef dict others  # of host ids that are not UUIDs

    def __cinit__(self):
        self.native.reset(new NativeHosts())
        self.known = []
        self.numbers = {}
        self.others = {}

    cdef object name(self, uint16_t number):
        cdef HostId id
        while len(self.known) <= number:
            self.known.append(None)
        name = self.known[number]
        if name is None:
            id = self.native.get().id(number)
            name = UUID(bytes=(<const char*> id.data())[:16])
            if self.known[number] is None:  # another thread may have set it meanwhile
                self.known[number] = name
            name = self.known[number]
        return name

    cdef void set_name(self, uint16_t number, object name):
        while len(self.known) <= number:
            self.known.append(None)
        if self.known[number] is None:
            self.known[number] = name

    # Return the number of *name*, -1 if it has none.
    cdef int look_up(self, object name) except -2:
        cdef uint16_t number = 0
        cdef HostId id
        if not isinstance(name, UUID):
            return self.others.get(name, -1)
        key = name.int
        found = self.numbers.get(key)
        if found is not None:
            return found
        memcpy(id.data(), PyBytes_AS_STRING(name.bytes), 16)
        if not self.native.get().look_up(id, number):
            return -1
        self.numbers[key] = number
        return number

    cdef uint16_t intern(self, object name) except? 65535:
        cdef int found = self.look_up(name)
        cdef uint16_t number
        cdef HostId id
        if found >= 0:
            return <uint16_t> found
        if isinstance(name, UUID):
            memcpy(id.data(), PyBytes_AS_STRING(name.bytes), 16)
            number = self.native.get().intern(id)
            self.numbers[name.int] = number
            self.set_name(number, name)
            return number
        memset(id.data(), 0, 16)
        number = self.native.get().add(id)
        self.set_name(number, name)
        return self.others.setdefault(name, number)


cdef enum:
    INLINE = 6  # kFewReplicas


@cython.no_gc
@cython.freelist(16)
cdef class Tablet:
    cdef readonly int64_t first_token
    cdef readonly int64_t last_token
    cdef int64_t version
    cdef _TabletHosts hosts  # None: made by a user, with made_replicas
    cdef uint8_t count, flags
    cdef Replica few[INLINE]  # of a tablet found in a map, if it has no more; else made_replicas is set from the start
    cdef tuple made_replicas
    cdef dict made_dict

    def __init__(self, first_token=0, last_token=0, replicas=None, tablet_version=None):
        if self.hosts is not None:
            raise TypeError("cannot initialise a tablet again that was found in a map")
        self.first_token = first_token
        self.last_token = last_token
        self.made_dict = None
        self.flags = 0
        self.give(None if replicas is None else tuple(replicas), tablet_version)

    cdef int give(self, tuple replicas, tablet_version) except -1:
        if tablet_version is not None:
            self.flags |= kHasVersion
            if tablet_version > INT64_MAX:
                self.version = <int64_t> <uint64_t> tablet_version
                self.flags |= kUnsigned
            else:
                self.version = tablet_version
        if replicas is None:
            self.flags |= kNoReplicas
        self.made_replicas = replicas
        return 0

    @staticmethod
    def from_row(first_token, last_token, replicas, tablet_version=None):
        cdef tuple given
        cdef Tablet tablet
        if replicas is None:
            return None
        given = tuple(replicas)
        if not given:
            return None
        tablet = Tablet.__new__(Tablet)
        tablet.first_token = first_token
        tablet.last_token = last_token
        tablet.give(given, tablet_version)
        return tablet

    cdef bint is_native(self) noexcept:
        return self.hosts is not None and self.count <= INLINE

    @property
    def replicas(self):
        if self.made_replicas is None and not self.flags & kNoReplicas:
            self.made_replicas = named_replicas(self.hosts, self.few, self.count)
        return self.made_replicas

    @property
    def _replica_dict(self):
        cdef dict made
        if self.made_dict is None:
            made = {}
            for host_id, shard in self.replicas or ():
                made.setdefault(host_id, shard)  # the first entry of a repeated host counts, as everywhere
            self.made_dict = made
        return self.made_dict

    @property
    def tablet_version(self):
        if not self.flags & kHasVersion:
            return None
        if self.flags & kUnsigned:
            return <uint64_t> self.version
        return self.version

    @property
    def leader(self):
        replicas = self.replicas
        return replicas[0][0] if replicas else None

    def replica_contains_host_id(self, uuid):
        return self.get_replica_shard_id(uuid) is not None

    def get_replica_shard_id(self, host_id):
        cdef int number
        cdef uint8_t i
        if not self.is_native():
            return self._replica_dict.get(host_id)
        number = self.hosts.look_up(host_id)
        for i in range(self.count):
            if replica_host(self.few[i]) == number:
                return replica_shard(self.few[i])
        return None

    def _key(self):
        return (self.first_token, self.last_token, self.replicas, self.tablet_version)

    def __eq__(self, other):
        return self._key() == (<Tablet> other)._key() if isinstance(other, Tablet) else NotImplemented

    def __hash__(self):
        return hash(self._key())

    def __reduce__(self):
        return Tablet, self._key()

    def __repr__(self):
        return (
            f"<Tablet: first_token={self.first_token} last_token={self.last_token} replicas={self.replicas} "
            f"tablet_version={self.tablet_version}>"
        )


set_class_name(<PyTypeObject*> Tablet, "cassandra.tablets.Tablet")  # where users find it


cdef tuple named_replicas(_TabletHosts hosts, const Replica* replicas, size_t count):
    cdef size_t i
    return tuple([(hosts.name(replica_host(replicas[i])), replica_shard(replicas[i])) for i in range(count)])


cdef Tablet found_tablet(_TabletHosts hosts, const FoundTablet& found):
    cdef Tablet tablet = Tablet.__new__(Tablet)
    tablet.first_token = found.first
    tablet.last_token = found.last
    tablet.version = found.version
    tablet.count = found.count
    tablet.flags = found.flags
    tablet.hosts = hosts
    memcpy(tablet.few, found.replicas, sizeof(tablet.few))
    if found.count > INLINE:
        tablet.made_replicas = named_replicas(hosts, found.replicas, found.count)
    return tablet
