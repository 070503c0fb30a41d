# What other extensions call of this one for every request.

# ``Lane.send`` of *lane*, of nothing but values, and of what makes the rows, if that is not the profile's. None if the
# request has to go another way.
cdef object request_of(lane, session, prepared, values, row_factory)

# What *request* came to, which is waited for: ``(rows, error, (plan, paging_state, beside, kept), page)``; its exception
# is raised. The rows are made when rows_of() is asked for them.
cdef tuple outcome_of(request)
cdef object rows_of(tuple outcome)
