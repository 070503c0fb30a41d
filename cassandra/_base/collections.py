"""Collections whose items need not be hashable: :class:`SortedSet`, :class:`OrderedMap` (L0).

CQL nests collections in sets and map keys, where Python requires hashable values. The native codec builds
both directly (``SortedSet._from_list``; the slots of :class:`OrderedMapSerializedKey`).
"""

from bisect import bisect_left
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Set, ValuesView
from itertools import islice
from operator import lt
from typing import Any

from .objects import public

Member = Callable[[Any], bool]


@public("cassandra.util")
class SortedSet:
    """A sorted set that accepts unhashable items, such as lists and other sets.

    Items without a total order (mixed types, sets, NaN) stay in the order of insertion and are searched one by
    one. Compares equal to any collection of the same items; operators accept plain sets on either side.
    """

    __slots__ = ("_items", "_ordered")
    __hash__ = None  # type: ignore[assignment]

    _items: list[Any]
    _ordered: bool  # strictly increasing, so that bisection finds items

    def __init__(self, iterable: Iterable[Any] = ()) -> None:
        self._items, self._ordered = _arrange(list(iterable))

    @classmethod
    def _from_list(cls, items: list[Any]) -> "SortedSet":
        """Make a set that takes ownership of *items*; one pass if they are already in order."""
        self = cls.__new__(cls)
        self._items, self._ordered = _arrange(items)
        return self

    def _position(self, item: Any) -> tuple[int, bool]:
        """Return the position of *item*, or the position to insert it at, and True if it is present."""
        items = self._items
        if self._ordered:
            try:
                index = bisect_left(items, item)
                return index, index < len(items) and (items[index] is item or bool(items[index] == item))
            except TypeError:
                pass  # an equal item may exist nevertheless: None is not less than None
        try:
            return items.index(item), True
        except ValueError:
            return len(items), False

    def _member(self) -> Member:
        """Return a membership test for many items: a search one by one would take time by the product of both sizes."""
        return self.__contains__ if self._ordered else _Members(self._items).__contains__

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __reversed__(self) -> Iterator[Any]:
        return iter(self._items[::-1])

    def __contains__(self, item: Any) -> bool:
        return self._position(item)[1]

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __delitem__(self, index: Any) -> None:
        del self._items[index]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._items!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._items,)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SortedSet) and self._ordered and other._ordered:
            return self._items == other._items
        if not _is_collection(other):
            return NotImplemented
        items = _as_set(other)
        return len(self) == len(items) and self.issuperset(items)

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __le__(self, other: Any) -> bool:
        return self.issubset(other) if _is_collection(other) else NotImplemented

    def __lt__(self, other: Any) -> bool:
        return len(other) > len(self) and self.issubset(other) if _is_collection(other) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self.issuperset(other) if _is_collection(other) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return len(self) > len(other) and self.issuperset(other) if _is_collection(other) else NotImplemented

    def __and__(self, other: Any) -> "SortedSet":
        return self.intersection(other)

    __rand__ = __and__

    def __or__(self, other: Any) -> "SortedSet":
        return self.union(other)

    __ror__ = __or__

    def __sub__(self, other: Any) -> "SortedSet":
        return self.difference(other)

    def __rsub__(self, other: Any) -> "SortedSet":
        return type(self)(other).difference(self)

    def __xor__(self, other: Any) -> "SortedSet":
        return self.symmetric_difference(other)

    __rxor__ = __xor__

    def __ior__(self, other: Any) -> "SortedSet":
        self.update(other)
        return self

    def __iand__(self, other: Any) -> "SortedSet":
        return self._become(self.intersection(other))

    def __isub__(self, other: Any) -> "SortedSet":
        return self._become(self.difference(other))

    def __ixor__(self, other: Any) -> "SortedSet":
        return self._become(self.symmetric_difference(other))

    def _become(self, other: "SortedSet") -> "SortedSet":
        self._items, self._ordered = other._items, other._ordered
        return self

    def add(self, item: Any) -> None:
        """Add *item*."""
        index, found = self._position(item)
        if found:
            return
        items = self._items
        items.insert(index, item)
        # Bisection of a partial order may have found a wrong position: check the neighbours.
        if self._ordered and not _is_ordered(items[max(index - 1, 0) : index + 2]):
            self._items, self._ordered = _arrange(items)

    def update(self, iterable: Iterable[Any]) -> None:
        """Add all items of *iterable*."""
        self._items, self._ordered = _arrange(self._items + list(iterable))

    def remove(self, item: Any) -> None:
        """Remove *item*. Raise KeyError if it is not present."""
        index, found = self._position(item)
        if not found:
            raise KeyError(item)
        del self._items[index]

    def discard(self, item: Any) -> None:
        """Remove *item* if it is present."""
        index, found = self._position(item)
        if found:
            del self._items[index]

    def pop(self) -> Any:
        """Remove and return the last item."""
        if not self._items:
            raise KeyError("pop from empty set")
        return self._items.pop()

    def clear(self) -> None:
        """Remove all items."""
        self._items, self._ordered = [], True

    def copy(self) -> "SortedSet":
        """Return a copy."""
        return self._from_list(self._items[:])

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        """True if no item is in both."""
        return not any(map(_member(other), self._items))

    def issubset(self, other: Iterable[Any]) -> bool:
        """True if all items are in *other*."""
        return all(map(_member(other), self._items))

    def issuperset(self, other: Iterable[Any]) -> bool:
        """True if all items of *other* are in this set."""
        return all(map(self._member(), other))

    def union(self, *others: Iterable[Any]) -> "SortedSet":
        """Return the items of this set and of *others*."""
        return self._from_list([*self._items, *(item for other in others for item in other)])

    def intersection(self, *others: Iterable[Any]) -> "SortedSet":
        """Return the items that are in all."""
        tests = [_member(other) for other in others]
        return self._from_list([item for item in self._items if all(test(item) for test in tests)])

    def difference(self, *others: Iterable[Any]) -> "SortedSet":
        """Return the items that are in none of *others*."""
        tests = [_member(other) for other in others]
        return self._from_list([item for item in self._items if not any(test(item) for test in tests)])

    def symmetric_difference(self, other: Iterable[Any]) -> "SortedSet":
        """Return the items that are in one of both."""
        right = _as_set(other)
        known = self._member()
        return self.difference(right).union(item for item in right if not known(item))


