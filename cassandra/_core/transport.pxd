# Functions that other extensions call for every request.

# ``ExecutePlanBase.send`` of *plan*, with values only; *row_factory* replaces that of the profile if it is not None. None
# if the request needs the slow path.
cdef object request_of(plan, session, prepared, values, row_factory)

# Waits for *request* and returns its outcome: ``(rows, error, (plan, paging_state, extras, kept), page)``. Raises its
# exception. The rows are decoded when rows_of() is called.
cdef tuple outcome_of(request)
cdef object rows_of(tuple outcome)

# The rows of the page of *result*, an Answer, and its plan.
cdef tuple page_of(result)

# Sets the row factory of *future*, a Request that has not ended.
cdef int set_row_factory(future, row_factory) except -1
