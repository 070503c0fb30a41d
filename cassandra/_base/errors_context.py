"""What every request error can tell: host, shard, attempts, time, whether it may have been executed (L0).

The roots of the exception tree get these attributes from :func:`request_error`. A mixin would be shorter but
would show up in ``__bases__``, and those are scylla-driver's.
"""

from typing import TYPE_CHECKING, Any, TypeVar

E = TypeVar("E", bound=BaseException)

if TYPE_CHECKING:

    class RequestError(Exception):
        """Typed view of what :func:`request_error` adds. At run time this is ``Exception`` itself."""

        host: Any
        shard: int | None
        attempts: int | None
        elapsed: float | None
        maybe_executed: bool | None

else:
    RequestError = Exception

_FIELDS = ("host", "shard", "attempts", "elapsed", "maybe_executed")


def request_error(cls: type[E]) -> type[E]:
    """Class decorator for a root of the tree: context attributes that default to None, and exact pickling.

    ``host`` (where the last attempt ran), ``shard``, ``attempts``, ``elapsed`` (seconds) and
    ``maybe_executed`` (whether the server may have executed the statement; None when unknown).
    """
    target: Any = cls
    for name in _FIELDS:
        if not hasattr(cls, name):
            setattr(target, name, None)
    target.__reduce__ = _reduce
    return cls


def annotate(
    error: BaseException,
    *,
    host: Any = None,
    shard: int | None = None,
    attempts: int | None = None,
    elapsed: float | None = None,
    maybe_executed: bool | None = None,
) -> None:
    """Add what is known about the request to *error*. Values that are None leave what is there."""
    given = {
        "host": host,
        "shard": shard,
        "attempts": attempts,
        "elapsed": elapsed,
        "maybe_executed": maybe_executed,
    }
    read_only = {"host"} if isinstance(getattr(type(error), "host", None), property) else set()
    for name, value in given.items():
        if value is not None and name not in read_only:
            setattr(error, name, value)


def _reduce(self: BaseException) -> tuple[Any, ...]:
    return _restore, (type(self), self.args, self.__dict__)


def _restore(cls: type[BaseException], args: tuple[Any, ...], state: dict[str, Any]) -> BaseException:
    """Rebuild without ``__init__``: constructors take other arguments than ``args`` keeps."""
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error
