# Writes: rows of Arrow batches as requests, many under one operation; cpp/transport/writes.h has the states of a write.
#
# One thread at a time submits and takes outcomes: that of a caller, or of an asyncio loop. The I/O thread delivers
# outcomes, as to any operation. A void result without extras ends a write here. Any other outcome is appended to
# ``ended``, its write is held, and Python code decides: ``resend``, ``frame`` (its rows continue as requests of their
# own) or ``close``.

cdef enum:
    VOID = 1
    MAX_BATCH_ROWS = 0x7FFFFFFF  # rows of a batch
    MAX_SELECTIONS = 3  # selections of a host, until one has room

cdef enum Launch:
    ALL_LAUNCHED
    NO_ROWS
    NO_ROOM
    NOT_SENT

cdef enum:
    FIRST_WINDOW = 32  # initial limit of writes in flight to a host

LAUNCHED = <int> ALL_LAUNCHED
AT_END = <int> NO_ROWS
FULL = <int> NO_ROOM
HELD = <int> NOT_SENT


@cython.final
cdef class WriteSender:
    """A connection that writes were sent by, with its pool and host."""

    cdef readonly object host
    cdef readonly object pool
    cdef readonly ConnectionBase connection
    cdef HostWindow window
    cdef uint32_t number
    cdef readonly Py_ssize_t in_flight

    cdef bint has_room(self):
        cdef Channel channel = self.connection.direct
        if channel is not None and channel.core.is_window_full():
            return False
        return self.window is None or self.window.window.has_room()


