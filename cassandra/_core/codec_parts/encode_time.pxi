# timestamp, date, time and duration from datetime objects, the classes of cassandra.util, text and ints.

cdef enum:
    MICROSECONDS_PER_DAY = 86400000000
    NANOSECONDS_PER_DAY = 86400000000000


cdef int64_t as_timestamp(const TypeNode* node, object value) except? -1:
    """Return milliseconds since the epoch, rounded down. Naive datetimes are UTC."""
    cdef int64_t days, microseconds
    if PyLong_Check(value):
        if value is True or value is False:
            raise wrong_type(node, value, "a datetime, date, or milliseconds since the epoch")
        return as_integer(node, value, INT64_MIN, INT64_MAX)
    if PyDate_Check(value):
        if not PyDateTime_CheckExact(value) and value != value:
            raise ValueError(f"invalid timestamp: {value}")  # NaT of pandas, which is a datetime to isinstance()
        days = days_of(value)
        if not PyDateTime_Check(value):
            return days * 86400000
        microseconds = (
            (PyDateTime_DATE_GET_HOUR(value) * 60 + PyDateTime_DATE_GET_MINUTE(value)) * 60
            + PyDateTime_DATE_GET_SECOND(value)
        ) * <int64_t>1000000 + PyDateTime_DATE_GET_MICROSECOND(value)
        microseconds += days * MICROSECONDS_PER_DAY
        if DATETIME_TZ(value) != Py_None:
            microseconds -= utc_offset(value)
        return (microseconds - ((microseconds % 1000) + 1000) % 1000) // 1000
    if PyFloat_Check(value):
        value = int(PyFloat_AS_DOUBLE(value))  # as scylla-driver: milliseconds, cut; raises for nan and infinity
        return as_integer(node, value, INT64_MIN, INT64_MAX)
    if PyIndex_Check(value):
        return as_integer(node, value, INT64_MIN, INT64_MAX)
    raise wrong_type(node, value, "a datetime, date, or milliseconds since the epoch")


cdef inline int64_t days_of(object value) noexcept:
    return days_from_civil(PyDateTime_GET_YEAR(value), PyDateTime_GET_MONTH(value), PyDateTime_GET_DAY(value))


cdef int64_t utc_offset(object value) except? -1:
    """Return the UTC offset in microseconds; 0 if the tzinfo gives None."""
    delta = value.utcoffset()
    if delta is None:
        return 0
    return (
        PyDateTime_DELTA_GET_DAYS(delta) * <int64_t>MICROSECONDS_PER_DAY
        + PyDateTime_DELTA_GET_SECONDS(delta) * <int64_t>1000000
        + PyDateTime_DELTA_GET_MICROSECONDS(delta)
    )


cdef uint32_t as_date(const TypeNode* node, object value) except? 0:
    """Return days since the epoch plus 2**31. An int is taken as that sum, as in CQL and scylla-driver."""
    cdef int64_t days
    if PyLong_Check(value) or not PyDate_Check(value) and PyIndex_Check(value):
        return <uint32_t>as_integer(node, value, 0, 0xFFFFFFFF)
    if PyDate_Check(value):
        if value != value:
            raise ValueError(f"invalid date: {value}")
        days = days_of(value)
    else:
        if PyUnicode_Check(value):
            if _date is None:
                load_temporal()
            value = _date.cls(value)
        number = getattr(value, "days_from_epoch", None)
        if number is None:
            raise wrong_type(node, value, "a date, cassandra.util.Date, str, or days counted from 2**31")
        days = as_integer(node, number, -0x80000000, 0x7FFFFFFF)
    return <uint32_t>(days + 0x80000000)


cdef int64_t as_time(const TypeNode* node, object value) except? -1:
    """Return nanoseconds since midnight."""
    if not PyLong_Check(value):
        if PyUnicode_Check(value) or PyTime_Check(value):
            if _date is None:
                load_temporal()
            value = _time.cls(value)
        number = getattr(value, "nanosecond_time", None)
        if number is not None:
            value = number
        elif not PyIndex_Check(value):
            raise wrong_type(node, value, "a time, cassandra.util.Time, str, or nanoseconds since midnight")
    return as_integer(node, value, 0, NANOSECONDS_PER_DAY - 1)


cdef int encode_duration(const TypeNode* node, object value, ByteBuffer* out) except -1:
    cdef int64_t months, days, nanoseconds
    try:
        parts = value.months, value.days, value.nanoseconds
    except AttributeError:
        raise wrong_type(node, value, "a cassandra.util.Duration") from None
    try:
        months = as_integer(node, parts[0], INT32_MIN, INT32_MAX)
        days = as_integer(node, parts[1], INT32_MIN, INT32_MAX)
        nanoseconds = as_integer(node, parts[2], INT64_MIN, INT64_MAX)
    except OverflowError as error:
        raise ValueError(str(error)) from None
    if min(months, days, nanoseconds) < 0 < max(months, days, nanoseconds):
        raise ValueError(f"months, days and nanoseconds of a duration must have the same sign: {value!r}")
    put_unsigned_vint(out[0], zigzag_encode(months))
    put_unsigned_vint(out[0], zigzag_encode(days))
    put_unsigned_vint(out[0], zigzag_encode(nanoseconds))
    return 0
