"""Context attributes of request errors: host, shard, attempts, time, possible execution (L0).

The roots of the exception tree get these attributes from :func:`request_error`. A mixin would be shorter but
would appear in ``__bases__``, which are the same as in scylla-driver.
"""

from collections.abc import Callable
from types import CodeType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

E = TypeVar("E", bound=BaseException)

if TYPE_CHECKING:

    class RequestError(Exception):
        """Typed view of the attributes that :func:`request_error` adds. At run time this is ``Exception`` itself."""

        host: Any
        shard: int | None
        in_flight: int | None
        attempts: int | None
        elapsed: float | None
        maybe_executed: bool | None

else:
    RequestError = Exception

_FIELDS = ("host", "shard", "in_flight", "attempts", "elapsed", "maybe_executed")


def request_error(cls: type[E]) -> type[E]:
    """Add context attributes, which default to None, and exact pickling to a root of the exception tree.

    ``host`` (of the last attempt), ``shard``, ``in_flight`` (requests there at that moment), ``attempts``,
    ``elapsed`` (seconds) and ``maybe_executed`` (True if the server may have executed the statement; None if
    unknown).
    """
    target: Any = cls
    for name in _FIELDS:
        if not hasattr(cls, name):
            setattr(target, name, None)
    target.__reduce__ = _reduce
    return cls


def tells(*names: str) -> Callable[[type[E]], type[E]]:
    """Return a class decorator that appends these attributes to the text of an error, as far as they are set when the
    text is made."""

    def text(self: BaseException) -> str:
        known = [(name, getattr(self, name)) for name in names if getattr(self, name) is not None]
        shown = [f"{name}={value:.3f}s" if name == "elapsed" else f"{name}={value}" for name, value in known]
        return f"{BaseException.__str__(self)} [{', '.join(shown)}]" if shown else BaseException.__str__(self)

    def decorate(cls: type[E]) -> type[E]:
        target: Any = cls
        target.__str__ = text
        target.__repr__ = lambda self: f"{type(self).__name__}({str(self)!r})"
        return cls

    return decorate


def annotate(
    error: BaseException,
    *,
    host: Any = None,
    shard: int | None = None,
    in_flight: int | None = None,
    attempts: int | None = None,
    elapsed: float | None = None,
    maybe_executed: bool | None = None,
) -> None:
    """Set the context attributes of *error*. Arguments that are None leave the attributes unchanged."""
    given = {
        "host": host,
        "shard": shard,
        "in_flight": in_flight,
        "attempts": attempts,
        "elapsed": elapsed,
        "maybe_executed": maybe_executed,
    }
    read_only = {"host"} if isinstance(getattr(type(error), "host", None), property) else set()
    for name, value in given.items():
        if value is not None and name not in read_only:
            setattr(error, name, value)


def copy_to_raise(error: E, raiser: CodeType) -> E:
    """Return the exception that *raiser* raises to one of several concurrent callers that get *error*: a copy, if its
    class is one of the driver's.

    Raising changes an exception: its traceback grows each time, and keeps the frames of all callers that caught it. An
    exception of user code cannot be copied reliably; :func:`as_before` is used for it.
    """
    if type(error).__reduce__ is not _reduce:
        return as_before(error, raiser)
    copy = _restore(type(error), error.args, error.__dict__)
    copy.__cause__, copy.__context__ = error.__cause__, error.__context__
    copy.__suppress_context__ = error.__suppress_context__
    return copy.with_traceback(_below(raiser, error.__traceback__))


def as_before(error: E, raiser: CodeType) -> E:
    """Return *error* with the traceback that it had before *raiser* raised it the last time."""
    return error.with_traceback(_below(raiser, error.__traceback__))


def _below(raiser: CodeType, trace: TracebackType | None) -> TracebackType | None:
    """Return the part of *trace* from before *raiser* raised it; all of *trace*, if *raiser* never did."""
    entry = trace
    while entry is not None and entry.tb_frame.f_code is not raiser:
        entry = entry.tb_next
    return trace if entry is None else entry.tb_next


def _reduce(self: BaseException) -> tuple[Any, ...]:
    return _restore, (type(self), self.args, self.__dict__)


def _restore(cls: type[E], args: tuple[Any, ...], state: dict[str, Any]) -> E:
    """Rebuild an error without ``__init__``, as the parameters of constructors differ from ``args``."""
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error
