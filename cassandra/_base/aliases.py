"""Compatibility aliases: names that public modules and classes have only because old programs use them (L0).

Aliases are resolved on access, so that other programs do not import the modules that define them. Functions of the
first section add names to modules, those of the second one to classes, and :func:`add_aliases` adds the attributes that
the tables of the last section list for a class. A facade passes the classes that a program finds through it to
:func:`add_aliases`; a class that two facades name is passed by one of them.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections import deque
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

#: Maximum depth of nested mocks of one name.
NESTED = 16


# ---- names of modules


def add_names(owner: str, names: Mapping[str, str]) -> None:
    """Add *names* to the module *owner* as aliases, and to its ``__all__``.

    *names* maps modules to lists of the names they define; an alias with a different name is written ``here=there``.
    Type checkers do not see the aliases: new programs import from the module that defines a name.
    """
    module: Any = sys.modules[owner]
    homes: dict[str, tuple[str, str]] = {}
    for home, listed in names.items():
        for item in listed.split():
            here, _, there = item.partition("=")
            homes[here] = (home, there or here)
    module.__all__ += [name for name in homes if not name.startswith("_")]
    module.__dict__["__getattr__"] = _in_lookup(module, homes)


def is_alias(owner: Any, name: str) -> bool:
    """True if the module or class *owner* has *name* only as an alias for old programs."""
    if isinstance(owner, type):
        return isinstance(vars(owner).get(name), _AliasAttribute)
    finder = vars(owner).get("__getattr__")
    return name in getattr(finder, "aliases", ())


def _in_lookup(module: Any, homes: Mapping[str, tuple[str, str]]) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        home, there = homes[name]
        value = getattr(importlib.import_module(home), there)
        module.__dict__[name] = value
        return value

    find.aliases = homes  # type: ignore[attr-defined]  # for is_alias()
    return find


def add_submodules(package: str) -> None:
    """Make public submodules attributes of *package* even if they are not imported: old programs rely on modules that
    import one another."""

    def find(name: str) -> Any:
        if not name.startswith("_"):
            try:
                return importlib.import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    sys.modules[package].__dict__["__getattr__"] = find


def share(owner: str, names: Mapping[str, str]) -> None:
    """Make variables of other modules, listed by module, attributes of the module *owner* as well: they can be read,
    set and, as mocks do, deleted, which restores the value from before the last assignment. An alias with a different
    name is written ``here=there``. For variables that old programs assign to, or that change; ``add_names`` suffices
    for all others."""
    module = _facade(owner)
    shared = module.__dict__["_shared"]
    for home, listed in names.items():
        for item in listed.split():
            here, _, there = item.partition("=")
            module.__dict__.pop(here, None)
            shared[here] = (home, there or here)


def observe_patches(facade: str, names: str, home: str, function: str) -> None:
    """Call *function* of the module *home* each time one of *names* is set in the module *facade*. Its arguments are
    that module, the name, the old value and the new value."""

    def notify(*replaced: Any) -> None:
        getattr(importlib.import_module(home), function)(*replaced)

    _facade(facade).__dict__["_patchable"].update(dict.fromkeys(names.split(), notify))


def _facade(name: str) -> Any:
    module: Any = sys.modules[name]
    if not isinstance(module, _Facade):
        module.__dict__.update(_shared={}, _patchable={}, _earlier={})
        module.__class__ = _Facade
    return module


class _Facade(ModuleType):
    """A module with attributes that are variables of other modules, and attributes whose replacement is observed."""

    _shared: dict[str, tuple[str, str]]  # module and name of each shared variable, by its name here
    _earlier: dict[str, deque[Any]]  # values of shared variables before they were set
    _patchable: dict[str, Callable[..., None]]  # the observer of each name

    def __getattr__(self, name: str) -> Any:
        if name not in self._shared:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        home, there = self._shared[name]
        return getattr(importlib.import_module(home), there)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._shared:
            home, there = self._shared[name]
            module: Any = importlib.import_module(home)
            self._earlier.setdefault(name, deque(maxlen=NESTED)).append(getattr(module, there))
            setattr(module, there, value)
            return
        before = self.__dict__.get(name)
        super().__setattr__(name, value)
        if name in self._patchable and value is not before:
            self._patchable[name](self, name, before, value)

    def __delattr__(self, name: str) -> None:
        if name not in self._shared:
            super().__delattr__(name)
        elif self._earlier.get(name):
            home, there = self._shared[name]
            setattr(importlib.import_module(home), there, self._earlier[name].pop())


# ---- attributes of classes


def add_attributes(owner: type, home: str, names: str) -> None:
    """Add *names* to the class *owner*, as aliases of the attributes of the class with the same name in the module
    *home*; they may be set on an instance. The module is imported on the first access to one."""
    for name in names.split():
        setattr(owner, name, _AliasAttribute(home, owner.__name__, name))


def add_defaults(owner: type, names: str) -> None:
    """Set attributes that every instance sets to None in the class, so that mocks made from the class have them."""
    for name in names.split():
        setattr(owner, name, None)


def use_compat_class(owner: type, home: str, ours: type) -> None:
    """Change the class of *owner* objects that programs make with a first argument that is not an *ours*: to the
    class with the same name in the module *home*, which is derived from *owner*. Objects of a subclass get a class
    derived from both."""
    init: Any = owner.__init__  # type: ignore[misc]
    parameter = init.__code__.co_varnames[1]

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        made_of = args[0] if args else kwargs.get(parameter)
        if not issubclass(type(made_of), ours):  # not isinstance, which a mock with a spec passes
            compat = getattr(importlib.import_module(home), owner.__name__)
            if not isinstance(self, compat):
                kind: Any = type(self)
                self.__class__ = _of_both(kind, owner, compat)
            compat.__init__(self, *args, **kwargs)
        else:
            init(self, *args, **kwargs)

    owner.__init__ = __init__  # type: ignore[misc]


def extend_subclasses(owner: Any, defines: str, home: str, function: str) -> None:
    """Call *function* of the module *home* with each subclass of *owner* that a program creates and that defines a
    method called *defines*."""

    def __init_subclass__(cls: Any, /, **kwargs: Any) -> None:
        super(owner, cls).__init_subclass__(**kwargs)
        if defines in cls.__dict__:
            getattr(importlib.import_module(home), function)(cls)

    owner.__init_subclass__ = classmethod(__init_subclass__)


def extend_instances(owner: Any, home: str, function: str, ours: str) -> None:
    """Initialise objects of *owner* that programs make by *function* of the module *home*, which gets the object,
    the original ``__init__``, and its arguments. Objects that the driver makes have a true attribute called *ours*."""
    init = owner.__init__

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if getattr(self, ours):
            init(self, *args, **kwargs)
        else:
            getattr(importlib.import_module(home), function)(self, init, *args, **kwargs)

    owner.__init__ = __init__


@functools.cache
def _of_both(kind: Any, owner: Any, compat: Any) -> Any:
    return compat if kind is owner else type(kind.__name__, (kind, compat), {"__module__": kind.__module__})


class ObservedAliases(type):
    """Metaclass of a class that reports when its compatibility aliases are replaced."""

    _replaceable: tuple[tuple[str, ...], Callable[[bool], None]] = ((), lambda are: None)

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        names, notify = cls._replaceable
        if name in names:
            notify(any(type(cls.__dict__[each]) is not _AliasAttribute for each in names))


def observe_replacement(owner: ObservedAliases, names: str, home: str, function: str) -> None:
    """Call *function* of the module *home* each time one of *names*, aliases in *owner*, is set in the class, with
    True if any of them is not the original alias."""

    def notify(are: bool) -> None:
        getattr(importlib.import_module(home), function)(are)

    owner._replaceable = (tuple(names.split()), notify)


class _AliasAttribute:
    def __init__(self, home: str, owner: str, name: str) -> None:
        self._home = home
        self._owner = owner
        self._name = name

    def _original(self) -> Any:
        return vars(getattr(importlib.import_module(self._home), self._owner))[self._name]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        found = self._original()
        if instance is not None and self._name in getattr(instance, "__dict__", ()):
            return instance.__dict__[self._name]
        return found.__get__(instance, owner) if hasattr(found, "__get__") else found

    def __set__(self, instance: Any, value: Any) -> None:
        found = self._original()
        if hasattr(found, "__set__") and not isinstance(found, property):
            found.__set__(instance, value)
        else:
            instance.__dict__[self._name] = value


# ---- aliases of each class

_HOME, _CONNECTIONS = "cassandra._compat.attributes", "cassandra._compat.connection"

#: The module that defines the aliases of each class, and their names.
_ATTRIBUTES = {
    "Cluster": (_HOME, """
        _config_mode _default_load_balancing_policy _default_retry_policy _is_setup _listeners _prepared_statements
        _user_types
    """),
    "ControlConnection": (_HOME, "_connection"),
    "ResponseFuture": (_HOME, """
        _col_names _col_types _connection _continuous_paging_session _current_host _event _host _load_balancer
        _protocol_handler _query_retries _query_traces _req_id _set_final_exception _set_final_result
        _spec_execution_plan _time_remaining
    """),
    "Session": (_HOME, """
        _create_response_future _default_consistency_level _default_serial_consistency_level _default_timeout
        _load_balancer _lock _maybe_get_execution_profile _metrics _profile_manager _request_init_callbacks _row_factory
        execute_concurrent execute_concurrent_async execute_concurrent_with_args
    """),
    "Connection": (_CONNECTIONS, """
        CALLBACK_ERR_THREAD_THRESHOLD allow_beta_protocol_version authenticator compressor connect_timeout
        connected_event create_timer decompressor error_all_requests get_request_id handle_fork handle_pushed
        highest_request_id in_buffer_size initialize_reactor is_control_connection is_idle is_unsupported_proto_version
        lock max_in_flight max_request_id max_request_id_for msg_received no_compact original_endpoint
        orphaned_request_ids orphaned_threshold_for out_buffer_size request_ids reset_idle send_msg signaled_error
        sockopts ssl_context ssl_options supports_tls_session_resumption total_shards wait_for_responses
    """),
    "AsyncoreConnection": (_CONNECTIONS, "add_channel"),
    "HostConnection": (_CONNECTIONS, "_connections _keyspace"),
    "LoadBalancingPolicy": (_HOME, "_hosts_lock"),
    "RoundRobinPolicy": (_HOME, "_live_hosts _position"),
    "DCAwareRoundRobinPolicy": (_HOME, "_dc _dc_live_hosts _position"),
    "RackAwareRoundRobinPolicy": (_HOME, "_dc _dc_live_hosts _live_hosts _position _rack"),
    "Metadata": (_HOME, """
        _drop_aggregate _drop_function _drop_keyspace _drop_table _drop_type _get_host_by_address _hosts _hosts_lock
        _update_aggregate _update_function _update_keyspace _update_table _update_type
    """),
    "KeyspaceMetadata": (_HOME, """
        _add_table_metadata _add_view_metadata _consistency_mode _drop_table_metadata _exc_info
    """),
    "TableMetadata": (_HOME, "_all_as_cql _exc_info _property_string"),
    "ColumnMetadata": (_HOME, "_cass_type"),
    "Statement": (_HOME, """
        _del_routing_key _del_serial_consistency_level _get_routing_key _get_serial_consistency_level _key_parts_packed
        _set_routing_key _set_serial_consistency_level
    """),
    "PreparedStatement": (_HOME, "_result_metadata_and_id _routing_key_index_set"),
}  # fmt: skip

#: Attributes that every instance sets: None in the class, so that mocks made from the class have them.
_DEFAULTS = {
    "BatchStatement": "batch_type",
    "BoundStatement": "prepared_statement",
    "Connection": "endpoint",
    "HostConnection": "host host_distance is_shutdown",
    "PreparedStatement": "protocol_version query_id query_string",
    "QueryTrace": "trace_id",
    "Session": "cluster hosts session_id timestamp_generator",
    "TraceEvent": "datetime description source source_elapsed thread_name",
    "Encoder": "mapping",
    "UserAggregateDescriptor": "argument_types name",
    "UserFunctionDescriptor": "argument_types name",
}


def add_aliases(*classes: type[Any]) -> None:
    """Add to each of *classes* the compatibility aliases and defaults that are listed here for its name."""
    for owner in classes:
        name = owner.__name__
        if name in _ATTRIBUTES:
            add_attributes(owner, *_ATTRIBUTES[name])
        if name in _DEFAULTS:
            add_defaults(owner, _DEFAULTS[name])
