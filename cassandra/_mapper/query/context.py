"""Models temporarily in another keyspace, or with another connection."""

from __future__ import annotations

from typing import Any

from cassandra._base.objects import public
from cassandra._core.models import Instance


@public("cassandra.cqlengine.query")
class ContextQuery:
    """Derives models that use another keyspace or connection from the given models.

    Example::

        with ContextQuery(Product, keyspace="archive") as Archived:
            Archived.objects.get(id=1)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """*args*: models; *kwargs*: ``keyspace`` and ``connection``."""
        if not args:
            raise ValueError("No model provided.")
        for model in args:
            if not (isinstance(model, type) and issubclass(model, Instance)):
                raise ValueError("Models must be derived from base Model.")
        if unknown := [name for name in kwargs if name not in ("keyspace", "connection")]:
            raise ValueError(f"Unknown keyword argument(s): {', '.join(unknown)}")
        keyspace, connection = kwargs.get("keyspace"), kwargs.get("connection")
        self.models: list[Any] = [derived(model, keyspace, connection) for model in args]

    def __enter__(self) -> Any:
        return self.models[0] if len(self.models) == 1 else tuple(self.models)

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        return

    @staticmethod
    def model_in(model: Any, keyspace: str) -> Any:
        """Return the model, or named table, in another keyspace; a model is derived once per keyspace."""
        if not isinstance(model, type):
            return type(model)(keyspace, model.name)
        shapes: dict[Any, Any] = model._shapes  # type: ignore[attr-defined]
        key = ("in keyspace", keyspace)
        if key not in shapes:
            shapes[key] = derived(model, keyspace, None)
        return shapes[key]


def derived(model: Any, keyspace: str | None, connection: Any) -> Any:
    """Return a model with the same name, table and columns."""
    attributes: dict[str, Any] = {
        "__module__": model.__module__,
        "__qualname__": model.__qualname__,
        "__abstract__": model.__abstract__,
        "__discriminator_value__": model.__discriminator_value__,
    }
    if keyspace:
        attributes["__keyspace__"] = keyspace
    if connection:
        attributes["__connection__"] = connection
    made: Any = type(model)(model.__name__, (model,), attributes)
    for name in ("_is_polymorphic_base", "_polymorphic_base", "_discriminator_map"):
        setattr(made, name, getattr(model, name))
    made._original = getattr(model, "_original", model)
    return made
