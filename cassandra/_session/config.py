"""Checks of the options of :class:`Cluster`, and the small public option types.

L5. Checks are pure: they return the value to keep or raise TypeError/ValueError with the name of the option, the
invalid value, and the expected values. The table of options (``options.py``) names them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import takewhile
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._core.memory import MemoryPool
from cassandra._net.auth import AllowedAddresses
from cassandra._net.connection import Connection
from cassandra._net.endpoint import EndPoint
from cassandra._net.options import MAX_FRAME

if TYPE_CHECKING:
    import ssl

    from cassandra._net.auth import AuthProvider

T = TypeVar("T")

COMPRESSIONS = ("lz4", "snappy")
LEAST_RESPONSE = 1 << 16  # a smaller limit would reject responses to the driver's own queries


class ConfigMode(Enum):
    """Style of request options; the first use of one style excludes the other."""

    UNCOMMITTED = 0
    LEGACY = 1
    PROFILES = 2


class ControlConnectionQueryFallback(Enum):
    """Treatment of a session's requests while none of its pools has a connection."""

    Disabled = "Disabled"  #: Requests fail with NoHostAvailable.
    Fallback = "Fallback"  #: Requests are sent through the control connection.
    SkipPoolCreation = "SkipPoolCreation"  #: No pools are opened: all requests are sent through the control connection.


ControlConnectionQueryFallback.__module__ = "cassandra.cluster"


class ShardAwareOptions:
    """Options for connections to ScyllaDB's shards.

    *disable*: one connection per host, for any number of shards. *disable_shardaware_port*: reach shards by trial
    instead of through the shard-aware port (for clients behind NAT). *opts*: another instance or a dict with the
    defaults.
    """

    __module__ = "cassandra.cluster"

    disable: bool | None = None  #: True opens one connection per host.
    disable_shardaware_port: bool | None = False  #: True does not use the shard-aware port.

    def __init__(
        self,
        opts: ShardAwareOptions | Mapping[str, Any] | None = None,
        disable: bool | None = None,
        disable_shardaware_port: bool | None = None,
    ) -> None:
        given = opts.__dict__ if isinstance(opts, ShardAwareOptions) else dict(opts or {})
        unknown = set(given) - {"disable", "disable_shardaware_port"}
        if unknown:
            raise TypeError(f"Unknown shard_aware_options: {', '.join(sorted(unknown))}")
        self.disable = given.get("disable") if disable is None else disable
        port = given.get("disable_shardaware_port") if disable_shardaware_port is None else disable_shardaware_port
        self.disable_shardaware_port = bool(port)


# ---- contact points and ports


def contact_points(name: str, value: Any) -> list[Any]:
    """Return addresses, names, ``(address, port)`` pairs or endpoints, in the order given."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{name} should be a sequence (e.g. a list) of strings, not {type(value).__name__}: {value!r}")
    points = list(value)
    for index, point in enumerate(points):
        if point is None:
            raise ValueError(f"{name} should not contain None (it can resolve to localhost)")
        if isinstance(point, tuple):
            if len(point) != 2 or not isinstance(point[0], str):
                raise TypeError(f"A contact point should be an (address, port) pair, not {point!r}")
            points[index] = (point[0], port("port", point[1]))
        elif not isinstance(point, (str, EndPoint)):
            raise TypeError(
                f"A contact point should be a string, an (address, port) pair or an EndPoint, not {point!r}"
            )
        elif point == "":
            raise ValueError(f"{name} should not contain an empty string")
    return points


def port(name: str, value: Any) -> int:
    """Return a TCP port; a string of digits, as from an environment variable, is accepted."""
    if isinstance(value, str):
        if not (value.isascii() and value.isdecimal()):
            raise ValueError(f"Only numeric values are supported for {name} ({value})")
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} should be an int, not {value!r}")
    if not 1 <= value <= 65535:
        raise ValueError(f"Invalid port number ({value}) (1-65535)")
    return value


# ---- counts, limits and versions


def positive_int(name: str, value: Any) -> int:
    """Return a count of at least one."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} should be an int, not {value!r}")
    if value < 1:
        raise ValueError(f"{name} should be at least 1, not {value}")
    return value


def limit(name: str, value: Any, most: int = 2**31 - 1) -> int | None:
    """Return a maximum; None for no limit."""
    if value is None:
        return None
    checked = positive_int(name, value)
    if checked > most:
        raise ValueError(f"{name} should be at most {most}, not {value}")
    return checked


def share(name: str, value: Any) -> float | None:
    """Return a number above 0, at most 1; None stays None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} should be a number or None, not {value!r}")
    checked = float(value)
    if not 0 < checked <= 1:
        raise ValueError(f"{name} should be above 0 and at most 1, not {value}")
    return checked


def rate(name: str, value: Any) -> float | None:
    """Return a number in a second; None for no limit."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} should be a number in a second or None, not {value!r}")
    checked = float(value)
    if not checked > 0:
        raise ValueError(f"{name} should be more than 0 in a second, not {value!r}")
    return checked


def response_bytes(name: str, value: Any) -> int | None:
    """Return the size of the largest accepted response; None for the protocol's limit."""
    checked = limit(name, value, MAX_FRAME)
    if checked is not None and checked < LEAST_RESPONSE:
        raise ValueError(f"{name} should be at least {LEAST_RESPONSE}, not {value}")
    return checked


