# Attributes of objects of the upper layers that every request reads, as C fields: a lookup of an attribute by name
# takes 200 instructions, and a request had a dozen of them.
#
# The classes there derive from these, and write the fields, which are attributes in Python. Such a class must not have
# another attribute with the name of a field: it would be found in place of the field. Those classes define their own
# copying and pickling. A prepared statement does not derive from these: a program that changes the class of a
# statement, as HostTargetingStatement does, needs an object without C fields.


cdef class SessionFields:
    cdef object kept_so_far(self):
        with cython.critical_section(self):
            return self._kept if self._kept_in is not None and self._kept_in is self._settings_epoch else None

    def kept(self):
        """Return the object cached since the last change of a session setting; None if there is none."""
        return self.kept_so_far()

    def keep(self, found):
        self.keep_until_changed(found)

    cdef void keep_until_changed(self, found) noexcept:
        with cython.critical_section(self):
            before, self._kept = self._kept, found
            epoch, self._kept_in = self._kept_in, self._settings_epoch

    cpdef object _resolve_profile(self, key):
        raise NotImplementedError

    cpdef object execute_async(self, query, parameters=None):
        raise NotImplementedError


cdef class PoolSetFields:
    pass


cdef class PoolFields:
    cpdef object pick(self, token=None, shard=None):
        raise NotImplementedError


cdef class MetadataFields:
    pass


cdef class ProfileFields:
    pass


cdef class PlanCache:
    def __cinit__(self):
        self.others = {}

    def __reduce__(self):
        return PlanCache, ()
