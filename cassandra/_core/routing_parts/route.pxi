# Routes: the hosts of a request in order, from latencies, replicas and tiers; and the plans of built-in policies.

# ---- the fields of a host that routing reads on every request: base of ``Host``

cdef extern from "routing/load.h" namespace "fastcql" nogil:
    bint less_loaded(const ShardLoad& first, const ShardLoad& second)
    bint less_loaded_of_token "fastcql::less_loaded"(const HostLoad& first, const HostLoad& second, int64_t token)


cdef enum:
    UNKNOWN = 0
    DOWN = 1
    UP = 2
    SUSPECT = 3  # up, and silent at present: last in plans


cdef class HostState:
    def __cinit__(self, *args, **kwargs):
        self.load = make_shared[HostLoad]()

    @property
    def is_up(self):
        cdef int8_t up = state_of(self)
        return None if up == UNKNOWN else up >= UP

    @is_up.setter
    def is_up(self, is_up):
        self.up.store(UNKNOWN if is_up is None else UP if is_up else DOWN, memory_order_relaxed)

    @property
    def is_suspect(self):
        return state_of(self) == SUSPECT

    @is_suspect.setter
    def is_suspect(self, bint is_suspect):
        cdef int8_t before = UP if is_suspect else SUSPECT  # no effect on a host that is not up
        self.up.compare_exchange_strong(before, SUSPECT if is_suspect else UP)

    def __hash__(self):
        return self._hash


cdef ShardLoad* load_of(HostState host, shard, token) except NULL:
    """Return the load of *shard*; if it is None, of the shard of *token*; if that is None, of the first one."""
    cdef HostLoad* load = host.load.get()
    if shard is not None:
        return &load.of_shard(<uint32_t> shard)
    return &load.of_shard(0) if token is None else &load.of_token(<int64_t> token)


def set_sharding(HostState host not None, ShardingInfo sharding):
    if sharding is None:
        host.load.get().set_sharding(1, 0)
    else:
        host.load.get().set_sharding(sharding.shards_count, sharding.sharding_ignore_msb)


def least_loaded_first(list hosts not None, list shards, token):
    cdef vector[ShardLoad*] loads
    cdef Py_ssize_t place, i
    for place, host in enumerate(hosts):
        if not isinstance(host, HostState):  # a substitute of a program
            return
        loads.push_back(load_of(<HostState> host, None if shards is None else shards[place], token))
    for place in range(1, len(hosts)):
        for i in range(place, 0, -1):
            if less_loaded(loads[i - 1][0], loads[i][0]):
                break
            loads[i - 1], loads[i] = loads[i], loads[i - 1]
            hosts[i - 1], hosts[i] = hosts[i], hosts[i - 1]


cdef inline int8_t state_of(HostState host) noexcept:
    return host.up.load(memory_order_relaxed)


@cython.final
cdef class Count:
    """A counter. Any thread."""

    cdef atomic[uint64_t] count

    cdef uint64_t number(self) noexcept:
        return self.count.load(memory_order_acquire)

    cdef uint64_t next(self) noexcept:
        """Return the number, and add one."""
        return self.count.fetch_add(1, memory_order_acq_rel)

    @property
    def value(self):
        return self.number()

    def __reduce__(self):
        return Count, ()

    def advance(self):
        return self.next()


@cython.final
@cython.freelist(16)
cdef class Target:
    def __init__(self, host, shard=None):
        self.host = host
        self.shard = shard

    def __eq__(self, other):
        if not isinstance(other, Target):
            return NotImplemented
        return self.host is (<Target> other).host and self.shard == (<Target> other).shard

    def __hash__(self):
        return hash((self.host, self.shard))

    def __repr__(self):
        return f"<Target: {self.host!r} shard {self.shard}>"


# ---- routes

cdef extern from "routing/ring.h" namespace "fastcql" nogil:
    cdef cppclass RangeLists:
        void reset(size_t ranges) except +
        const uint16_t* find(size_t range) const
        void fill(size_t range, const uint16_t* list, size_t count) except +

    cdef cppclass RandomSource:
        RandomSource()
        RandomSource(uint64_t seed)
        cppclass Two:
            size_t first, second
        size_t below(size_t count)
        Two two_below(uint32_t count)

    cdef cppclass RouteHost:
        RouteHost()
        void* host
        void* average
        void* targets
        HostLoad* load
        int8_t distance

    cdef cppclass RouteHostTable:
        int add(const RouteHost& host) except +
        const RouteHost& operator[](size_t position)
        int numbered(size_t number)
        void set_numbered(size_t number, int position) except +


