# What every request looks at in objects of the upper layers, as fields in C: to look an attribute up by its name takes 200
# instructions, and a request looked a dozen of them up.
#
# The classes there derive from these, and write the fields as the attributes that they are to Python. An attribute of such
# a class must not have the name of a field: it would be found in the place of it. Copies and pickles are those classes' own
# affair. A prepared statement is none of them: whoever gives a statement another class, as HostTargetingStatement does, needs
# it to be an ordinary object.


@cython.auto_pickle(False)
cdef class SessionFields:
    cdef object kept_so_far(self):
        return self._kept if self._kept_in is not None and self._kept_in is self._scope else None

    def kept(self):
        """What was kept since anything was set on the session last; None if nothing was."""
        return self.kept_so_far()

    def keep(self, found):
        self._kept = found
        self._kept_in = self._scope


@cython.auto_pickle(False)
cdef class PoolSetFields:
    pass


@cython.auto_pickle(False)
cdef class PoolFields:
    pass


@cython.auto_pickle(False)
cdef class MetadataFields:
    pass


@cython.auto_pickle(False)
cdef class ProfileFields:
    pass


cdef class CompiledCache:
    def __cinit__(self):
        self.others = {}

    def __reduce__(self):
        return CompiledCache, ()
