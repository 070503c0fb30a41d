"""Options of a session (L5): overrides of the default profile, and options of one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.versions import seconds

from .cluster.profiles import EXEC_PROFILE_DEFAULT, checked_prefetch
from .statements.sentinels import NOT_SET

if TYPE_CHECKING:
    from .session import Session

OF_PROFILE: Any = NOT_SET  # instead of a row factory, because None is a valid one


def profile_option(name: str, attribute: str, doc: str) -> property:
    """Return a property for the legacy session option *name*: it reads *attribute* of the default profile, and
    overrides it for this session when set."""

    def read(self: Session) -> Any:
        return getattr(self._resolve_profile(EXEC_PROFILE_DEFAULT), attribute)

    def write(self: Session, value: Any) -> None:
        if name == "default_serial_consistency_level" and value is not None and not ConsistencyLevel.is_serial(value):
            raise ValueError(f"{name} must be either ConsistencyLevel.SERIAL or ConsistencyLevel.LOCAL_SERIAL.")
        if name == "default_timeout":
            seconds(name, value, negative=True)
        self.cluster.profile_manager.commit_legacy(f"Session.{name}")
        self._overrides = {**self._overrides, attribute: value}

    return property(read, write, doc=doc)


def of_call(row_factory: Any, prefetch: int | None) -> dict[str, Any] | None:
    """Return the options of one call, as attributes of its request; None if there are none."""
    if row_factory is OF_PROFILE and prefetch is None:
        return None
    own: dict[str, Any] = {}
    if row_factory is not OF_PROFILE:
        if row_factory is not None and not callable(row_factory):
            raise TypeError(f"row_factory must be callable with column names and rows, not {row_factory!r}")
        own["row_factory"] = row_factory
    if prefetch is not None:
        own["_prefetch"] = checked_prefetch(prefetch)
    return own


def of_caller(row_factory: Any, prefetch: int | None) -> dict[str, Any]:
    """Return the options of one call as keyword arguments."""
    given = {} if row_factory is OF_PROFILE else {"row_factory": row_factory}
    return given if prefetch is None else {**given, "prefetch": prefetch}
