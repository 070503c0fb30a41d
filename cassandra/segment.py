"""Protocol 5 segments are native; what is left here is the exception for a wrong checksum."""

from cassandra._base.errors import CrcException

__all__ = ["CrcException"]
