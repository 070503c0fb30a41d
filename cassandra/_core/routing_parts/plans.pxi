# Plans of built-in policies for make_query_plan() and for retries after a failure: iterators of hosts.


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
    return (<HostState> host).up >= UP if isinstance(host, HostState) else bool(host.is_up)
