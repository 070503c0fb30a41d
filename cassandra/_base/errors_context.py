"""What every request error can tell: host, shard, attempts, time, whether it may have been executed (L0).

The roots of the exception tree get these attributes from :func:`request_error`. A mixin would be shorter but
would show up in ``__bases__``, and those are scylla-driver's.
"""

from collections.abc import Callable
from types import CodeType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

E = TypeVar("E", bound=BaseException)

if TYPE_CHECKING:

    class RequestError(Exception):
        """Typed view of what :func:`request_error` adds. At run time this is ``Exception`` itself."""

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
    """Class decorator for a root of the tree: context attributes that default to None, and exact pickling.

    ``host`` (where the last attempt ran), ``shard``, ``in_flight`` (requests there at that moment), ``attempts``,
    ``elapsed`` (seconds) and ``maybe_executed`` (whether the server may have executed the statement; None when
    unknown).
    """
    target: Any = cls
    for name in _FIELDS:
        if not hasattr(cls, name):
            setattr(target, name, None)
    target.__reduce__ = _reduce
    return cls


def tells(*names: str) -> Callable[[type[E]], type[E]]:
    """Class decorator: the text of such an error ends with these attributes, as far as they are known when somebody
    reads it."""

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
    """Add what is known about the request to *error*. Values that are None leave what is there."""
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
    """What *raiser* is to raise to one of many who may ask for *error* at a time: a copy, if it is one of the driver's.

    Raising changes an exception: its traceback grows each time, and keeps the frames of all who caught it. One of user
    code knows best itself what it is made of; it is raised as :func:`as_before` says.
    """
    if type(error).__reduce__ is not _reduce:
        return as_before(error, raiser)
    copy = _restore(type(error), error.args, error.__dict__)
    copy.__cause__, copy.__context__ = error.__cause__, error.__context__
    copy.__suppress_context__ = error.__suppress_context__
    return copy.with_traceback(_below(raiser, error.__traceback__))


def as_before(error: E, raiser: CodeType) -> E:
    """*error*, its traceback as it was before *raiser* raised it the last time."""
    return error.with_traceback(_below(raiser, error.__traceback__))


def _below(raiser: CodeType, trace: TracebackType | None) -> TracebackType | None:
    """The part of *trace* that was there before *raiser* raised it; all of it, if that never did."""
    entry = trace
    while entry is not None and entry.tb_frame.f_code is not raiser:
        entry = entry.tb_next
    return trace if entry is None else entry.tb_next


def _reduce(self: BaseException) -> tuple[Any, ...]:
    return _restore, (type(self), self.args, self.__dict__)


def _restore(cls: type[E], args: tuple[Any, ...], state: dict[str, Any]) -> E:
    """Rebuild without ``__init__``: constructors take other arguments than ``args`` keeps."""
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error
