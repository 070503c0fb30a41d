# Tablets and the map of them: the Python objects of cpp/routing/tablet_map.h.

cdef extern from "routing/tablet_map.h" namespace "fastcql":
    ctypedef uint32_t Replica
    Replica make_replica(uint16_t host, uint16_t shard)
    uint16_t replica_host(Replica replica)
    uint16_t replica_shard(Replica replica)
    const size_t kMaxReplicas
    const size_t kFewReplicas
    const uint8_t kHasVersion
    const uint8_t kNoReplicas
    const uint8_t kUnsigned

    cppclass HostId:
        uint8_t* data()

    cppclass TabletRow:
        int64_t first, last, version
        const Replica* replicas
        uint8_t count, flags

    cppclass FoundTablet:
        int64_t first, last, version
        uint8_t count, flags
        Replica* replicas
        void copy(const TabletRow& row)

    cppclass NativeHosts "fastcql::TabletHosts":
        NativeHosts() except +
        uint16_t intern(const HostId& id) except +
        uint16_t add(const HostId& id) except +
        cbool look_up(const HostId& id, uint16_t& host)
        HostId id(size_t host)

    cppclass TableName:
        TableName()
        TableName(const char* keyspace, size_t keyspace_size, const char* table, size_t table_size)

    cppclass NativeTable "fastcql::TabletTable":
        cbool find(int64_t token, FoundTablet& found)
        cbool find_announced(int64_t token, FoundTablet& found)
        cbool has_tablets()

    cppclass CopiedTable "fastcql::TabletMap::Copy":
        string keyspace, table
        vector[TabletRow] rows

    cppclass NativeMap "fastcql::TabletMap":
        NativeMap(shared_ptr[NativeHosts] hosts) except +
        cbool find(const TableName& name, int64_t token, FoundTablet& found)
        cbool has_tablets(const TableName& name)
        size_t tables()
        uint64_t changes()
        void add(const TableName& name, const TabletRow& row) except +
        const char* learn(const TableName& name, const uint8_t* payload, size_t size, cbool& added) except +
        void replace(const TableName& name, const vector[TabletRow]& rows) except +
        void drop(const TableName& name) except +
        void drop_keyspace(string keyspace) except +
        void drop_host(uint16_t host) except +
        NativeTable* hold(const TableName& name) except +
        void release(NativeTable* table)
        vector[CopiedTable] copy(uint64_t& changes) except +
        size_t bytes()

from uuid import UUID


@cython.final
@cython.no_gc
cdef class _TabletHosts:
    """Python ids of the numbered hosts. They are made on first use."""

    cdef shared_ptr[NativeHosts] native
    cdef dict known  # by number; one is set once
    cdef dict numbers  # of hosts looked up before: of a UUID by its int, which is hashed without Python code
    cdef dict others  # of host ids that are not UUIDs

    def __cinit__(self):
        self.native.reset(new NativeHosts())
        self.known = {}
        self.numbers = {}
        self.others = {}

    cdef object name(self, uint16_t number):
        cdef HostId id
        name = self.known.get(number)
        if name is None:
            id = self.native.get().id(number)
            name = self.known.setdefault(number, UUID(bytes=(<const char*> id.data())[:16]))
        return name

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
        return self.numbers.setdefault(key, number)

    cdef uint16_t intern(self, object name) except? 65535:
        cdef int found = self.look_up(name)
        cdef uint16_t number
        cdef HostId id
        if found >= 0:
            return <uint16_t> found
        if isinstance(name, UUID):
            memcpy(id.data(), PyBytes_AS_STRING(name.bytes), 16)
            number = self.native.get().intern(id)
            self.known.setdefault(number, name)
            return self.numbers.setdefault(name.int, number)
        memset(id.data(), 0, 16)
        number = self.native.get().add(id)
        self.known.setdefault(number, name)
        return self.others.setdefault(name, number)


cdef enum:
    INLINE = 6  # kFewReplicas


cdef extern from *:
    """
    #define fastcql_replicas_of(tablet) FASTCQL_FIELD(tablet, made_replicas)
    #define fastcql_dict_of(tablet) FASTCQL_FIELD(tablet, made_dict)
    """
    PyObject** replicas_of "fastcql_replicas_of"(Tablet tablet)
    PyObject** dict_of "fastcql_dict_of"(Tablet tablet)


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
        made = load_once(replicas_of(self))
        if made is None and not self.flags & kNoReplicas:
            made = put_once(replicas_of(self), named_replicas(self.hosts, self.few, self.count))
        return made

    @property
    def _replica_dict(self):
        cdef dict found
        made = load_once(dict_of(self))
        if made is None:
            found = {}
            for host_id, shard in self.replicas or ():
                found.setdefault(host_id, shard)  # the first entry of a repeated host counts, as everywhere
            made = put_once(dict_of(self), found)
        return made

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

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    long long PyLong_AsLongLongAndOverflow(object number, int* beyond) except? -1


