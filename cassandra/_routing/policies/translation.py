"""Address translation: from the address that a node announces to the one that this client connects to (L4)."""

from __future__ import annotations

import socket

from cassandra._base.logs import get_logger
from cassandra._base.objects import public

log = get_logger("cassandra.policies")


@public("cassandra.policies")
class AddressTranslator:
    """Maps the addresses found in system tables and events. Subclass it for nodes behind NAT."""

    def translate(self, addr: str) -> str:
        """Return the address to connect to for the node that announces *addr*. May block; not called per request."""
        raise NotImplementedError

    @property
    def _is_identity(self) -> bool:
        return type(self).translate is IdentityTranslator.translate


@public("cassandra.policies")
class IdentityTranslator(AddressTranslator):
    """Returns addresses unchanged; the default."""

    def translate(self, addr: str) -> str:
        return addr


@public("cassandra.policies")
class EC2MultiRegionTranslator(AddressTranslator):
    """For clusters in several EC2 regions: translates public addresses to private ones for nodes in this region.

    Looks up the DNS name of the public address; for clients inside the region, EC2 resolves that name to the private
    address.
    """

    def translate(self, addr: str) -> str:
        """Return the private address if DNS has one, else *addr*."""
        name = socket.getfqdn(addr)
        try:
            found = socket.getaddrinfo(name, 0, socket.AF_UNSPEC, socket.SOCK_STREAM)
        except OSError as error:
            log.debug("No address for %s (%s): %s", name, addr, error)
            return addr
        return str(found[0][4][0]) if found else addr