sortedset = SortedSet  # the original name in scylla-driver


def _increasing(items: list[Any]) -> bool:
    return all(map(lt, items, islice(items, 1, None)))


def _is_ordered(items: list[Any]) -> bool:
    try:
        return _increasing(items)
    except TypeError:
        return False


def _arrange(items: list[Any]) -> tuple[list[Any], bool]:
    """Return *items* without duplicates, and True if they are strictly increasing; sort them in place if possible.

    A chain in a partial order (sets, each a subset of the next) counts as increasing: bisection works on it.
    """
    try:
        if _increasing(items):
            return items, True
        items.sort()
    except TypeError:
        return _unique(items), False
    adjacent = [item for i, item in enumerate(items) if i == 0 or items[i - 1] != item]
    if _increasing(adjacent):
        return adjacent, True
    return _unique(adjacent), False


def _unique(items: list[Any]) -> list[Any]:
    try:
        return list(dict.fromkeys(items))
    except TypeError:
        members = _Members()
        return [item for item in items if members.add(item)]


class _Members:
    """A set of items that need not be hashable. Items with the same frozen form are compared for equality, so that sets
    of sets do not take quadratic time. Items of several types, which may be equal to each other, are compared one by
    one."""

    __slots__ = ("_all", "_equal_keys", "_type")

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._all: list[Any] = []
        self._equal_keys: dict[Any, list[Any]] = {}
        self._type: type | None = None  # of all items; None without items, or if they have several types
        for item in items:
            self.add(item)

    def add(self, item: Any) -> bool:
        """Add *item*; True if it was not present."""
        if item in self:
            return False
        if not self._all:
            self._type = type(item)
        elif self._type is not type(item):
            self._type = None
        if self._type is not None:
            self._equal_keys.setdefault(_frozen(item, _any_other), []).append(item)
        self._all.append(item)
        return True

    def __contains__(self, item: Any) -> bool:
        if self._type is type(item):
            return item in self._equal_keys.get(_frozen(item, _any_other), ())
        return item in self._all


def _is_collection(other: object) -> bool:
    """True if *other* is sized and iterable, and not a str or bytes."""
    return hasattr(other, "__len__") and hasattr(other, "__iter__") and not isinstance(other, (str, bytes))


def _as_set(other: Any) -> "SortedSet | Set[Any]":
    return other if isinstance(other, (SortedSet, Set)) else SortedSet(other)


def _member(other: Iterable[Any]) -> Member:
    """Return a test for membership in *other* that accepts unhashable items."""
    items = _as_set(other)
    if isinstance(items, SortedSet):
        return items._member()

    def test(item: Any) -> bool:
        try:
            return item in items
        except TypeError:  # unhashable: a plain set can only contain an equal frozen item
            return any(item == candidate for candidate in items)

    return test


