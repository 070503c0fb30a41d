"""Classes that rows can be instances of, and what their instances are made by; see test_class_rows.py.

A module of its own, without ``from __future__ import annotations`` where libraries look at the annotations.
"""

import dataclasses
from collections import namedtuple
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import attrs
import pydantic

from tests.packages import msgspec

T = TypeVar("T")


@dataclass
class Plain:
    k: int | None
    name: str | None


@dataclass(frozen=True)
class Frozen:
    k: int | None
    name: str | None


@dataclass(slots=True)
class Slots:
    k: int | None
    name: str | None


@dataclass(frozen=True, slots=True)
class FrozenSlots:
    k: int | None
    name: str | None


@dataclass(kw_only=True)
class KeywordOnly:
    name: str | None
    k: int | None


@dataclass
class Backwards:
    """Not in the order of the columns."""

    name: str | None
    k: int | None
    kind: ClassVar[str] = "no field"


@dataclass
class Defaults:
    k: int | None
    name: str | None
    tags: list[str] = field(default_factory=list)
    price: float = 1.5


@dataclass(slots=True)
class SlotsDefaults:
    k: int | None
    name: str | None
    tags: list[str] = field(default_factory=list)
    price: float = 1.5


@dataclass
class PostInit:
    k: int | None
    name: str | None

    def __post_init__(self) -> None:
        self.doubled = (self.k or 0) * 2


@dataclass
class NotInInit:
    k: int | None
    name: str | None
    seen: bool = field(default=True, init=False)


@dataclass
class WithInitVar:
    k: InitVar[int | None]
    name: str | None
    kept: Any = None

    def __post_init__(self, k: int | None) -> None:
        self.kept = k


@dataclass
class OwnInit:
    k: int | None
    name: str | None

    def __init__(self, k: int | None, name: str | None) -> None:
        self.k = k
        self.name = name and name.upper()


@dataclass
class OwnSetattr:
    k: int | None
    name: str | None

    def __setattr__(self, attribute: str, value: Any) -> None:
        super().__setattr__(attribute, (value,))


@dataclass
class OwnNew:
    k: int | None
    name: str | None

    def __new__(cls, *args: Any, **kwargs: Any) -> "OwnNew":
        self = super().__new__(cls)
        self.__dict__["born"] = True
        return self


@dataclass
class Wrapped:
    k: int | None
    name: str | None


_generated = Wrapped.__init__


def _counting(self: Any, *args: Any, **kwargs: Any) -> None:
    Wrapped.count += 1  # type: ignore[attr-defined]
    _generated(self, *args, **kwargs)


Wrapped.count = 0  # type: ignore[attr-defined]
Wrapped.__init__ = _counting  # type: ignore[assignment, method-assign]


class Meta(type):
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        made.by_meta = True
        return made


@dataclass
class WithMeta(metaclass=Meta):
    k: int | None
    name: str | None


@dataclass
class Base:
    k: int | None


@dataclass
class Derived(Base):
    name: str | None


@dataclass(slots=True)
class SlotsBase:
    k: int | None


@dataclass(slots=True)
class SlotsDerived(SlotsBase):
    name: str | None


@dataclass
class DictOverSlots(SlotsBase):
    name: str | None


class NotDecorated(Plain):
    """A subclass that dataclass has not seen."""


@dataclass
class Box(Generic[T]):
    k: T
    name: str | None


@dataclass
class ByProperty:
    k: int | None
    name: str | None


ByProperty.name = property(  # type: ignore[assignment]
    lambda self: self.__dict__["_name"], lambda self, value: self.__dict__.__setitem__("_name", value)
)


@dataclass
class Finalized:
    k: int | None
    name: str | None

    def __del__(self) -> None:
        assert isinstance(vars(self).get("name", ""), (str, type(None)))


@dataclass
class InAList(list):  # type: ignore[type-arg]
    """Whose instances are not laid out as objects are."""

    k: int | None
    name: str | None


Many = dataclasses.make_dataclass("Many", [(f"f{i}", int) for i in range(60)])


@attrs.define
class Attrs:
    k: int | None
    name: str | None


@attrs.define(slots=False)
class AttrsDict:
    k: int | None
    name: str | None


@attrs.frozen
class AttrsFrozen:
    k: int | None
    name: str | None


@attrs.define
class AttrsPrivate:
    _k: int | None
    name: str | None = attrs.field(alias="title")


@attrs.define
class AttrsConverted:
    k: int | None = attrs.field(converter=lambda value: (value or 0) + 100)
    name: str | None
    tags: list[str] = attrs.field(factory=list)


@attrs.define
class AttrsValidated:
    k: int | None
    name: str | None = attrs.field(validator=attrs.validators.instance_of(str))


@attrs.define
class AttrsSelf:
    k: int | None
    name: str | None
    both: Any = attrs.field(default=attrs.Factory(lambda self: (self.k, self.name), takes_self=True))


@attrs.define
class AttrsDefaults:
    k: int | None
    name: str | None
    tags: list[str] = attrs.field(factory=list)
    price: float = 1.5


@attrs.define
class AttrsPost:
    k: int | None
    name: str | None
    doubled: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.doubled = (self.k or 0) * 2


class Struct(msgspec.Struct):
    k: int | None
    name: str | None


class StructFrozen(msgspec.Struct, frozen=True, cache_hash=True):
    k: int | None
    name: str | None


class StructNoGc(msgspec.Struct, gc=False):
    k: int | None
    name: str | None


class StructKeyword(msgspec.Struct, kw_only=True, rename="camel", weakref=True, dict=True):
    k: int | None
    name: str | None
    some_tags: list[str] = []


class StructPost(msgspec.Struct):
    k: int | None
    name: str | None

    def __post_init__(self) -> None:
        self.k = (self.k or 0) * 2


class Model(pydantic.BaseModel):
    k: int | None
    name: str | None
    tags: list[str] = []


class ModelAlias(pydantic.BaseModel):
    k: int | None
    title: str | None = pydantic.Field(alias="name")


class ModelStrict(pydantic.BaseModel):
    k: int
    name: str


class ModelAny(pydantic.BaseModel, extra="allow"):
    k: int | None


class ModelIgnoring(pydantic.BaseModel, extra="ignore"):
    k: int | None


@pydantic.dataclasses.dataclass
class PydanticDataclass:
    k: int | None
    name: str | None


class Named(NamedTuple):
    k: int | None
    name: str | None


class NamedBackwards(NamedTuple):
    name: str | None
    k: int | None
    price: float = 1.5


class NamedWithMethod(Named):
    __slots__ = ()

    def both(self) -> tuple[Any, Any]:
        return self.k, self.name


class NamedOwnNew(namedtuple("NamedOwnNew", ["k", "name"])):
    __slots__ = ()

    def __new__(cls, k: Any, name: Any) -> "NamedOwnNew":
        return super().__new__(cls, k, name and name.upper())


class Equal:
    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)


class Own(Equal):
    """With an annotated constructor."""

    def __init__(self, k: int | None, name: str | None = "?", *, price: float = 1.5) -> None:
        self.values = (k, name, price)


class Takes(Equal):
    def __init__(self, k: int | None, /, *rest: Any, **more: Any) -> None:
        assert not rest
        self.values = (k, more)


class ByNew(Equal):
    values: tuple[Any, ...]

    def __new__(cls, k: int | None = None, name: str | None = None) -> "ByNew":
        self = super().__new__(cls)
        self.values = (k, name)
        return self
