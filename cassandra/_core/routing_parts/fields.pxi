# Attributes of objects of the upper layers that every request reads, as C fields: a lookup of an attribute by name
# takes 200 instructions, and a request had a dozen of them.
#
# The classes there derive from these, and write the fields, which are attributes in Python. Such a class must not have
# another attribute with the name of a field: it would be found in place of the field. Those classes define their own
# copying and pickling. A prepared statement does not derive from these: a program that changes the class of a
# statement, as HostTargetingStatement does, needs an object without C fields.


cdef extern from *:
    """
    #define fastcql_epoch_of(one) FASTCQL_FIELD(one, _epoch_now)
    #define fastcql_state_of(one) FASTCQL_FIELD(one, _now)
    #define fastcql_pools_of(one) FASTCQL_FIELD(one, _now)
    #define fastcql_picks_of(one) FASTCQL_FIELD(one, _now)
    #define fastcql_last_plan_of(one) FASTCQL_FIELD(one, _last)
    """
    PyObject** epoch_field "fastcql_epoch_of"(SessionFields one)
    PyObject** state_field "fastcql_state_of"(MetadataFields one)
    PyObject** pools_field "fastcql_pools_of"(PoolSetFields one)
    PyObject** picks_field "fastcql_picks_of"(PoolFields one)
    PyObject** last_plan_field "fastcql_last_plan_of"(PlanCache one)


cdef class SessionFields:
    @property
    def _settings_epoch(self):
        return load_reference(epoch_field(self))

    @_settings_epoch.setter
    def _settings_epoch(self, epoch):
        store_reference(epoch_field(self), epoch)

    cdef bint has_epoch(self, epoch) noexcept:
        """Compare the settings epoch with *epoch*, without a lock."""
        return refers_to(epoch_field(self), epoch)

    cdef object kept_or_none(self):
        with cython.critical_section(self):
            return self._kept if self._kept_in is not None and self.has_epoch(self._kept_in) else None

    def _kept_now(self):
        """Return the object cached since the last change of a session setting; None if there is none."""
        return self.kept_or_none()

    def _keep(self, found):
        self.keep_until_changed(found)

    cdef void keep_until_changed(self, found) noexcept:
        now = load_reference(epoch_field(self))
        with cython.critical_section(self):
            before, self._kept = self._kept, found
            epoch, self._kept_in = self._kept_in, now

    cpdef object _resolve_profile(self, key):
        raise NotImplementedError

    cpdef object execute_async(self, query, parameters=None):
        raise NotImplementedError


cdef class PoolSetFields:
    @property
    def pools(self):
        return load_reference(pools_field(self))

    @pools.setter
    def pools(self, dict pools not None):
        store_reference(pools_field(self), pools)


cdef dict pools_of(PoolSetFields pool_set):
    return <dict> load_reference(pools_field(pool_set))


cdef class PoolFields:
    @property
    def picks(self):
        return load_reference(picks_field(self))

    @picks.setter
    def picks(self, picks):
        store_reference(picks_field(self), picks)

    cpdef object pick(self, token=None, shard=None):
        raise NotImplementedError


cdef object picks_of(PoolFields pool):
    return load_reference(picks_field(pool))


cdef class MetadataFields:
    @property
    def state(self):
        return load_reference(state_field(self))

    @state.setter
    def state(self, state):
        store_reference(state_field(self), state)

    cdef bint has_state(self, state) noexcept:
        """Compare the state with *state*, without a lock."""
        return refers_to(state_field(self), state)


cdef class ProfileFields:
    pass


cdef class PlanCache:
    def __cinit__(self):
        self.others = {}

    @property
    def last(self):
        return last_plan_of(self)

    @last.setter
    def last(self, plan):
        store_reference(last_plan_field(self), plan)
        if self.is_discarded.load():  # tested last: discard() sets this first
            store_reference(last_plan_field(self), None)

    def discard(self):
        self.is_discarded.store(True)
        store_reference(last_plan_field(self), None)

    def __reduce__(self):
        return PlanCache, ()


cdef object last_plan_of(PlanCache cache):
    return load_reference(last_plan_field(cache))


cdef class LastUse:
    def __init__(self, double now):
        self.seconds.store(now)

    @property
    def at(self):
        return self.seconds.load()

    def note(self, double now):
        note_use(self, now)