cdef extern from "math.h" nogil:
    double exp2(double x)


from time import monotonic


cdef double WEIGHT = 0.2  # of a new measurement
cdef double CLEARLY = 1.5  # times another's load; hosts with closer loads share the requests
cdef double QUICK = 1e-4  # seconds; lower latencies count as this


cdef enum:
    NOT_ASKED = -2  # RouteHostTable::kUnknown
    NOT_A_MEMBER = -1
    IGNORED = -1
    NO_SHARD = -1
    MANY = 255  # replicas considered at most
    SHARDS = 1024  # places are cached for shards below this


# A moving average of latencies. It halves with every half_life without a measurement: a slow host is tried again
# eventually.
@cython.final
cdef class LatencyAverage:
    cdef double half_life, estimate, measured_at

    def __init__(self, double half_life):
        if not half_life > 0:
            raise ValueError("half_life must be positive")
        self.half_life = half_life

    def add(self, double seconds, double now):
        if seconds < 0:
            return
        with cython.critical_section(self):
            if self.estimate == 0:
                self.estimate = seconds
            else:
                self.estimate += (seconds - self.estimate) * WEIGHT
            self.measured_at = now

    cpdef double read(self, double now) noexcept:
        cdef double estimate, measured_at
        with cython.critical_section(self):
            estimate, measured_at = self.estimate, self.measured_at
        if estimate == 0 or now <= measured_at:
            return estimate
        return estimate * exp2((measured_at - now) / self.half_life)