cdef class Writes(ManyRequestsBase):
    cdef WriteTable table
    cdef Sources sources
    cdef WriteFrames* frames
    cdef WriteFrames* repeated
    cdef list kept  # the Rows of sources, oldest first
    cdef list senders
    cdef dict sender_of  # by connection
    cdef object route
    cdef object not_sent
    cdef object dialect
    cdef object block
    cdef object timestamps
    cdef object on_ahead  # called when the clock is ahead of the system time
    cdef TimestampClock clock
    cdef int64_t stamp  # timestamp of the last write
    cdef bint counts_timestamps
    cdef bint routed
    cdef double timeout
    cdef size_t most  # limit of open writes
    cdef bint pending  # frames has a request without a write
    cdef uint32_t source
    cdef int64_t first  # number of the first row of the source
    cdef readonly int64_t reached
    cdef readonly int64_t done
    cdef readonly int64_t encoded
    cdef RequestObserver observer  # None if there is none
    cdef readonly object slow  # a deque of slow writes that have ended, for the observer

    def __dealloc__(self):
        del self.frames
        del self.repeated

    def _begin(self, not_sent, int64_t most, bint adaptive, timestamp):
        self.not_sent = not_sent
        self.kept = []
        self.senders = []
        self.sender_of = {}
        self.slow = _deque()
        self.most = most
        if adaptive:
            self.windows = {}
            self.first_window = FIRST_WINDOW
        self.counts_timestamps = timestamp is not None
        if self.counts_timestamps:
            self.stamp = <int64_t> timestamp - 1
        self.routed = True

    def _compile(
        self, head, values, tail, batch_head, entry, batch_tail, size_t max_rows, size_t max_bytes, size_t overhead,
    ):
        cdef WriteParts parts
        parts.head = head
        parts.values = values
        parts.tail = tail
        parts.batch_head = batch_head
        parts.entry = entry
        parts.batch_tail = batch_tail
        parts.max_rows = max_rows
        parts.max_bytes = max_bytes
        parts.overhead = overhead
        if self.frames != NULL:
            raise RuntimeError("the requests are compiled already")
        self.frames = new WriteFrames(parts)
        self.repeated = new WriteFrames(parts)

    def _direct(self, route, dialect, block, timeout, timestamps, clock, on_ahead, uint32_t max_per_host):
        self.route = route
        self.dialect = dialect
        self.block = block
        self.timeout = limit_of(timeout)
        self.timestamps = timestamps
        self.clock = clock
        self.on_ahead = on_ahead
        self.max_per_host = max_per_host

    def _observe(self, RequestObserver observer):
        self.observer = observer

    cdef int observe_end(self, Write* write, Nanos arrived, error) except -1:
        """Append *write*, which has ended, to ``slow`` if it was slow."""
        cdef double began = <double> write.began / <double> SECOND
        if not self.observer.is_slow(arrived, began):
            return 0
        cdef double end = <double> (arrived if arrived else monotonic_now()) / <double> SECOND
        host = (<WriteSender> self.senders[write.sender]).host if write.attempts > 0 else None
        self.slow.append((write.attempts, host, error, end - began))
        return 0

    # ---- sources

    def add(self, rows):
        cdef RowSource* source
        if not self.at_end:
            raise RuntimeError("earlier rows have not been sent yet")
        source = <RowSource*> PyCapsule_GetPointer(rows._source(), "fastcql_row_source")
        self.routed = rows.has_tokens
        self.first = self.reached
        if source.rows() == 0:
            return
        if source.rows() > MAX_BATCH_ROWS:
            raise ValueError(f"a batch of {source.rows()} rows is too large; the limit is {MAX_BATCH_ROWS}")
        self.source = self.sources.add(source, self.first)
        self.kept.append(rows)
        self.frames.begin(source)

    cdef int count_written(self, Write* write, uint32_t written) except -1:
        self.done += written
        self.sources.done(write.source, write.count)
        while self.sources.drop():
            del self.kept[0]
            if not self.kept:
                self.frames.begin(NULL)
        return 0

    @property
    def at_end(self):
        return not self.pending and self.frames.at_end()

    @property
    def open(self):
        return self.table.open_count()

    # ---- sending

    def launch(self, Py_ssize_t count):
        cdef FrameResult made
        cdef int status
        while count > 0:
            if self.table.open_count() >= self.most:
                return NO_ROOM
            if not self.pending:
                made = self.frames.make()
                if made == FrameResult.End:
                    return NO_ROWS
                if made == FrameResult.Failed:
                    self.hold_unencodable()
                    return NOT_SENT
                self.pending = True
            status = self.launch_pending()
            if status != ALL_LAUNCHED:
                return status
            count -= 1
        return ALL_LAUNCHED

    cdef int hold_unencodable(self) except -1:
        """Open a held write for the next row, which cannot be encoded, and append it to ``ended``."""
        cdef SourceEntry* entry = self.sources.find(self.source)
        cdef const string* text = &entry.source.failure()
        cdef uint32_t number
        cdef Write* write
        if text.empty() or self.frames.out_of_memory():
            raise MemoryError("no memory for a request of an ingest")
        number = self.table.open()
        write = self.table.find(number)
        write.row = entry.first + <int64_t> self.frames.at()
        write.count = 1
        write.source = self.source
        write.at = <uint32_t> self.frames.at()
        self.reached = write.row + 1
        self.ended.append((number, text_of(text[0]), None))
        return 0

    cdef int launch_pending(self) except -1:
        cdef int64_t token = self.frames.token()
        cdef uint32_t number
        cdef Write* write
        cdef int tries
        cdef WriteSender sender = None
        for tries in range(MAX_SELECTIONS):
            sender = self.select_sender(token)
            if sender is None or sender.has_room():
                break
        else:
            return NO_ROOM
        number = self.table.open()
        write = self.table.find(number)
        write.at = <uint32_t> self.frames.at()
        write.row = self.first + <int64_t> write.at
        write.count = <uint16_t> self.frames.count()
        write.source = self.source
        write.token = token
        self.pending = False
        self.reached = write.row + write.count
        write.timestamp = self.next_timestamp()
        write.began = monotonic_now()
        if not self.frames.close(write.timestamp, self.block_of(token)):
            raise MemoryError("no memory for a request of an ingest")
        self.encoded += self.frames.size()
        if sender is None:
            self.ended.append((number, None, None))
            return NOT_SENT
        return self.submit(number, sender, self.frames)

    cdef int64_t next_timestamp(self) except? -1:
        """Return a timestamp that is later than the one before, from any source."""
        cdef int64_t now
        if self.counts_timestamps:
            self.stamp += 1
            return self.stamp
        if self.clock is not None:
            now = self.clock.step()
            if self.clock.lead.load(memory_order_relaxed) != 0:
                self.on_ahead()
        else:
            now = self.timestamps()
        self.stamp = now if now > self.stamp else self.stamp + 1
        return self.stamp

    cdef int block_of(self, int64_t token) except -2:
        return -1 if self.block is None else self.block(token if self.routed else None)

    cdef WriteSender select_sender(self, int64_t token):
        """Return the connection for a token; None if none accepts requests now."""
        cdef Target target = target_of(self.route, self.routed, token)
        if target is None:
            return None
        pool = pool_of(self.pool_set, target.host)
        if pool is None:
            return None
        try:
            connection = connection_of(<PoolFields?> pool, self.routed, token, target.shard)
        except self.not_sent:
            return None
        return self.sender_of_connection(target.host, pool, connection)

    cdef WriteSender sender_of_connection(self, host, pool, ConnectionBase connection):
        cdef WriteSender sender = <WriteSender> self.sender_of.get(connection)
        if sender is not None:
            return sender
        if connection.dialect is not self.dialect:
            return None
        sender = WriteSender.__new__(WriteSender)
        sender.host = host
        sender.pool = pool
        sender.connection = connection
        sender.window = self.window_of(host)
        self.add_sender(sender)
        return sender

    cdef int add_sender(self, WriteSender sender) except -1:
        """Add a connection, in place of a closed one if there is one: an endless stream outlives many connections."""
        cdef WriteSender old
        for index in range(len(self.senders)):
            old = <WriteSender> self.senders[index]
            if old.in_flight == 0 and old.connection.closed():
                del self.sender_of[old.connection]
                self.senders[index] = sender
                sender.number = <uint32_t> index
                self.sender_of[sender.connection] = sender
                return 0
        sender.number = <uint32_t> len(self.senders)
        self.senders.append(sender)
        self.sender_of[sender.connection] = sender
        return 0

    cdef int submit(self, uint32_t number, WriteSender sender, WriteFrames* frames) except -1:
        cdef Write* write = self.table.find(number)
        cdef SubmitResult submitted
        write.sender = sender.number
        write.state = WriteState.InFlight
        write.attempts += 1
        write.stream = -1
        self.reactor = sender.connection.reactor
        try:
            if sender.connection.direct is None:
                frame = PyBytes_FromStringAndSize(<const char*> frames.data(), <Py_ssize_t> frames.size())
                timeout = None if self.timeout == NO_TIMEOUT else self.timeout
                sender.connection.put(frame, self, number, timeout, True, &submitted)
            else:
                submitted = sender.connection.direct.put_bytes(
                    frames.data(), frames.size(), self, number, self.timeout, True
                )
            write.stream = submitted.stream
            write.sent = submitted.started
        except self.not_sent as error:
            write.state = WriteState.Held
            self.ended.append((number, error, sender))
            return NOT_SENT
        except Exception as error:
            if sender.connection.direct is None or isinstance(error, MemoryError):  # else raised by a signal handler
                write.state = WriteState.Held
            raise
        finally:  # a signal handler's exception is raised after the submit
            if write.state == WriteState.InFlight:
                sender.in_flight += 1
                self.count += 1
                if sender.window is not None:
                    sender.window.window.sent()
        return ALL_LAUNCHED

    def resend(self, uint32_t number):
        cdef Write* write = self.held_write(number)
        cdef WriteSender sender = self.select_sender(write.token)
        if sender is None:
            self.ended.append((number, None, None))
            return NOT_SENT
        if not sender.has_room():
            return NO_ROOM
        self.build_again(write)
        return self.submit(number, sender, self.repeated)

    def resend_by(self, uint32_t number, host, pool, connection):
        cdef Write* write = self.held_write(number)
        cdef WriteSender sender = self.sender_of_connection(host, pool, connection)
        if sender is None:
            return False
        self.build_again(write)
        self.submit(number, sender, self.repeated)
        return True

    cdef int build_again(self, Write* write) except -1:
        cdef SourceEntry* entry = self.sources.find(write.source)
        cdef FrameResult made = self.repeated.build_again(entry.source[0], write.at, write.count)
        if made != FrameResult.Request or not self.repeated.close(
            write.timestamp, self.block_of(write.token)
        ):
            raise MemoryError("no memory for a request of an ingest")
        return 0

    cdef Write* held_write(self, uint32_t number) except NULL:
        cdef Write* write = self.table.find(number)
        if write == NULL or write.state != WriteState.Held:
            raise ValueError(f"write {number} is not held")
        return write

    def frame(self, uint32_t number, uint32_t index):
        cdef Write* write = self.held_write(number)
        cdef SourceEntry* entry = self.sources.find(write.source)
        cdef int64_t token
        if self.repeated.build_again(entry.source[0], write.at + index, 1) != FrameResult.Request:
            raise MemoryError("no memory for a request of an ingest")
        token = self.repeated.token()
        routing = token if self.routed else None
        if not self.repeated.close(write.timestamp, self.block_of(routing)):
            raise MemoryError("no memory for a request of an ingest")
        frame = PyBytes_FromStringAndSize(<const char*> self.repeated.data(), <Py_ssize_t> self.repeated.size())
        return frame, routing

    # ---- outcomes

    cdef int take_outcome(self, Outcome& outcome) except -1:
        cdef uint32_t number = outcome.attempt
        cdef Write* write = self.table.find(number)
        cdef WriteSender sender
        if write == NULL or write.state != WriteState.InFlight:
            return 0
        sender = <WriteSender> self.senders[write.sender]
        sender.in_flight -= 1
        self.count -= 1
        if is_void(outcome):
            if sender.window is not None:
                sender.window.window.answered()
            if self.observer is not None:
                self.observe_end(write, outcome.arrived, None)
            self.count_written(write, write.count)
            self.table.close(number)
            return 0
        if sender.window is not None:
            sender.window.window.gone()
        write.state = WriteState.Held
        if outcome.failure.get() != NULL and outcome.failure.get().sent:
            write.in_doubt = True
        self.ended.append((number, wrap_outcome(outcome), sender))
        return 0

    def close(self, uint32_t number, uint32_t written, error=None):
        cdef Write* write = self.held_write(number)
        if self.observer is not None:
            self.observe_end(write, 0, error)
        self.count_written(write, written)
        self.table.close(number)

    def about(self, uint32_t number):
        cdef Write* write = self.table.find(number)
        if write == NULL:
            return None
        age = <double> (monotonic_now() - write.began) / <double> SECOND
        return write.row, write.count, write.attempts, write.token if self.routed else None, age

    def orphan(self, uint32_t number):
        cdef Write* write = self.table.find(number)
        cdef WriteSender sender
        if write == NULL or write.state != WriteState.InFlight or write.stream < 0:
            return False
        sender = <WriteSender> self.senders[write.sender]
        if not sender.connection.orphan(write.stream, self, number):
            return False
        write.state = WriteState.Held
        write.in_doubt = True
        sender.in_flight -= 1
        self.count -= 1
        if sender.window is not None:
            sender.window.window.gone()
        return True

    def congested(self, uint32_t number):
        cdef Write* write = self.held_write(number)
        cdef HostWindow window = (<WriteSender> self.senders[write.sender]).window
        if window is not None:
            window.window.congested(write.sent, monotonic_now())

    def doubt(self, uint32_t number):
        self.held_write(number).in_doubt = True

    def is_in_doubt(self, uint32_t number):
        return self.held_write(number).in_doubt

    def unfinished(self):
        cdef list found = []
        cdef uint32_t number
        cdef Write* write
        for number in range(self.table.size()):
            write = self.table.find(number)
            if write != NULL:
                found.extend(range(write.row, write.row + write.count))
        found.sort()
        return found

    def abandon(self):
        cdef uint32_t number
        self._finish()
        for number in range(self.table.size()):
            self.table.close(number)
        self.ended.clear()
        if self.frames != NULL:
            self.frames.begin(NULL)
        self.pending = False
        self.sources.clear()
        self.kept.clear()
        self.senders.clear()
        self.sender_of.clear()
        self.route = self.reactor = None


cdef bint is_void(Outcome& outcome) noexcept:
    """True for a void result without extras, or for a compressed response to a write that is not an error."""
    if outcome.failure.get() != NULL or not outcome.hot:
        return False
    if outcome.frame.flags & 1 and outcome.frame.version < 5:
        return True
    return load32(outcome.frame.body) == VOID
