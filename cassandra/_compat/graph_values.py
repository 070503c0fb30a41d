"""Values of DSE graph queries, which can be created, read and compared without a server (L6)."""

from __future__ import annotations

from typing import Any, ClassVar

from cassandra._base.objects import public


class _Value:
    """A value that is equal to another of its class with the same attributes; not hashable, as it is mutable."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    __hash__: ClassVar[None]  # type: ignore[assignment]


@public("cassandra.datastax.graph.query")
class Result:
    """One result of a graph query: *value* is the value of the JSON. Keys of a dict are attributes, too."""

    value: Any = None

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if not isinstance(self.value, dict):
            raise ValueError(f"{self!r} is not a dict, and has no {name}")
        try:
            return self.value[name]
        except KeyError:
            raise AttributeError(f"{self!r} has no {name}") from None

    def __getitem__(self, item: Any) -> Any:
        if isinstance(self.value, dict) and isinstance(item, str):
            return self.value[item]
        if isinstance(self.value, list) and isinstance(item, int):
            return self.value[item]
        raise ValueError(f"{self!r} has no item {item!r}")

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        return f"Result({self.value!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and bool(self.value == other.value)

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def _as(self, kind: Any, needed: tuple[str, ...], **defaults: Any) -> Any:
        found: Any = self.value if isinstance(self.value, dict) else {}
        missing = [name for name in needed if name not in found]
        if missing or found.get("type") != getattr(kind, "element_type", found.get("type")):
            raise TypeError(f"Could not create {kind.__name__} from {self!r}")
        return kind(
            **{name: found[name] for name in needed}, **{name: found.get(name, defaults[name]) for name in defaults}
        )

    def as_vertex(self) -> Vertex:
        """Return the value as a vertex. Raise TypeError if it is not one."""
        return self._as(Vertex, Element._attrs[:3], properties={})  # type: ignore[no-any-return]

    def as_edge(self) -> Edge:
        """Return the value as an edge. Raise TypeError if it is not one."""
        return self._as(Edge, Element._attrs[:3] + Edge._attrs[4:], properties={})  # type: ignore[no-any-return]

    def as_path(self) -> Path:
        """Return the value as a path. Raise TypeError if it is not one."""
        return self._as(Path, ("labels", "objects"))  # type: ignore[no-any-return]

    def as_vertex_property(self) -> VertexProperty:
        """Return the value as a vertex property. Raise TypeError if it is not one."""
        return self._as(VertexProperty, (), label=None, value=None, properties={})  # type: ignore[no-any-return]


@public("cassandra.datastax.graph.types")
class Element(_Value):
    """Base class of vertices and edges."""

    element_type: ClassVar[str | None] = None
    _attrs: ClassVar[tuple[str, ...]] = ("id", "label", "type", "properties")

    def __init__(self, id: Any, label: Any, type: str, properties: Any) -> None:
        if type != self.element_type:
            raise TypeError(f"{self.__class__.__name__} needs the type {self.element_type}, not {type}")
        self.id = id
        self.label = label
        self.type = type
        self.properties = self._extract_properties(properties)

    @staticmethod
    def _extract_properties(properties: Any) -> Any:
        return dict(properties)

    def __str__(self) -> str:
        return str({name: getattr(self, name) for name in self._attrs})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(getattr(self, name)) for name in self._attrs)})"


@public("cassandra.datastax.graph.types")
class Vertex(Element):
    """A vertex; its properties are lists of :class:`VertexProperty` by label."""

    element_type = "vertex"

    @staticmethod
    def _extract_properties(properties: Any) -> Any:
        return {
            label: [VertexProperty(label, each["value"], each.get("properties")) for each in values]
            for label, values in properties.items()
        }

    def __repr__(self) -> str:
        properties = {label: [vars(each) for each in values] for label, values in self.properties.items()}
        return f"Vertex({self.id!r}, {self.label!r}, {self.type!r}, {properties!r})"


@public("cassandra.datastax.graph.types")
class VertexProperty(_Value):
    """One value of a property of a vertex, with properties of its own."""

    label: Any = None
    value: Any = None
    properties: Any = None

    def __init__(self, label: Any, value: Any, properties: Any = None) -> None:
        self.label = label
        self.value = value
        self.properties = properties or {}

    def __repr__(self) -> str:
        return f"VertexProperty({self.label!r}, {self.value!r}, {self.properties!r})"


@public("cassandra.datastax.graph.types")
class Edge(Element):
    """An edge from ``outV`` to ``inV``."""

    element_type = "edge"
    _attrs = (*Element._attrs, "inV", "inVLabel", "outV", "outVLabel")

    def __init__(
        self, id: Any, label: Any, type: str, properties: Any, inV: Any, inVLabel: Any, outV: Any, outVLabel: Any
    ) -> None:
        super().__init__(id, label, type, properties)
        self.inV = inV
        self.inVLabel = inVLabel
        self.outV = outV
        self.outVLabel = outVLabel


@public("cassandra.datastax.graph.types")
class Path(_Value):
    """Vertices and edges that a query passed, and other values as :class:`Result`; *labels* are sets of names."""

    labels: Any = None
    objects: Any = None

    def __init__(self, labels: Any, objects: Any) -> None:
        self.labels = labels
        self.objects = [element(each) for each in objects]

    def __str__(self) -> str:
        return str({"labels": self.labels, "objects": self.objects})

    def __repr__(self) -> str:
        objects = [each.value if isinstance(each, Result) else each for each in self.objects]
        return f"Path({self.labels!r}, {objects!r})"


@public("cassandra.datastax.graph.types")
class T:
    """A token of a traversal: an attribute that every element has."""

    name: str = None  # type: ignore[assignment]
    val: int = None  # type: ignore[assignment]

    id: ClassVar[T]
    id_: ClassVar[T]
    key: ClassVar[T]
    label: ClassVar[T]
    value: ClassVar[T]
    name_to_value: ClassVar[dict[str, T]]

    def __init__(self, name: str, val: int) -> None:
        self.name = name
        self.val = val

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"T.{self.name}"


T.name_to_value = {name: T(name, val) for val, name in enumerate(("id", "id_", "key", "label", "value"), 1)}
for _name, _value in T.name_to_value.items():
    setattr(T, _name, _value)


def element(value: Any) -> Any:
    """Return *value* of JSON as a vertex or an edge if it is one, else as a :class:`Result`."""
    if isinstance(value, (Result, Element)):
        return value
    kind = value.get("type") if isinstance(value, dict) else None
    result = Result(value)
    return result.as_vertex() if kind == "vertex" else result.as_edge() if kind == "edge" else result