# The hosts of a route by position. All fields are set once; tables and lists only grow, and are read without a lock.
@cython.final
cdef class RouteHosts:
    cdef Count epoch
    cdef uint64_t made_at_epoch
    cdef Count turn
    cdef object distance
    cdef object by_id
    cdef tuple predicates
    cdef _TabletHosts numbers
    cdef RouteHostTable* table
    cdef list kept  # the objects that the table refers to
    cdef dict positions  # by id() of the host
    cdef vector[vector[uint16_t]] tiers
    cdef RandomSource random
    cdef object average_of, in_flight  # None: latency is ignored
    cdef bint by_load

    def __cinit__(
        self, Count epoch, uint64_t made_at_epoch, Count turn, distance, by_id, tiers, predicates, tablets, seed,
        average_of=None, in_flight=None, bint by_load=False,
    ):
        cdef vector[uint16_t] tier
        self.table = new RouteHostTable()
        self.average_of = average_of
        self.in_flight = in_flight
        self.by_load = by_load
        self.epoch = epoch
        self.made_at_epoch = made_at_epoch
        self.turn = turn
        self.distance = distance
        self.by_id = by_id
        self.predicates = tuple(predicates)
        self.numbers = None if tablets is None else (<TabletMap?> tablets).hosts
        self.kept = []
        self.positions = {}
        self.random = RandomSource(<uint64_t> seed)
        for hosts in tiers:
            tier.clear()
            for host in hosts:
                tier.push_back(<uint16_t> self.position(host))
            self.tiers.push_back(tier)

    def __dealloc__(self):
        del self.table

    @property
    def is_current(self):
        return self.is_up_to_date()

    cdef bint is_up_to_date(self) noexcept:
        return self.epoch.number() == self.made_at_epoch

    # Return the position of *host*. Two threads may add it at the same time: then it has two positions, of which one is
    # found from then on.
    cdef int position(self, host) except -1:
        cdef object known = self.positions.get(id(host))
        cdef LatencyAverage average = None
        cdef RouteHost entry
        cdef list targets
        cdef int at
        if known is not None:
            return known
        if not isinstance(host, HostState):
            raise TypeError(f"{host!r} is not a Host")
        entry.distance = self.distance(host)
        if self.average_of is not None:
            average = <LatencyAverage?> self.average_of(host)
        targets = [Target(host)]
        entry.host = <void*> host
        entry.average = <void*> average
        entry.targets = <void*> targets
        entry.load = (<HostState> host).load.get()
        self.kept.append((host, average, targets))  # also that the host's id() stays its own
        at = self.table.add(entry)
        if at < 0:
            raise OverflowError("a route has more than 65536 hosts")
        return self.positions.setdefault(id(host), at)

    cdef HostState host(self, size_t position):
        return <HostState> self.table[0][position].host

    # Return the position of the host with this number of the tablet map; NOT_A_MEMBER if it is not a member.
    cdef int position_of(self, uint16_t number) except -3:
        cdef int found = self.table.numbered(number)
        if found == NOT_ASKED:
            host = self.by_id.get(self.numbers.name(number))
            found = NOT_A_MEMBER if host is None else self.position(host)
            self.table.set_numbered(number, found)
        return found

    cdef Target target(self, size_t position, int shard):
        cdef list known = <list> self.table[0][position].targets  # without a shard, then by shard
        cdef Target target
        if shard >= SHARDS:  # the server's value is not trusted
            return Target(self.host(position), shard)
        while shard >= len(known) - 1:
            target = Target.__new__(Target)
            target.host = self.host(position)
            target.shard = len(known) - 1
            with cython.critical_section(self):
                if len(known) - 1 == <Py_ssize_t> target.shard:  # else added by another thread meanwhile
                    known.append(target)
        return <Target> get_item(known, shard + 1)

    cdef bint is_suspect(self, size_t position) noexcept:
        return state_of(<HostState> self.table[0][position].host) == SUSPECT

    cdef bint allows(self, size_t position) except -1:
        for predicate in self.predicates:
            if not predicate(self.host(position)):
                return False
        return True

    # Return the index in *positions* of the replica to use: one of the nearest whose state is *wanted* (UP, SUSPECT),
    # the first one if *ordered*. Otherwise two of them are drawn, and the less loaded one is used: loads are those of
    # the shards of *tablet*, or of *token* if that is NULL. NOT_A_MEMBER if there is none.
    cdef int choose(
        self, const int* positions, size_t count, bint ordered, signed char wanted, const FoundTablet* tablet,
        int64_t token,
    ) except -2:
        cdef uint8_t nearest[MANY]
        cdef size_t found = 0, i
        cdef RandomSource.Two two
        cdef int best = 127, far
        for i in range(count):
            if positions[i] < 0:
                continue
            far = self.table[0][positions[i]].distance
            if far == IGNORED or far > best or state_of(<HostState> self.table[0][positions[i]].host) != wanted:
                continue
            if self.predicates and not self.allows(positions[i]):
                continue
            if far < best:
                best = far
                found = 0
            nearest[found] = <uint8_t> i
            found += 1
        if found == 0:
            return NOT_A_MEMBER
        if ordered or found == 1:
            return nearest[0]
        if self.average_of is None and self.by_load:
            two = self.random.two_below(<uint32_t> found)
            i, found = nearest[two.first], nearest[two.second]
            return <int> (i if self.is_less_loaded(positions, i, found, tablet, token) else found)
        i = self.random.below(found)
        if self.average_of is None:
            return nearest[i]
        found = (i + 1 + self.random.below(found - 1)) % found
        return nearest[i] if self.is_better(positions[nearest[i]], positions[nearest[found]]) else nearest[found]

    cdef inline bint is_less_loaded(
        self, const int* positions, size_t first, size_t second, const FoundTablet* tablet, int64_t token
    ) noexcept:
        cdef HostLoad* one = self.table[0][positions[first]].load
        cdef HostLoad* other = self.table[0][positions[second]].load
        if tablet == NULL:
            return less_loaded_of_token(one[0], other[0], token)
        return less_loaded(
            one.of_shard(replica_shard(tablet.replicas[first])), other.of_shard(replica_shard(tablet.replicas[second]))
        )

    # True unless the first is clearly slower than the second. A host without a measurement takes the other's.
    cdef bint is_better(self, size_t first, size_t second) except -1:
        cdef double now = monotonic()
        cdef double one = (<LatencyAverage> self.table[0][first].average).read(now)
        cdef double other = (<LatencyAverage> self.table[0][second].average).read(now)
        one = (one or other or QUICK) if one > QUICK or one == 0 else QUICK
        other = (other or one) if other > QUICK or other == 0 else QUICK
        return one * self.waiting(first) <= other * self.waiting(second) * CLEARLY

    cdef double waiting(self, size_t position) except -1:
        return 1 if self.in_flight is None else 1 + <double> self.in_flight(self.host(position))

    # Return the next in turn of the nearest hosts, or the faster one of it and another; None if there are none. Not a
    # suspect, unless *any_state*.
    cdef Target next_in_turn(self, bint any_state):
        cdef uint64_t turn = self.turn.number() if any_state else self.turn.next(), skipped
        cdef size_t i, j, count
        cdef uint16_t position, other
        cdef bint suspect
        for i in range(self.tiers.size()):
            count = self.tiers[i].size()
            if self.average_of is not None and count > 1:
                position = self.tiers[i][turn % count]
                other = self.tiers[i][(turn + 1 + self.random.below(count - 1)) % count]
                suspect = not any_state and (self.is_suspect(position) or self.is_suspect(other))
                if not suspect and self.allows(position) and self.allows(other):
                    return self.target(position if self.is_better(position, other) else other, NO_SHARD)
            skipped = 0
            for j in range(count):
                position = self.tiers[i][(turn + j if j == 0 else turn + 1 + (skipped + j - 1) % (count - 1)) % count]
                if not any_state and self.is_suspect(position):
                    if j == 0:
                        skipped = turn // count  # so that the others take its turns in rotation
                    continue
                if not self.predicates or self.allows(position):
                    return self.target(position, NO_SHARD)
        return None


