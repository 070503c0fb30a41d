"""A throw-away certificate authority: one server certificate for a cluster, one for a client."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


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
        ca_key = ec.generate_private_key(ec.SECP256R1())
        ca = _sign("fastcql test CA", ca_key, None, ca_key)
        made.ca.write_bytes(_pem(ca))

        server_key = ec.generate_private_key(ec.SECP256R1())
        alternatives: list[x509.GeneralName] = [x509.IPAddress(ipaddress.ip_address(ip)) for ip in addresses]
        alternatives += [x509.DNSName(name) for name in names]
        server = _sign("cassandra", server_key, ca, ca_key, alternatives)
        made.server.write_bytes(_pem_key(server_key) + _pem(server) + _pem(ca))

        client_key = ec.generate_private_key(ec.SECP256R1())
        made.client_key.write_bytes(_pem_key(client_key))
        made.client_cert.write_bytes(_pem(_sign("client", client_key, ca, ca_key)))
        return made

    def context(self, *, check_hostname: bool = True, client: bool = True) -> ssl.SSLContext:
        """A client's context: trusts only this CA and, with *client*, shows the client certificate."""
        context = ssl.create_default_context(cafile=str(self.ca))
        context.check_hostname = check_hostname
        if client:
            context.load_cert_chain(str(self.client_cert), str(self.client_key))
        return context


def _sign(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    issuer_key: ec.EllipticCurvePrivateKey,
    alternatives: Sequence[x509.GeneralName] = (),
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(timezone.utc)
    is_ca = issuer is None
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                key_cert_sign=is_ca,
                crl_sign=is_ca,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
    )
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _pem_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
