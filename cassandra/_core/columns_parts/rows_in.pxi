# IngestPlan, RowReader, Rows: rows of Arrow arrays as the bound values of a prepared statement.

cdef extern from "base/bytes.h" namespace "fastcql" nogil:
    cdef cppclass ByteBuffer:
        ByteBuffer()
        size_t size()
        uint8_t* data()
        void put(const void* bytes, size_t n)

cdef extern from "base/row_source.h" namespace "fastcql" nogil:
    cdef cppclass RowSource:
        size_t rows()
        cbool write(size_t row, ByteBuffer& out, int64_t& token)
        cbool same_partition(size_t left, size_t right)
        const string& failure()

cdef extern from "ingest/source.h" namespace "fastcql::ingest" nogil:
    cdef enum class Cql "fastcql::ingest::Cql":
        Vector
        Encrypted
    cdef enum class Rounding "fastcql::ingest::Rounding":
        Refuse
        Floor
        Nearest
    cdef cppclass Target "fastcql::ingest::Target":
        Target() except +
        Cql cql
        Rounding rounding
        int32_t dimensions
        int64_t element
        string name
        string text
        vector[Target] children

cdef extern from "ingest/rows.h" namespace "fastcql::ingest" nogil:
    cdef cppclass TargetColumn "fastcql::ingest::Column":
        Target target
        cbool is_required
    cdef struct ClusteringColumn "fastcql::ingest::Clustering":
        int32_t column
        cbool by_bytes
    cdef cppclass WritePlan "fastcql::ingest::Plan":
        WritePlan() except +
        vector[TargetColumn] columns
        vector[int32_t] key
        vector[ClusteringColumn] clustering
        cbool has_tokens
        cbool nulls_are_unset
    cdef cppclass Reading "fastcql::ingest::Reading":
        cbool is_of(const ArrowSchema& schema, const vector[string]& encoded) except +
    shared_ptr[const Reading] make_reading "fastcql::ingest::Reading::make"(
        shared_ptr[WritePlan] plan, const ArrowSchema& schema, cbool others_are_ignored, const vector[string]& encoded,
        vector[string]& problems
    ) except +

cdef extern from "ingest/rows.h" namespace "fastcql::ingest" nogil:
    cbool is_compared_by_bytes(const Target& target)

cdef extern from "ingest/rows.h" namespace "fastcql::ingest" nogil:
    cdef cppclass Sealer "fastcql::ingest::Sealer":
        void* owner
        cbool (*seal)(void*, size_t, const uint8_t*, size_t, ByteBuffer&, string&) noexcept nogil
    cdef cppclass ArrowRows "fastcql::ingest::Rows" (RowSource):
        void seal_by(const Sealer& sealer)
        void refuse(int64_t row, string why) except +
        @staticmethod
        ArrowRows* make(shared_ptr[const Reading] reading, ArrowArray& array, int64_t first, string& problem) except +


cdef class IngestPlan:
    cdef shared_ptr[WritePlan] native
    cdef readonly tuple names
    cdef tuple ciphers  # of encrypted columns; None for others
    cdef RowReader last  # the last reader

    def __cinit__(self, columns, *, partition_key=(), clustering=(), nulls="unset", tokens=True, round="error"):
        cdef TargetColumn* column
        cdef ClusteringColumn part
        cdef WritePlan* plan
        if nulls not in ("unset", "null"):
            raise ValueError(f'nulls must be "unset" or "null", got {nulls!r}')
        roundings = ["error", "floor", "nearest"]  # in the order of Rounding
        if round not in roundings:
            raise ValueError(f'round must be "error", "floor" or "nearest", got {round!r}')
        cdef Rounding rounding = <Rounding><int>roundings.index(round)
        columns = list(columns)
        partition_key, clustering = list(partition_key), list(clustering)
        required = set(partition_key).union(clustering)
        self.names = tuple([name for name, _ in columns])
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"columns must have different names, got {self.names!r}")
        missing = sorted(required.difference(self.names))
        if missing:
            raise ValueError(f"columns of the primary key are missing: {', '.join(missing)}")
        self.native = make_shared[WritePlan]()
        plan = self.native.get()
        plan.columns.resize(len(columns))
        self.ciphers = tuple([codec.cipher for _, codec in columns])
        for i, (name, codec) in enumerate(columns):
            column = &plan.columns[<size_t>i]
            column.is_required = name in required
            set_target(&column.target, name, codec, rounding)
            if name in clustering:
                part.column = <int32_t>i
                part.by_bytes = is_compared_by_bytes(column.target)
                plan.clustering.push_back(part)
        for name in partition_key:
            plan.key.push_back(self.names.index(name))
        plan.has_tokens = bool(tokens and partition_key)
        plan.nulls_are_unset = nulls == "unset"

    def __len__(self):
        return len(self.names)

    def __repr__(self):
        return f"<IngestPlan {', '.join(self.names)}>"

    def reader(self, schema, *, others="error", encoded=()):
        cdef vector[string] problems
        cdef vector[string] encoded_names
        cdef RowReader reader = load_reference(last_reader_of(self))
        cdef ArrowSchema* found = schema_of(schema)
        if others not in ("error", "ignore"):
            raise ValueError(f'others must be "error" or "ignore", got {others!r}')
        cdef bint ignored = others == "ignore"
        for name in encoded:
            encoded_names.push_back((<str>name).encode())
        if reader is not None and reader.ignores == ignored and reader.native.get().is_of(found[0], encoded_names):
            return reader
        reader = RowReader.__new__(RowReader)
        reader.plan = self
        reader.ignores = ignored
        reader.native = make_reading(self.native, found[0], ignored, encoded_names, problems)
        if reader.native.get() == NULL:
            lines = [text_at_index(problems, i) for i in range(problems.size())]
            raise ValueError("the data does not fit the table:\n" + "\n".join([f"  {line}" for line in lines]))
        store_reference(last_reader_of(self), reader)
        return reader