# The replicas of the ranges of a ring among some hosts. Without a ring no token has known replicas.
@cython.final
cdef class RouteRing:
    cdef readonly RouteHosts hosts
    cdef TokenRing ring
    cdef object replicas
    cdef RangeLists lists

    def __cinit__(self, RouteHosts hosts not None, TokenRing ring=None, replicas=None):
        self.hosts = hosts
        self.ring = ring
        self.replicas = replicas
        self.lists.reset(0 if ring is None else ring.ring.size())

    # Write the positions of the replicas of *token*; return their number.
    cdef int find(self, int64_t token, int* positions) except -1:
        cdef uint16_t made[MANY]
        cdef const uint16_t* known
        cdef size_t at, count = 0, i
        if self.ring is None or self.ring.ring.size() == 0:
            return 0
        at = self.ring.ring.index(token)
        known = self.lists.find(at)
        if known == NULL:
            for host in self.replicas[at]:
                if count < MANY:
                    made[count] = <uint16_t> self.hosts.position(host)
                    count += 1
            self.lists.fill(at, made, count)
            known = self.lists.find(at)
        for i in range(known[0]):
            positions[i] = known[i + 1]
        return known[0]


cdef extern from *:
    """
    #define fastcql_routes_of(plan) FASTCQL_FIELD(plan, routes)
    """
    PyObject** routes_of "fastcql_routes_of"(RoutePlan plan)


@cython.final
cdef class RoutePlan:
    cdef RouteRing routes  # read by current()
    cdef TabletTable table
    cdef object make
    cdef bint ordered, leader_first

    def __cinit__(self, make, TabletTable table=None, bint ordered=False, bint leader_first=False):
        self.make = make
        self.table = table
        self.ordered = ordered
        self.leader_first = leader_first
        self.routes = <RouteRing?> make()

    cdef RouteRing current(self):
        cdef RouteRing routes = <RouteRing> load_reference(routes_of(self))
        if not routes.hosts.is_up_to_date():
            routes = <RouteRing?> self.make()
            store_reference(routes_of(self), routes)
        return routes

    # Return the replica of *token* to use, of those whose state is *wanted*, and its tablet if that is known. None if
    # no such replica is known.
    cdef Target replica(
        self, RouteRing routes, int64_t token, FoundTablet* found, bint* has_tablet, signed char wanted
    ):
        cdef RouteHosts hosts = routes.hosts
        cdef int positions[MANY]
        cdef int count, at, i
        has_tablet[0] = self.table is not None and self.table.native.find(token, found[0])
        if has_tablet[0]:
            count = found.count
            for i in range(count):
                positions[i] = hosts.position_of(replica_host(found.replicas[i]))
            at = NOT_A_MEMBER
            if self.leader_first and count:
                at = hosts.choose(positions, 1, True, wanted, found, token)
            if at == NOT_A_MEMBER:
                at = hosts.choose(positions, count, self.ordered, wanted, found, token)
            return None if at == NOT_A_MEMBER else hosts.target(positions[at], replica_shard(found.replicas[at]))
        count = routes.find(token, positions)
        at = hosts.choose(positions, count, self.ordered, wanted, NULL, token)
        return None if at == NOT_A_MEMBER else hosts.target(positions[at], NO_SHARD)

    # Try the hosts that are up first, and the suspects only if there are none.
    cdef Target first(self, RouteRing routes, bint routed, int64_t token, FoundTablet* found, bint* has_tablet):
        cdef Target target = None
        if routed:
            target = self.replica(routes, token, found, has_tablet, UP)
        if target is None:
            target = routes.hosts.next_in_turn(False)
        if target is None and routed:
            target = self.replica(routes, token, found, has_tablet, SUSPECT)
        return routes.hosts.next_in_turn(True) if target is None else target

    cdef Target picked(self, bint routed, int64_t token):
        cdef FoundTablet found
        cdef bint has_tablet = False
        return self.first(self.current(), routed, token, &found, &has_tablet)

    def pick(self, token):
        return self.picked(token is not None, 0 if token is None else <int64_t> token)

    def __call__(self, token):
        return self.picked(token is not None, 0 if token is None else <int64_t> token)

    def locate(self, token):
        cdef RouteRing routes = self.current()
        cdef FoundTablet found
        cdef bint has_tablet = False, routed = token is not None
        cdef Target target = self.first(routes, routed, <int64_t> token if routed else 0, &found, &has_tablet)
        return target, found_tablet(routes.hosts.numbers, found) if has_tablet else None


