"""The root of all protocol messages. It lives in L0 because error messages are exceptions."""

from collections.abc import Mapping
from typing import Any, ClassVar

from cassandra._base.public import public


@public("cassandra.protocol")
class _MessageType:
    """A protocol message. Subclasses set ``opcode`` and ``name`` and may have slots."""

    __slots__ = ()

    opcode: ClassVar[int]
    name: ClassVar[str]
    tracing: bool = False
    trace_id: Any = None
    custom_payload: dict[str, bytes | None] | None = None
    warnings: list[str] | None = None

    def update_custom_payload(self, other: Mapping[str, bytes | None] | None) -> None:
        """Merge *other* into this message's payload."""
        if other:
            # Not every subclass declares slots, so this class cannot declare where the attribute is stored.
            self.custom_payload = {**(self.custom_payload or {}), **other}  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in _fields(self))})>"


def slot_names(message: object) -> dict[str, None]:
    """Return the slots of every class of the MRO, including those of native classes, each once."""
    return dict.fromkeys(name for cls in type(message).__mro__ for name in _slots(cls))


def _slots(cls: type) -> tuple[str, ...]:
    declared = cls.__dict__.get("__slots__", ())
    return (declared,) if isinstance(declared, str) else tuple(declared)


def _fields(message: _MessageType) -> list[tuple[str, Any]]:
    """Return the public attributes that are neither None nor False, from the slots of the MRO and the instance dict."""
    names = [*slot_names(message), *getattr(message, "__dict__", ())]
    if getattr(message, "page", None) is not None:
        names.remove("parsed_rows")  # reading it would decode the rows
    shown = dict.fromkeys(name for name in names if not name.startswith("_"))
    values = ((name, getattr(message, name, None)) for name in shown)
    return [(name, value) for name, value in values if value is not None and value is not False]
