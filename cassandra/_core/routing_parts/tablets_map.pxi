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


# A table with the very name objects of a look-up, which are kept, as the table is held.
cdef struct NamedTable:
    PyObject* keyspace
    PyObject* table
    NativeTable* native


cdef inline bint is_named(NamedTable* known, object keyspace, object table) noexcept:
    return known.keyspace == <PyObject*> keyspace and known.table == <PyObject*> table


cdef class TabletMap:
    cdef NativeMap* native
    cdef _TabletHosts hosts
    cdef NamedTable named[NAMED]  # names are mostly the same objects: these need no hashing or comparison
    cdef unsigned int asked

    def __cinit__(self, *args, **kwargs):
        self.hosts = _TabletHosts()
        self.native = new NativeMap(self.hosts.native)

    def __dealloc__(self):
        cdef size_t i
        for i in range(<size_t> NAMED):
            Py_XDECREF(self.named[i].keyspace)
            Py_XDECREF(self.named[i].table)
        del self.native

    # Only the value of *t* may run foreign code: tables may be added or removed meanwhile.
    @cython.binding(False)
    @cython.embedsignature(False)
    def get_tablet_for_key(self, keyspace, table, t):
        """get_tablet_for_key($self, keyspace, table, t)\n--\n\n"""
        cdef FoundTablet found
        cdef NamedTable* known
        cdef int64_t token
        cdef int beyond = 0
        known = &self.named[(<size_t> <PyObject*> keyspace >> 4 ^ <size_t> <PyObject*> table >> 6) & (NAMED - 1)]
        if not is_named(known, keyspace, table) and not self.table_has_tablets(keyspace, table):
            return None
        token = PyLong_AsLongLongAndOverflow(t if type(t) is int else t.value, &beyond)
        if beyond:
            return None
        if is_named(known, keyspace, table):
            if not known.native.find(token, found):
                return None
        elif not self.find_named(keyspace, table, token, found, known):
            return None
        return found_tablet(self.hosts, found)

    # Look up by the names themselves; every SELDOM calls the table replaces the one cached in *known*.
    cdef bint find_named(
        self, object keyspace, object table, int64_t token, FoundTablet& found, NamedTable* known
    ) except -1:
        cdef TableName name
        if not set_name(&name, keyspace, table):
            return False
        self.asked += 1
        if known.native == NULL or self.asked % SELDOM == 0:
            self.remember(known, NamedTable(<PyObject*> keyspace, <PyObject*> table, self.native.hold(name)))
        return self.native.find(name, token, found)

    cdef int remember(self, NamedTable* known, NamedTable table) except -1:
        cdef NamedTable before = known[0]
        Py_INCREF(<object> table.keyspace)
        Py_INCREF(<object> table.table)
        known[0] = table
        if before.native != NULL:
            self.native.release(before.native)
            Py_XDECREF(before.keyspace)
            Py_XDECREF(before.table)
        return 0

    cpdef bint table_has_tablets(self, keyspace, table) except -1:
        cdef TableName name
        return self.native.tables() != 0 and set_name(&name, keyspace, table) and self.native.has_tablets(name)

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