def protocol_version(value: Any) -> int:
    """Return a protocol version. One that this driver does not support is rejected when connections are opened."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"protocol_version should be an int, not {value!r}")
    return value


# ---- objects and functions


def instance(name: str, value: T, wanted: type[Any] | None = None, article: str = "an instance of") -> T:
    """Return *value*, which must be an object, not its class, and of type *wanted* if given."""
    if isinstance(value, type):
        raise TypeError(f"{name} should not be a class, it should be an instance of that class")
    if wanted is not None and not isinstance(value, wanted):
        raise TypeError(f"{name} should be {article} {wanted.__name__}, not {value!r}")
    return value


def function(name: str, value: T) -> T:
    """Return *value*, which must be callable."""
    if not callable(value):
        raise ValueError(f"{name} must be callable")
    return value


def timestamp_generator(name: str, value: Any) -> Callable[[], int] | None:
    """Return a function; None: requests have no timestamps."""
    return None if value is None else function(name, value)


def compression(name: str, value: Any) -> bool | str:
    """Return True (the best that both sides support), False for False/None, or the name of an algorithm."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if value not in COMPRESSIONS:
        error = ValueError if isinstance(value, str) else TypeError
        raise error(f"{name} should be True, False or one of {', '.join(COMPRESSIONS)}, not {value!r}")
    return str(value)


def sockopts(name: str, value: Any) -> Sequence[tuple[int, int, int | bytes]] | None:
    """Return arguments for ``setsockopt``, as (level, option, value) triples."""
    if value is None:
        return None
    options = [tuple(option) for option in value]
    for option in options:
        if len(option) != 3:
            raise ValueError(f"{name} should be (level, option, value) triples, not {option!r}")
    return options


def auth_provider(name: str, value: Any) -> AuthProvider | None:
    """Return a provider, which is known by its method."""
    if value is not None and not callable(getattr(value, "new_authenticator", None)):
        raise TypeError(f"{name} must implement the cassandra.auth.AuthProvider interface")
    return value  # type: ignore[no-any-return]


def ssl_context(name: str, value: Any) -> ssl.SSLContext | None:
    """Return a TLS context."""
    if value is not None:
        import ssl  # imported only if a context was given

        if not isinstance(value, ssl.SSLContext):
            raise TypeError(f"{name} should be an ssl.SSLContext, not {value!r}")
    return value  # type: ignore[no-any-return]


def ssl_options(name: str, value: Any) -> Mapping[str, Any] | None:
    """Return options of TLS; ``_net/tls.py`` checks them together with the context."""
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"{name} should be a dict, not {type(value).__name__}")  # it may have a password
    return value


def allowed_addresses(name: str, value: Any) -> AllowedAddresses | None:
    """Return the networks and names to which connections are allowed; None for all."""
    return None if value is None else AllowedAddresses(value)


def query_fallback(name: str, value: Any) -> ControlConnectionQueryFallback:
    """Return a member of the enum, given as such or by its value."""
    return ControlConnectionQueryFallback(value)


def shard_aware_options(name: str, value: Any) -> ShardAwareOptions:
    """Return a copy."""
    return ShardAwareOptions(value)


def memory_pool(name: str, value: Any) -> MemoryPool:
    """Return a memory pool for received frames."""
    if not isinstance(value, MemoryPool):
        raise TypeError(f"{name} should be a cassandra.memory.MemoryPool, not {value!r}")
    return value


def refuse(name: str, value: Any, reason: str) -> None:
    """Reject an option of the public signature that this driver does not support."""
    if value is not None:
        raise NotImplementedError(f"{name} is not supported: {reason}")


# ---- connection classes

#: Methods of connection classes that move the bytes themselves.
_MOVES_BYTES = ("push", "handle_read", "handle_write")
#: Methods of scylla-driver's connections that requests pass through; our native connections never call them.
_NOT_CALLED = (
    "factory", "get_request_id", "send_msg", "wait_for_response", "wait_for_responses", "process_msg",
    "handle_pushed", "error_all_requests",
)  # fmt: skip


def warn_of_unused_methods(given: Any) -> None:
    """Warn about methods of the connection class *given* that are overridden and never called."""
    missed = overrides(given, _NOT_CALLED)
    if missed:
        warnings.warn(
            f"connection_class={given.__name__} overrides {', '.join(missed)}, which are not called: the transport is "
            "native. Protocol handlers see the messages; request trackers and listeners see the requests",
            UserWarning,
            stacklevel=4,
        )


def connection_class_of(given: Any) -> type[Connection] | None:
    """Return the class that connections are made of, None for the standard one. A class that moves the bytes itself is
    not used: the native transport does that."""
    if given is Connection or not isinstance(given, type) or not issubclass(given, Connection):
        return None
    return None if overrides(given, _MOVES_BYTES) else given


def overrides(kind: Any, names: Sequence[str]) -> list[str]:
    """Return those of *names* that a program's subclass of :class:`Connection` overrides."""
    if not isinstance(kind, type) or not issubclass(kind, Connection):
        return []
    own = [vars(base) for base in takewhile(lambda base: base is not Connection, kind.__mro__)]
    return [name for name in names if any(name in attributes for attributes in own)]