cdef extern from *:
    """
    #define fastcql_last_reader_of(plan) FASTCQL_FIELD(plan, last)
    """
    PyObject** last_reader_of "fastcql_last_reader_of"(IngestPlan plan)


cdef str text_at_index(const vector[string]& texts, size_t i):
    return PyBytes_FromStringAndSize(texts[i].data(), <Py_ssize_t>texts[i].size()).decode(errors="replace")


cdef int set_target(Target* target, name, codec, Rounding rounding) except -1:
    """Set *target* to the CQL type of *codec*."""
    cdef size_t i = 0
    inner = None if codec.stored is None else getattr(codec.cipher, "inner", None)
    target.name = name.encode()
    target.text = codec.cql().encode()
    target.element = codec.element_size
    target.dimensions = codec.dimensions
    target.rounding = rounding
    if codec.stored is not None:
        target.cql = Cql.Encrypted
        if inner is not None:
            target.text = inner.cql().encode()
            target.children.resize(1)
            set_target(&target.children[0], name, inner, rounding)
        return 0
    if codec.dimensions:
        target.cql = Cql.Vector
    else:
        target.cql = <Cql><int>codec.kind
    names = codec.field_names or [""] * len(codec.children)
    target.children.resize(len(codec.children))
    for field, child in zip(names, codec.children):
        set_target(&target.children[i], field, child, rounding)
        i += 1
    return 0


cdef class RowReader:
    cdef readonly IngestPlan plan
    cdef bint ignores
    cdef shared_ptr[const Reading] native

    def __init__(self):
        raise TypeError("use IngestPlan.reader() to make readers")

    def rows(self, array, *, int64_t first=0, refused=None):
        cdef string problem
        cdef Sealer sealer
        cdef Rows rows
        cdef ArrowArray* found = array_of(array)
        cdef ArrowRows* source = ArrowRows.make(self.native, found[0], first, problem)
        if source == NULL:
            raise ValueError((<bytes>problem).decode(errors="replace"))
        rows = Rows.__new__(Rows)
        rows.source = source
        rows.ciphers = self.plan.ciphers
        sealer.owner = <void*>rows.ciphers
        sealer.seal = seal_value
        source.seal_by(sealer)
        for row, why in (refused or {}).items():
            source.refuse(row, (<str>why).encode(errors="backslashreplace"))
        rows.has_tokens = self.plan.native.get().has_tokens
        return rows


cdef cbool seal_value(
    void* owner, size_t column, const uint8_t* p, size_t n, ByteBuffer& out, string& why
) noexcept with gil:
    """Append the stored form of a value of an encrypted column."""
    try:
        sealed = (<tuple>owner)[column].seal(PyBytes_FromStringAndSize(<const char*>p, <Py_ssize_t>n))
        if not isinstance(sealed, bytes):
            raise TypeError(f"seal() returned {type(sealed).__name__} instead of bytes")
        out.put(<const char*>sealed, <size_t>len(sealed))
        return True
    except BaseException as error:
        text = b"its cipher failed: " + text_of_error(error)
        why = text
        raise_stored(error)
        return False


cdef class Rows:
    cdef RowSource* source  # owned; never NULL once made
    cdef readonly bint has_tokens
    cdef tuple ciphers

    def __init__(self):
        raise TypeError("use RowReader.rows() to make rows")

    def __dealloc__(self):
        del self.source

    def __len__(self):
        return <Py_ssize_t>self.source.rows()

    def encode(self, Py_ssize_t row):
        cdef ByteBuffer out
        cdef int64_t token = 0
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} is out of range: there are {len(self)} rows")
        if not self.source.write(<size_t>row, out, token):
            problem = &self.source.failure()
            if problem.empty():
                raise MemoryError()
            text = PyBytes_FromStringAndSize(<const char*>problem.data(), <Py_ssize_t>problem.size())
            raise ValueError((<bytes>text).decode(errors="replace"))
        data = PyBytes_FromStringAndSize(<const char*>out.data(), <Py_ssize_t>out.size())
        return data, (token if self.has_tokens else None)

    def same_partition(self, Py_ssize_t left, Py_ssize_t right):
        if not 0 <= min(left, right) <= max(left, right) < len(self):
            raise IndexError(f"rows {left} and {right} are out of range: there are {len(self)} rows")
        return self.source.same_partition(<size_t>left, <size_t>right)

    def _source(self):
        """Return a capsule of the RowSource, valid as long as this object lives, for the transport."""
        return PyCapsule_New(self.source, "fastcql_row_source", NULL)
