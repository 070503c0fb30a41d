"""Decoding of ERROR bodies (L2). The class of an error code declares the fields (L0, ``info_fields``)."""

from __future__ import annotations

from typing import Any

from cassandra._base.constants import ProtocolVersion, WriteType
from cassandra._base.errors import OperationType
from cassandra._base.server_errors import ERROR_CLASSES, ErrorMessage, PreparedQueryNotFound, RateLimitReachedException
from cassandra._core.codec import Reader


def read_error(reader: Reader, version: int, rate_limit_error: int | None = None) -> ErrorMessage:
    """Decode an ERROR body. *rate_limit_error* is the code that the server announced for its rate limit."""
    code = reader.int()
    message = reader.string()
    cls: type[ErrorMessage] = ERROR_CLASSES.get(code, ErrorMessage)
    if rate_limit_error is not None and code == rate_limit_error:
        cls = RateLimitReachedException
    elif cls is RateLimitReachedException:
        cls = ErrorMessage  # the placeholder code has no meaning unless it was negotiated
    error = cls(code, message, _read_info(cls, reader, version))
    error.args = (str(error),)  # tools that report errors use args[0] as the text
    return error


def _read_info(cls: type[ErrorMessage], reader: Reader, version: int) -> Any:
    if not cls.info_fields:
        return None
    info: dict[str, Any] = {}
    for name, kind in cls.info_fields:
        if kind == "contentions":
            if info.get("write_type") == WriteType.CAS and version >= 5 and reader.remaining >= 2:
                info[name] = reader.short()
        elif kind == "failures":
            _read_failures(reader, version, info)
        else:
            info[name] = _READERS[kind](reader)
    return info[""] if cls is PreparedQueryNotFound else info


def _read_failures(reader: Reader, version: int, info: dict[str, Any]) -> None:
    """Decode the number of failed replicas; on protocol 5 also their addresses and error codes (section 8,
    Read_failure)."""
    count = reader.int()
    if ProtocolVersion.uses_error_code_map(version):
        reasons: dict[str, int] = {}
        for _ in range(count):
            address = reader.inet_addr()
            reasons[address] = reader.short()
        info["failures"] = len(reasons)
        info["error_code_map"] = reasons
    else:
        info["failures"], info["error_code_map"] = count, None


def _write_type(reader: Reader) -> int | str:
    name = reader.string()
    return WriteType.name_to_value.get(name, name)


_READERS: dict[str, Any] = {
    "consistency": Reader.short,
    "int": Reader.int,
    "short": Reader.short,
    "string": Reader.string,
    "string_list": Reader.string_list,
    "short_bytes": Reader.short_bytes,
    "bool": lambda reader: reader.byte() != 0,
    "write_type": _write_type,
    "op_type": lambda reader: OperationType(reader.byte()),
}