@public("cassandra.util")
class OrderedMap(Mapping[Any, Any]):
    """A mapping in insertion order that accepts unhashable keys, such as lists, sets and maps."""

    __slots__ = ("_index", "_items")
    __hash__ = None  # type: ignore[assignment]

    _items: list[tuple[Any, Any]]
    _index: dict[Any, int] | None  # position of each (frozen) key; None until needed

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if len(args) > 1:
            raise TypeError(f"OrderedMap expected at most 1 argument, got {len(args)}")
        self._items = []
        self._index = {}
        for source in (*args, kwargs):
            pairs = source.items() if isinstance(source, Mapping) else source
            for key, value in pairs:
                self[key] = value

    def _position(self, key: Any) -> int | None:
        index = self._index
        if index is None:
            index = self._index = {_frozen(item[0]): i for i, item in enumerate(self._items)}
        return index.get(_frozen(key))

    def __getitem__(self, key: Any) -> Any:
        position = self._position(key)
        if position is None:
            raise KeyError(key)
        return self._items[position][1]

    def __setitem__(self, key: Any, value: Any) -> None:
        position = self._position(key)
        if position is None:
            if self._index is not None:
                self._index[_frozen(key)] = len(self._items)
            self._items.append((key, value))
        else:
            self._items[position] = (self._items[position][0], value)

    def __delitem__(self, key: Any) -> None:
        position = self._position(key)
        if position is None:
            raise KeyError(key)
        del self._items[position]
        self._index = None

    def popitem(self) -> tuple[Any, Any]:
        """Remove and return the last pair."""
        if not self._items:
            raise KeyError("popitem(): mapping is empty")
        self._index = None
        return self._items.pop()

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._items)

    def __len__(self) -> int:
        return len(self._items)

    def items(self) -> ItemsView[Any, Any]:
        """Return a view of the pairs of key and value."""
        return _Items(self)

    def values(self) -> ValuesView[Any]:
        """Return a view of the values."""
        return _Values(self)

    def __eq__(self, other: object) -> bool:
        """Compare with the order to another OrderedMap, without it to other mappings and to lists of pairs."""
        if isinstance(other, OrderedMap):
            return self._items == other._items
        if isinstance(other, (list, tuple)):
            try:
                other = dict(other)
            except (TypeError, ValueError):
                return False
        if not isinstance(other, Mapping):
            return NotImplemented
        if len(self) != len(other):
            return False
        try:
            return all(other[key] == value for key, value in self._items)
        except (KeyError, TypeError):
            return False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._items!r})"

    def __str__(self) -> str:
        return "{" + ", ".join(f"{key!r}: {value!r}" for key, value in self._items) + "}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._items,)


@public("cassandra.util")
class OrderedMapSerializedKey(OrderedMap):
    """A map from the server. Keys are also found by any value that serializes to the same bytes."""

    __slots__ = ("cass_key_type", "protocol_version")

    cass_key_type: Any  #: Type of the keys.
    protocol_version: int  #: Version of the protocol.

    def __init__(self, cass_type: Any, protocol_version: int) -> None:
        super().__init__()
        self.cass_key_type = cass_type
        self.protocol_version = protocol_version

    def _position(self, key: Any) -> int | None:
        position = super()._position(key)
        if position is not None or not self._items or self.cass_key_type is None:
            return position
        index = self._index
        if index is not None and _SERIALIZED not in index:
            for i, item in enumerate(self._items):
                index[_SERIALIZED, self._serialize(item[0])] = i
            index[_SERIALIZED] = -1
        try:
            return None if index is None else index.get((_SERIALIZED, self._serialize(key)))
        except Exception:  # a codec or a user's serializer rejects a value of another type
            return None

    def _serialize(self, key: Any) -> Any:
        encode = getattr(self.cass_key_type, "encode", None) or self.cass_key_type.serialize
        return encode(key, self.protocol_version)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        if self._index is not None and _SERIALIZED in self._index:
            self._index = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_map, (type(self), self._items, self.protocol_version)


_SERIALIZED = object()  # marks the serialized keys in an index


def _restore_map(cls: type[OrderedMapSerializedKey], items: list[Any], protocol_version: int) -> Any:
    """Rebuild a pickled map without its key type, as compiled types cannot be pickled."""
    self = cls(None, protocol_version)
    self._items, self._index = items, None
    return self


def _frozen(key: Any, opaque: "Callable[[Any], Any] | None" = None) -> Any:
    """Return *key* itself if hashable, else a hashable value that is equal for equal keys. *opaque*, by default
    ``_pickled_key``, converts objects that are not collections."""
    try:
        hash(key)
    except TypeError:
        if isinstance(key, Mapping):
            return frozenset((_frozen(k, opaque), _frozen(v, opaque)) for k, v in key.items())
        if isinstance(key, (Set, SortedSet)):
            return frozenset(_frozen(item, opaque) for item in key)
        if isinstance(key, (list, tuple)):
            return tuple(_frozen(item, opaque) for item in key)
        return (opaque or _pickled_key)(key)
    return key


def _any_other(key: Any) -> None:
    """Return the same form for all objects, so that only equality distinguishes them."""


def _pickled_key(key: Any) -> Any:
    """Return the pickled content, or the identity if *key* cannot be pickled. For classes with ``__eq__`` and without
    ``__hash__``."""
    import pickle  # here, as only this function needs it

    try:
        return pickle.dumps(key)
    except Exception:
        return id(key)


class _Items(ItemsView[Any, Any]):
    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._mapping._items)  # type: ignore[attr-defined]


class _Values(ValuesView[Any]):
    def __iter__(self) -> Iterator[Any]:
        return (value for _, value in self._mapping._items)  # type: ignore[attr-defined]
