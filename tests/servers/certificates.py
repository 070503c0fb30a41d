"""A throw-away certificate authority: one server certificate for a cluster, one for a client."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

EXTENSIONS = """
[req]
distinguished_name = subject
x509_extensions = extensions
[subject]
[extensions]
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
"""


@dataclass(frozen=True)
class Certificates:
    """PEM files: the CA's certificate; the server's key and chain; a client's key and certificate."""

    ca: Path
    server: Path
    client_key: Path
    client_cert: Path

    @classmethod
    def generate(cls, folder: Path, addresses: Sequence[str], names: Sequence[str] = ("localhost",)) -> Certificates:
        """Make everything in *folder*; the server certificate is valid for *addresses* and *names*."""
        folder.mkdir(parents=True, exist_ok=True)
        made = cls(folder / "ca.pem", folder / "server.pem", folder / "client.key", folder / "client.pem")
        ca_key, server_key = folder / "ca.key", folder / "server.key"
        usage = ["basicConstraints = critical, CA:TRUE", "keyUsage = critical, digitalSignature, keyCertSign, cRLSign"]
        _make("fastcql test CA", made.ca, ca_key, usage)

        usage = ["basicConstraints = critical, CA:FALSE", "keyUsage = critical, digitalSignature"]
        alternatives = ", ".join([*(f"IP:{address}" for address in addresses), *(f"DNS:{name}" for name in names)])
        issuer = ["-CA", str(made.ca), "-CAkey", str(ca_key)]
        _make("cassandra", made.server, server_key, [*usage, f"subjectAltName = {alternatives}"], issuer)
        made.server.write_bytes(b"".join(path.read_bytes() for path in (server_key, made.server, made.ca)))
        _make("client", made.client_cert, made.client_key, usage, issuer)
        return made

    def context(self, *, check_hostname: bool = True, client: bool = True) -> ssl.SSLContext:
        """A client's context: trusts only this CA and, with *client*, shows the client certificate."""
        context = ssl.create_default_context(cafile=str(self.ca))
        context.check_hostname = check_hostname
        if client:
            context.load_cert_chain(str(self.client_cert), str(self.client_key))
        return context


def _make(name: str, certificate: Path, key: Path, extensions: Sequence[str], issuer: Sequence[str] = ()) -> None:
    """Write a new *key* and its *certificate*; without *issuer* it is signed with that key."""
    config = certificate.with_suffix(".cnf")
    config.write_text(EXTENSIONS + "\n".join(extensions) + "\n")
    command = ["openssl", "req", "-x509", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-days", "30", "-sha256", "-subj", f"/CN={name}", "-config", str(config), *issuer]
    subprocess.run([*command, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
