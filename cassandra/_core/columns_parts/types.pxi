# Mapping of CQL types to Arrow types.

cdef enum:
    MAX_DECIMAL128 = 38
    MAX_DECIMAL256 = 76

# Wire id of the CQL type: native kind, Arrow format.
_PLAIN = {
    0x01: (<int>Kind.Ascii, b"u"),
    0x02: (<int>Kind.Eight, b"l"),
    0x03: (<int>Kind.Binary, b"z"),
    0x04: (<int>Kind.Boolean, b"b"),
    0x05: (<int>Kind.Eight, b"l"),
    0x07: (<int>Kind.Eight, b"g"),
    0x08: (<int>Kind.Four, b"f"),
    0x09: (<int>Kind.Four, b"i"),
    0x0A: (<int>Kind.Text, b"u"),
    0x0B: (<int>Kind.Eight, b"tsm:UTC"),
    0x0C: (<int>Kind.Uuid, b"w:16"),
    0x0D: (<int>Kind.Text, b"u"),
    0x0F: (<int>Kind.Uuid, b"w:16"),
    0x10: (<int>Kind.Inet, b"z"),
    0x11: (<int>Kind.Date, b"tdD"),
    0x12: (<int>Kind.Time, b"ttn"),
    0x13: (<int>Kind.Two, b"s"),
    0x14: (<int>Kind.One, b"c"),
    0x15: (<int>Kind.Duration, b"tin"),
}
_DECIMAL, _UUID, _VARINT, _TIMEUUID = 0x06, 0x0C, 0x0E, 0x0F
_TEXTS = (0x01, 0x0A, 0x0D)


cdef class _Choices:
    """The checked options of a plan."""

    cdef str strings
    cdef object decimals  # "utf8" or (precision, scale)
    cdef object varints  # "utf8", "int64" or a precision
    cdef bint tagged_uuids

    def __cinit__(self, strings, decimals, varints, uuids):
        if strings not in ("utf8", "view", "dictionary"):
            raise ValueError(f'strings must be "utf8", "view" or "dictionary", got {strings!r}')
        if uuids not in ("arrow.uuid", "binary"):
            raise ValueError(f'uuids must be "arrow.uuid" or "binary", got {uuids!r}')
        self.strings = strings
        self.tagged_uuids = uuids == "arrow.uuid"
        self.decimals = decimals
        self.varints = varints
        if decimals != "utf8":
            try:
                precision, scale = (int(number) for number in decimals)
            except (TypeError, ValueError):
                raise ValueError(f'decimals must be "utf8" or (precision, scale), got {decimals!r}') from None
            if not 1 <= precision <= MAX_DECIMAL256 or not 0 <= scale <= precision:
                raise ValueError(
                    f"decimals must have a precision of 1 to {MAX_DECIMAL256} and a scale up to that, got {decimals!r}"
                )
            self.decimals = (precision, scale)
        if varints not in ("utf8", "int64") and not (type(varints) is int and 1 <= varints <= MAX_DECIMAL256):
            raise ValueError(f'varints must be "utf8", "int64" or precision 1 to {MAX_DECIMAL256}, got {varints!r}')

    cdef int set_scalar(self, Type& type, int kind, bint is_nested) except -1:
        """Set *type* for values of a CQL type without parameters; unknown ones are bytes."""
        cdef int found
        if kind == _DECIMAL:
            self.set_decimal(type, self.decimals, Kind.DecimalText, Kind.Decimal)
        elif kind == _VARINT and self.varints == "int64":
            type.kind = Kind.VarintLong
            type.format = b"l"
        elif kind == _VARINT:
            digits = self.varints if self.varints == "utf8" else (self.varints, 0)
            self.set_decimal(type, digits, Kind.VarintText, Kind.Varint)
        elif kind in _TEXTS and self.strings == "view":
            type.kind = Kind.View
            type.format = b"vu"
        elif kind in _TEXTS and self.strings == "dictionary" and not is_nested:
            type.kind = Kind.Dictionary
            type.format = b"i"
        else:
            found, format = _PLAIN.get(kind, (<int>Kind.Binary, b"z"))
            type.kind = <Kind>found
            type.format = format
        return 0

    cdef int set_decimal(self, Type& type, digits, Kind as_text, Kind as_number) except -1:
        if digits == "utf8":
            type.kind = as_text
            type.format = b"u"
            return 0
        type.kind = as_number
        type.precision, type.scale = digits
        type.is_decimal256 = type.precision > MAX_DECIMAL128
        wide = ",256" if type.is_decimal256 else ""
        type.format = f"d:{type.precision},{type.scale}{wide}".encode()
        return 0
