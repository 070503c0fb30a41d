"""Names that a public module has only because old programs import them from there (L0).

They are looked up when somebody asks for them, so that nobody else pays for what they bring in.
"""

import functools
import importlib
import sys
from collections import deque
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


def lend(borrower: str, names: Mapping[str, str]) -> None:
    """*names* are attributes of the module *borrower* from now on, and part of what ``import *`` gives.

    They are lists of names by the module that has them; a name that is another one there is written ``here=there``.
    Type checkers do not see them: whoever writes a new program imports from the module where a name is at home.
    """
    module: Any = sys.modules[borrower]
    homes: dict[str, tuple[str, str]] = {}
    for home, listed in names.items():
        for item in listed.split():
            here, _, there = item.partition("=")
            homes[here] = (home, there or here)
    module.__all__ += [name for name in homes if not name.startswith("_")]
    module.__dict__["__getattr__"] = _looking_up(module, homes)


def lend_submodules(package: str) -> None:
    """Public submodules are attributes of *package* whether or not somebody imported them: old programs count on
    modules that import one another."""

    def find(name: str) -> Any:
        if not name.startswith("_"):
            try:
                return importlib.import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    sys.modules[package].__dict__["__getattr__"] = find


#: Mocks of one name in one another.
NESTED = 16


def share(borrower: str, names: Mapping[str, str]) -> None:
    """Variables of other modules, by the module they are in, are attributes of the module *borrower* as well: read, set
    (a name that is another one there is written ``here=there``) and, as mocks do it, deleted, which brings the value
    back that it had before it was set last. For those that old programs assign to, or that change; ``lend`` is enough
    for all others."""
    module = _facade(borrower)
    shared = module.__dict__["_shared"]
    for home, listed in names.items():
        for item in listed.split():
            here, _, there = item.partition("=")
            module.__dict__.pop(here, None)
            shared[here] = (home, there or here)


def tell_if_patched(facade: str, names: str, home: str, function: str) -> None:
    """Whenever somebody sets one of *names* in the module *facade*: call *function* of the module *home* with that
    module, the name, what it was before and what it is now."""

    def tell(*replaced: Any) -> None:
        getattr(importlib.import_module(home), function)(*replaced)

    _facade(facade).__dict__["_patchable"].update(dict.fromkeys(names.split(), tell))


def _facade(name: str) -> Any:
    module: Any = sys.modules[name]
    if not isinstance(module, _Facade):
        module.__dict__.update(_shared={}, _patchable={}, _earlier={})
        module.__class__ = _Facade
    return module


class _Facade(ModuleType):
    """A module some of whose attributes are those of others, or are to be replaced elsewhere, too."""

    _shared: dict[str, tuple[str, str]]  # where they are, by their names here
    _earlier: dict[str, deque[Any]]  # what those were before they were set
    _patchable: dict[str, Callable[..., None]]  # whom to tell

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


def _looking_up(module: Any, homes: Mapping[str, tuple[str, str]]) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        home, there = homes[name]
        value = getattr(importlib.import_module(home), there)
        module.__dict__[name] = value
        return value

    return find


def lend_attributes(borrower: type, home: str, names: str) -> None:
    """*names* are attributes of the class *borrower* from now on, as the class of its name in the module *home* has
    them; they may be set on an instance. That module is imported when somebody asks for one."""
    for name in names.split():
        setattr(borrower, name, _LentAttribute(home, borrower.__name__, name))


def lend_defaults(borrower: type, names: str) -> None:
    """Attributes that every instance sets are None in the class, so that mocks that are made from it have them."""
    for name in names.split():
        setattr(borrower, name, None)


def lend_class(borrower: type, home: str, ours: type) -> None:
    """Objects that programs make of *borrower* and of something that is no *ours* are of the class of its name in the
    module *home*, which is derived from it; those of a subclass are of a class of both."""
    init: Any = borrower.__init__  # type: ignore[misc]
    parameter = init.__code__.co_varnames[1]

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        made_of = args[0] if args else kwargs.get(parameter)
        if not issubclass(type(made_of), ours):  # a mock says of itself that it is one
            lent = getattr(importlib.import_module(home), borrower.__name__)
            if not isinstance(self, lent):
                kind: Any = type(self)
                self.__class__ = _of_both(kind, borrower, lent)
            lent.__init__(self, *args, **kwargs)
        else:
            init(self, *args, **kwargs)

    borrower.__init__ = __init__  # type: ignore[misc]


def lend_to_subclasses(borrower: Any, defines: str, home: str, function: str) -> None:
    """Whenever a program makes a subclass of *borrower* that *defines* a method of that name: call *function* of the
    module *home* with it."""

    def __init_subclass__(cls: Any, /, **kwargs: Any) -> None:
        super(borrower, cls).__init_subclass__(**kwargs)
        if defines in cls.__dict__:
            getattr(importlib.import_module(home), function)(cls)

    borrower.__init_subclass__ = classmethod(__init_subclass__)


def lend_to_instances(borrower: Any, home: str, function: str, ours: str) -> None:
    """Objects of *borrower* that programs make are made by *function* of the module *home*, which gets the object, the
    ``__init__`` that was there before, and its arguments. Those that we make have a true attribute called *ours*."""
    init = borrower.__init__

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if getattr(self, ours):
            init(self, *args, **kwargs)
        else:
            getattr(importlib.import_module(home), function)(self, init, *args, **kwargs)

    borrower.__init__ = __init__


@functools.cache
def _of_both(kind: Any, borrower: Any, lent: Any) -> Any:
    return lent if kind is borrower else type(kind.__name__, (kind, lent), {"__module__": kind.__module__})


class Borrower(type):
    """Metaclass of a class that says when attributes that it was lent are replaced by others."""

    _replaceable: tuple[tuple[str, ...], Callable[[bool], None]] = ((), lambda are: None)

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        names, tell = cls._replaceable
        if name in names:
            tell(any(type(cls.__dict__[each]) is not _LentAttribute for each in names))


def tell_if_replaced(borrower: Borrower, names: str, home: str, function: str) -> None:
    """Whenever somebody sets one of *names*, which *borrower* was lent, in the class: call *function* of the module
    *home*, with True if any is not what was lent."""

    def tell(are: bool) -> None:
        getattr(importlib.import_module(home), function)(are)

    borrower._replaceable = (tuple(names.split()), tell)


class _LentAttribute:
    def __init__(self, home: str, owner: str, name: str) -> None:
        self._home = home
        self._owner = owner
        self._name = name

    def _found(self) -> Any:
        return vars(getattr(importlib.import_module(self._home), self._owner))[self._name]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        found = self._found()
        if instance is not None and self._name in getattr(instance, "__dict__", ()):
            return instance.__dict__[self._name]
        return found.__get__(instance, owner) if hasattr(found, "__get__") else found

    def __set__(self, instance: Any, value: Any) -> None:
        found = self._found()
        if hasattr(found, "__set__") and not isinstance(found, property):
            found.__set__(instance, value)
        else:
            instance.__dict__[self._name] = value
