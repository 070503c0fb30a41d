"""Identification of user functions and aggregates: name and argument types (L0)."""

from collections.abc import Iterable

from cassandra._base.public import public


@public("cassandra")
class SignatureDescriptor:
    """A name with the CQL types of its arguments."""

    def __init__(self, name: str, argument_types: Iterable[str]) -> None:
        self.name = name
        self.argument_types = argument_types

    @property
    def signature(self) -> str:
        """``name(type,type)``, the key of the function in keyspace metadata."""
        return self.format_signature(self.name, self.argument_types)

    @staticmethod
    def format_signature(name: str, argument_types: Iterable[str]) -> str:
        return f"{name}({','.join(argument_types)})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.argument_types})"


@public("cassandra")
class UserFunctionDescriptor(SignatureDescriptor):
    """Identifies a user function for metadata refreshes and look-ups.

    ``name`` and ``argument_types`` are the arguments of the constructor.
    """


@public("cassandra")
class UserAggregateDescriptor(SignatureDescriptor):
    """Identifies a user aggregate for metadata refreshes and look-ups."""
