# C fields and functions that other extensions use for every request.
from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t
from libcpp cimport bool as cbool
from libcpp.atomic cimport atomic, memory_order_relaxed
from libcpp.memory cimport shared_ptr


cdef extern from "routing/load.h" namespace "fastcql" nogil:
    cdef cppclass ShardLoad:
        atomic[int32_t] in_flight

    cdef cppclass HostLoad:
        void set_sharding(uint32_t shards, uint32_t ignore_msb) except +
        ShardLoad& of_shard(uint32_t shard)
        ShardLoad& of_token(int64_t token)


# The fields of a host that every request reads: base of ``Host``.
cdef class HostState:
    cdef atomic[int8_t] up
    cdef public Py_hash_t _hash
    cdef shared_ptr[HostLoad] load


# The load of *shard*; if it is None, of the shard of *token*; if that is None, of the first one.
cdef ShardLoad* load_of(HostState host, shard, token) except NULL


cdef class Target:
    cdef readonly object host
    cdef readonly object shard


# ``route(token)``, or ``route(None)`` if not *routed*; *route* is nearly always a RoutePlan.
cdef Target target_of(route, bint routed, int64_t token)


cdef class SessionFields:
    cdef object _epoch_now  # ._settings_epoch
    cdef public object _pool_set
    cdef object _kept
    cdef object _kept_in  # the settings epoch at keep()
    cdef public object _reactor  # of its cluster
    cdef public object _on_io_thread  # returns True on the I/O thread of that
    cdef object kept_or_none(self)
    cdef void keep_until_changed(self, found) noexcept
    cdef bint has_epoch(self, epoch) noexcept
    cpdef object _resolve_profile(self, key)
    cpdef object execute_async(self, query, parameters=*)


# Attributes that threads read while another replaces them: see cpython/references.h.

cdef class PoolSetFields:
    cdef object _now  # .pools


cdef class PoolFields:
    cdef object _now  # .picks
    cpdef object pick(self, token=*, shard=*)


cdef dict pools_of(PoolSetFields pool_set)
cdef object picks_of(PoolFields pool)


cdef class MetadataFields:
    cdef object _now  # .state
    cdef bint has_state(self, state) noexcept


cdef class ProfileFields:
    cdef public int64_t _version


cdef class PlanCache:
    cdef public object place
    cdef object _last  # .last
    cdef public dict others
    cdef atomic[cbool] is_discarded  # no plan is kept any more


cdef object last_plan_of(PlanCache cache)


# When a prepared statement was sent last, by the monotonic clock; shared by its copies and all of its plans.
cdef class LastUse:
    cdef atomic[double] seconds


cdef inline void note_use(LastUse use, double now) noexcept:
    """Record a use. One within a second of the last recorded one writes nothing: threads do not share the line."""
    if now - use.seconds.load(memory_order_relaxed) >= 1.0:
        use.seconds.store(now, memory_order_relaxed)
