# C fields and functions that other extensions use for every request.
from libc.stdint cimport int64_t
from libcpp cimport bool as cbool
from libcpp.atomic cimport atomic


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