cdef Target target_of(route, bint routed, int64_t token):
    if type(route) is RoutePlan:
        return (<RoutePlan> route).picked(routed, token)
    return route(token if routed else None)


@cython.final
cdef class SuspectsLast:
    cdef object plan
    cdef list suspects

    def __init__(self, plan):
        self.plan = iter(plan)

    def __iter__(self):
        return self

    def __next__(self):
        if self.plan is not None:
            for host in self.plan:
                if not isinstance(host, HostState) or state_of(<HostState> host) != SUSPECT:
                    return host
                if self.suspects is None:
                    self.suspects = []
                self.suspects.append(host)
            self.plan = None
        if not self.suspects:
            raise StopIteration
        return self.suspects.pop(0)


# ---- plans of built-in policies for make_query_plan() and for retries after a failure: iterators of hosts


@cython.final
@cython.freelist(16)
cdef class Rotation:
    cdef tuple hosts
    cdef Py_ssize_t at, left

    def __init__(self, tuple hosts not None, turn):
        self.begin(hosts, turn)

    cdef int begin(self, tuple hosts, uint64_t turn) except -1:
        self.hosts = hosts
        self.left = PyTuple_GET_SIZE(hosts)
        self.at = <Py_ssize_t> (turn % <uint64_t> self.left) if self.left else 0
        return 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.left <= 0:
            raise StopIteration
        return self.step()

    cdef object step(self):
        cdef Py_ssize_t at = self.at
        self.left -= 1
        self.at = at + 1 if at + 1 < PyTuple_GET_SIZE(self.hosts) else 0
        return <object> PyTuple_GET_ITEM(self.hosts, at)

    def __length_hint__(self):
        return max(0, self.left)


@cython.final
@cython.freelist(16)
cdef class TierPlan:
    cdef Rotation tier
    cdef tuple keys
    cdef object hosts_of, far_keys
    cdef uint64_t turn
    cdef Py_ssize_t number

    def __init__(self, tuple near not None, far_keys, hosts_of, turn):
        self.keys = near
        self.far_keys = far_keys
        self.hosts_of = hosts_of
        self.turn = turn
        self.tier = Rotation.__new__(Rotation)

    def __iter__(self):
        return self

    def __next__(self):
        while self.tier.left <= 0:
            if self.number >= PyTuple_GET_SIZE(self.keys):
                if self.far_keys is None:
                    raise StopIteration
                self.keys, self.far_keys, self.number = <tuple?> self.far_keys(), None, 0
                continue
            self.number += 1
            self.tier.begin(<tuple?> self.hosts_of(<object> PyTuple_GET_ITEM(self.keys, self.number - 1)), self.turn)
        return self.tier.step()


@cython.final
@cython.freelist(16)
cdef class ReplicasFirst:
    cdef list replicas
    cdef object policy, wanted, plan_of, rest
    cdef object first  # the first host given
    cdef Py_ssize_t number
    cdef set tried  # set from the second host on

    def __init__(self, list replicas not None, plan_of, policy, wanted):
        self.replicas = replicas
        self.plan_of = plan_of
        self.policy = policy
        self.wanted = wanted

    def __iter__(self):
        return self

    def __next__(self):
        while self.number < len(self.replicas):
            host = self.replicas[self.number]
            self.number += 1
            if not is_up(host):
                continue
            if self.first is None:
                self.first = host
                return host
            if self.tried is None:
                self.tried = {self.first}
            if host not in self.tried:
                self.tried.add(host)
                return host
        if self.rest is None:
            self.rest = iter(self.plan_of(self.policy, self.wanted))
        if self.tried is None:
            self.tried = set() if self.first is None else {self.first}
        for host in self.rest:
            if host not in self.tried:
                return host
        raise StopIteration


cdef inline bint is_up(host) except -1:
    return state_of(<HostState> host) >= UP if isinstance(host, HostState) else bool(host.is_up)
