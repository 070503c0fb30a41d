cdef extern from "routing/tablets_map.h" namespace "fastcql":
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
