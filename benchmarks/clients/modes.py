"""Ways to talk to the responder, for the drivers that share an API: plaintext, compressed, by TLS."""

from __future__ import annotations

import ssl
from typing import Any

PLAIN, V5, LZ4, TLS = "plain", "v5", "lz4", "tls"


def options(mode: str = PLAIN, authority: str = "") -> dict[str, Any]:
    """For ``Cluster``; *authority* is the PEM file of who signed the responder's certificate."""
    if mode == LZ4:
        return {"protocol_version": 5, "compression": "lz4"}
    if mode == V5:
        return {"protocol_version": 5, "compression": False}
    found: dict[str, Any] = {"protocol_version": 4, "compression": False}
    if mode == TLS:
        found["ssl_context"] = ssl.create_default_context(cafile=authority)
    return found
