"""Address translation: from the address a node gives out to the one this client reaches it by (L4)."""

from __future__ import annotations

import socket

from cassandra._base.logs import get_logger
from cassandra._base.public import public

log = get_logger("cassandra.policies")


@public("cassandra.policies")
class AddressTranslator:
    """Maps the addresses found in system tables and events. Subclass it where nodes are behind NAT."""

    def translate(self, addr: str) -> str:
        """The address to connect to for the node that calls itself *addr*. May block; not called per request."""
        raise NotImplementedError

    @property
    def _is_identity(self) -> bool:
        return type(self).translate is IdentityTranslator.translate


@public("cassandra.policies")
class IdentityTranslator(AddressTranslator):
    """Leaves addresses as they are; the default."""

    def translate(self, addr: str) -> str:
        return addr


@public("cassandra.policies")
class EC2MultiRegionTranslator(AddressTranslator):
    """For clusters over several EC2 regions: public addresses become private ones where the node is in this region.

    Asks DNS for the name of the public address; EC2 answers for that name with the private address to clients inside.
    """

    def translate(self, addr: str) -> str:
        """The private address if DNS gives one, else *addr* itself."""
        name = socket.getfqdn(addr)
        try:
            found = socket.getaddrinfo(name, 0, socket.AF_UNSPEC, socket.SOCK_STREAM)
        except OSError as error:
            log.debug("No address for %s (%s): %s", name, addr, error)
            return addr
        return str(found[0][4][0]) if found else addr