# Let *name* point into *keyspace* and *table*. False if they are not strings: such a table does not exist.
cdef inline int set_name(TableName* name, object keyspace, object table) except -1:
    cdef Py_ssize_t keyspace_size = 0, table_size = 0
    cdef const char* keyspace_text
    cdef const char* table_text
    if not isinstance(keyspace, str) or not isinstance(table, str):
        return False
    keyspace_text = PyUnicode_AsUTF8AndSize(keyspace, &keyspace_size)
    table_text = PyUnicode_AsUTF8AndSize(table, &table_size)
    name[0] = TableName(keyspace_text, <size_t> keyspace_size, table_text, <size_t> table_size)
    return True


cdef inline int check_name(TableName* name, object keyspace, object table) except -1:
    if not set_name(name, keyspace, table):
        raise TypeError(f"keyspace and table must be strings, not {keyspace!r} and {table!r}")
    return 0


cdef object malformed(const char* wrong):
    from cassandra._base.errors import DriverException

    return DriverException(f"Malformed tablet in the payload of a response: {wrong.decode()}")


cdef enum:
    NAMED = 8  # a power of two
    SELDOM = 16


# A table with the very name objects of a look-up. *native* is held by the map while this is in its slot.
@cython.final
@cython.no_gc
cdef class _NamedTable:
    cdef object keyspace
    cdef object table
    cdef NativeTable* native


cdef enum Found:
    FOUND
    NOT_FOUND
    NOT_NAMED


cdef inline bint is_named(PyObject* named, keyspace, table) noexcept:
    return (
        named != <PyObject*> None
        and <PyObject*> (<_NamedTable> named).keyspace == <PyObject*> keyspace
        and <PyObject*> (<_NamedTable> named).table == <PyObject*> table
    )


cdef bint has_named(PyObject** slot, keyspace, table) noexcept:
    cdef EpochReader reader
    reader.announce()
    return is_named(borrow_reference(slot), keyspace, table)


cdef Found find_in(PyObject** slot, keyspace, table, int64_t token, FoundTablet& found) noexcept:
    cdef EpochReader reader
    reader.announce()
    cdef PyObject* named = borrow_reference(slot)
    if not is_named(named, keyspace, table):
        return NOT_NAMED
    return FOUND if (<_NamedTable> named).native.find_announced(token, found) else NOT_FOUND


