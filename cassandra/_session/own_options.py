"""Options of a session (L5): those of the default profile that it overrides, and those of one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.durations import seconds

from .cluster.profiles import EXEC_PROFILE_DEFAULT, checked_prefetch
from .statements.sentinels import NOT_SET

if TYPE_CHECKING:
    from .session import Session

OF_PROFILE: Any = NOT_SET  # in the place of a row factory, which None is too


def profile_option(name: str, attribute: str, doc: str) -> property:
    """A legacy session option *name*: reads *attribute* of the default profile, and overrides it for this session
    when set."""

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
    """What one call says itself, as attributes of its request; None for nothing."""
    if row_factory is OF_PROFILE and prefetch is None:
        return None
    own: dict[str, Any] = {}
    if row_factory is not OF_PROFILE:
        if row_factory is not None and not callable(row_factory):
            raise TypeError(f"row_factory is called with column names and rows: it cannot be {row_factory!r}")
        own["row_factory"] = row_factory
    if prefetch is not None:
        own["_prefetch"] = checked_prefetch(prefetch)
    return own


def of_caller(row_factory: Any, prefetch: int | None) -> dict[str, Any]:
    """The arguments that a caller has given."""
    given = {} if row_factory is OF_PROFILE else {"row_factory": row_factory}
    return given if prefetch is None else {**given, "prefetch": prefetch}