cdef class TabletMap:
    cdef NativeMap* native
    cdef _TabletHosts hosts
    # Names are mostly the same objects: these need no hashing. Each has a _NamedTable or None, and is read in an epoch.
    cdef PyObject* named[NAMED]
    cdef atomic[uint32_t] asked

    def __cinit__(self, *args, **kwargs):
        cdef size_t i
        for i in range(<size_t> NAMED):
            Py_INCREF(None)
            self.named[i] = <PyObject*> None
        self.hosts = _TabletHosts()
        self.native = new NativeMap(self.hosts.native)

    def __dealloc__(self):
        cdef size_t i
        for i in range(<size_t> NAMED):
            Py_DECREF(<object> self.named[i])
        del self.native

    # Only the value of *t* may run foreign code: tables may be added or removed meanwhile.
    @cython.binding(False)
    @cython.embedsignature(False)
    def get_tablet_for_key(self, keyspace, table, t):
        """get_tablet_for_key($self, keyspace, table, t)\n--\n\n"""
        cdef FoundTablet found
        cdef int64_t token
        cdef int beyond = 0
        cdef PyObject** slot = &self.named[
            (<size_t> <PyObject*> keyspace >> 4 ^ <size_t> <PyObject*> table >> 6) & (NAMED - 1)
        ]
        if not has_named(slot, keyspace, table) and not self.has_tablets(keyspace, table):
            return None
        token = PyLong_AsLongLongAndOverflow(t if type(t) is int else t.value, &beyond)
        if beyond:
            return None
        cdef Found how = find_in(slot, keyspace, table, token, found)
        if how == NOT_NAMED:
            how = self.find_named(keyspace, table, token, found, slot)
        return found_tablet(self.hosts, found) if how == FOUND else None

    # Look up by the names themselves; every SELDOM calls the table replaces the one in *slot*.
    cdef Found find_named(self, keyspace, table, int64_t token, FoundTablet& found, PyObject** slot) except *:
        cdef TableName name
        if not set_name(&name, keyspace, table):
            return NOT_FOUND
        if refers_to(slot, None) or self.asked.fetch_add(1, memory_order_relaxed) % SELDOM == 0:
            self.remember(slot, keyspace, table, name)
        return FOUND if self.native.find(name, token, found) else NOT_FOUND

    cdef int remember(self, PyObject** slot, keyspace, table, const TableName& name) except -1:
        cdef _NamedTable now = _NamedTable.__new__(_NamedTable)
        now.keyspace = keyspace
        now.table = table
        now.native = self.native.hold(name)
        before = exchange_reference(slot, now)
        if before is not None:
            self.native.release((<_NamedTable> before).native)
        return 0

    cdef bint has_tablets(self, keyspace, table) except -1:
        cdef TableName name
        return self.native.tables() != 0 and set_name(&name, keyspace, table) and self.native.has_tablets(name)

    def table_has_tablets(self, keyspace, table):
        return self.has_tablets(keyspace, table)

    def learn(self, keyspace, table, payload):
        cdef TableName name
        cdef cbool added = False
        cdef const char* wrong
        cdef Py_buffer view
        check_name(&name, keyspace, table)
        PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
        try:
            wrong = self.native.learn(name, <const uint8_t*> view.buf, <size_t> view.len, added)
        finally:
            PyBuffer_Release(&view)
        if wrong != NULL:
            raise malformed(wrong)
        return added

    def add_tablet(self, keyspace, table, Tablet tablet not None):
        cdef TableName name
        cdef TabletRow row
        cdef Replica replicas[255]
        check_name(&name, keyspace, table)
        self.fill(tablet, &row, replicas)
        self.native.add(name, row)

    def replace_tablets(self, keyspace, table, tablets):
        cdef TableName name
        cdef vector[TabletRow] rows
        cdef vector[size_t] starts
        cdef vector[Replica] replicas
        cdef TabletRow row
        cdef Replica some[255]
        cdef size_t i
        check_name(&name, keyspace, table)
        for tablet in tablets:
            self.fill(tablet, &row, some)
            starts.push_back(replicas.size())
            replicas.insert(replicas.end(), some, some + row.count)
            rows.push_back(row)
        for i in range(rows.size()):
            rows[i].replicas = replicas.data() + starts[i]
        self.native.replace(name, rows)

    cdef int fill(self, Tablet tablet, TabletRow* row, Replica* replicas) except -1:
        cdef size_t count = 0
        if tablet is None:
            raise TypeError("tablet must be a Tablet, not None")
        if tablet.hosts is self.hosts and tablet.is_native():
            count = tablet.count
            memcpy(replicas, tablet.few, count * sizeof(Replica))
        else:
            for host, shard in tablet.replicas or ():
                if count == kMaxReplicas:
                    raise ValueError(f"{tablet!r} has more than {kMaxReplicas} replicas")
                if not 0 <= shard <= 65535:
                    raise ValueError(f"{tablet!r} has a shard out of range")
                replicas[count] = make_replica(self.hosts.intern(host), <uint16_t> shard)
                count += 1
        row.first = tablet.first_token
        row.last = tablet.last_token
        row.version = tablet.version
        row.replicas = replicas
        row.count = <uint8_t> count
        row.flags = tablet.flags
        return 0

    def drop_tablets(self, keyspace, table=None):
        cdef TableName name
        if table is None:
            self.native.drop_keyspace((<str?> keyspace).encode())
        else:
            check_name(&name, keyspace, table)
            self.native.drop(name)

    def drop_tablets_by_host_id(self, host_id):
        cdef int number
        if host_id is None:
            return
        number = self.hosts.look_up(host_id)
        if number >= 0:
            self.native.drop_host(<uint16_t> number)

    def table(self, keyspace, table):
        cdef TabletTable handle = TabletTable.__new__(TabletTable)
        cdef TableName name
        check_name(&name, keyspace, table)
        handle.keyspace = keyspace
        handle.table = table
        handle.native = self.native.hold(name)
        handle.owner = self
        return handle

    def host_number(self, host_id):
        cdef int number = self.hosts.look_up(host_id)
        return None if number < 0 else number

    def host_id(self, uint16_t number):
        return self.hosts.name(number)

    @property
    def changes(self):
        return self.native.changes()

    @property
    def nbytes(self):
        return self.native.bytes()

    def snapshot(self):
        cdef uint64_t changes = 0
        cdef vector[CopiedTable] copies = self.native.copy(changes)
        cdef FoundTablet found
        cdef size_t i, j
        tables = {}
        for i in range(copies.size()):
            tablets = []
            for j in range(copies[i].rows.size()):
                found.copy(copies[i].rows[j])
                tablets.append(found_tablet(self.hosts, found))
            tables[copies[i].keyspace.decode(), copies[i].table.decode()] = tablets
        return changes, tables


@cython.final
@cython.no_gc_clear  # __dealloc__ needs its owner
cdef class TabletTable:
    cdef TabletMap owner
    cdef NativeTable* native
    cdef readonly str keyspace
    cdef readonly str table

    def __dealloc__(self):
        if self.native != NULL:
            self.owner.native.release(self.native)

    def find(self, int64_t token):
        cdef FoundTablet found
        return found_tablet(self.owner.hosts, found) if self.native.find(token, found) else None

    def __bool__(self):
        return self.native.has_tablets()
