"""Secure connect bundles: all that a client needs to find and trust a database behind a proxy (L3;
``cassandra.datastax.cloud``).

A bundle is a zip archive: ``config.json`` says where the metadata service of the database is, ``ca.crt``, ``cert`` and
``key`` are for TLS with that service and with the nodes. The service tells the proxy's address and the host ids, which
are the server names (SNI) that the proxy tells nodes apart by. Imported only where there is a bundle.

The authority of a bundle is private to its database, and names in certificates are not those of nodes: what is checked
is that the other side has a certificate of that authority. A key is a secret, a password too: neither is in any text
here. OpenSSL reads keys from files only; they are in a folder that nobody else can read, for as long as that takes.
"""

from __future__ import annotations

import io
import json
import os
import ssl
import tempfile
import zipfile
from collections.abc import Mapping
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any

from cassandra._base.errors import DriverException
from cassandra._base.logs import get_logger
from cassandra._base.public import public

log = get_logger("cassandra.datastax.cloud")

DATASTAX_CLOUD_PRODUCT_TYPE = "DATASTAX_APOLLO"

CONFIG, CERTIFICATES = "config.json", ("ca.crt", "cert", "key")
MAX_MEMBER = 1 << 20  # bytes of a file of a bundle, and of an answer of the service
CONNECT_TIMEOUT = 5.0  # seconds, unless the configuration has a connect_timeout
NOT_A_BUNDLE = "Unable to open the zip file for the cloud config. Check your secure connect bundle"


@public("cassandra.datastax.cloud")
class CloudConfig:
    """What a bundle says, and then the metadata service."""

    username: str | None = None
    password: str | None = None
    host: str | None = None
    port: int | None = None
    keyspace: str | None = None
    local_dc: str | None = None
    ssl_context: ssl.SSLContext | None = None
    sni_host: str | None = None
    sni_port: int | None = None
    host_ids: list[str] | None = None

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> CloudConfig:
        """Of what ``config.json`` has, unchecked."""
        config = cls()
        port = d.get("port")
        config.port = int(port) if isinstance(port, str) and port.isdecimal() else port
        config.username, config.password = d.get("username"), d.get("password")
        config.host, config.keyspace, config.local_dc = d.get("host"), d.get("keyspace"), d.get("localDC")
        return config

    def __repr__(self) -> str:
        proxy = None if self.sni_host is None else f"{self.sni_host}:{self.sni_port}"
        return f"<{type(self).__name__}: {self.host}:{self.port}, local_dc={self.local_dc!r}, proxy={proxy!r}>"


@public("cassandra.datastax.cloud")
def get_cloud_config(cloud_config: Mapping[str, Any]) -> CloudConfig:
    """What the bundle ``cloud_config["secure_connect_bundle"]`` says, and what its metadata service does.

    The bundle is a path, its bytes, or a binary file. ``connect_timeout`` is in seconds; ``use_default_tempdir`` is
    accepted, and always so. Blocks. FileNotFoundError, ValueError for what is no bundle or a damaged one,
    DriverException when the service cannot be reached or says nonsense.
    """
    if not isinstance(cloud_config, Mapping):
        raise TypeError(f"cloud should be a dict with a secure_connect_bundle, not a {type(cloud_config).__name__}")
    if not cloud_config.get("secure_connect_bundle"):
        raise ValueError("The cloud config doesn't have a secure_connect_bundle specified.")
    try:
        config = read_cloud_config_from_zip(cloud_config)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{NOT_A_BUNDLE}. ({error})") from None
    return read_metadata_info(config, cloud_config)


@public("cassandra.datastax.cloud")
def read_cloud_config_from_zip(cloud_config: Mapping[str, Any]) -> CloudConfig:
    """What the bundle itself says. ``zipfile.BadZipFile`` if it is no archive; else as :func:`get_cloud_config`."""
    bundle = cloud_config["secure_connect_bundle"]
    if isinstance(bundle, (bytes, bytearray, memoryview)):
        source: Any = io.BytesIO(bundle)
    else:
        source = bundle if hasattr(bundle, "read") else os.fspath(bundle)
    with zipfile.ZipFile(source) as archive:
        files = {name: _member(archive, name) for name in (CONFIG, *CERTIFICATES)}
    return _of_files(files)


@public("cassandra.datastax.cloud")
def parse_cloud_config(path: str | os.PathLike[str], cloud_config: Mapping[str, Any]) -> CloudConfig:
    """What a bundle that was unpacked says: *path* is its ``config.json``; the other files are beside it."""
    config = Path(path)
    return _of_files({CONFIG: config.read_bytes(), **{n: (config.parent / n).read_bytes() for n in CERTIFICATES}})


@public("cassandra.datastax.cloud")
def read_metadata_info(config: CloudConfig, cloud_config: Mapping[str, Any]) -> CloudConfig:
    """*config*, with what the metadata service says. Blocks; DriverException if it says nothing that could be used."""
    url = f"https://{config.host}:{config.port}/metadata"
    timeout = cloud_config.get("connect_timeout", CONNECT_TIMEOUT)
    connection = HTTPSConnection(config.host or "", config.port, timeout=timeout, context=config.ssl_context)
    try:
        connection.request("GET", "/metadata")
        with connection.getresponse() as response:
            data = response.read(MAX_MEMBER + 1)
    except ssl.SSLError as error:
        raise DriverException(
            f"No TLS with the metadata service at {url}: {error.reason or error}. The bundle may be of another "
            "database, or its certificates may have expired: download it again"
        ) from error
    except (OSError, HTTPException) as error:
        raise DriverException(
            f"Unable to connect to the metadata service at {url}. Check the cluster status in the cloud console. "
            f"({error})"
        ) from error
    finally:
        connection.close()
    if response.status != 200:
        raise DriverException(
            f"Error while fetching the metadata at: {url}. The service returned error code {response.status}."
        )
    if len(data) > MAX_MEMBER:
        raise DriverException(f"The metadata at {url} are longer than {MAX_MEMBER} bytes")
    return parse_metadata_info(config, data.decode("utf-8", "replace"))


@public("cassandra.datastax.cloud")
def parse_metadata_info(config: CloudConfig, http_data: str | bytes) -> CloudConfig:
    """*config*, with what the answer *http_data* of the metadata service says; DriverException if it lacks
    something."""
    try:
        data = json.loads(http_data)
    except ValueError as error:
        raise DriverException("Failed to load cluster metadata: the service did not answer with JSON") from error
    contact = data.get("contact_info") if isinstance(data, dict) else None
    if not isinstance(contact, dict):
        raise DriverException("The cluster metadata have no contact_info")
    address, ids = contact.get("sni_proxy_address"), contact.get("contact_points")
    host, _, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
    if not host:
        raise DriverException(f"The cluster metadata have no sni_proxy_address with host and port: {address!r}")
    if not isinstance(ids, list) or not ids or not all(isinstance(one, str) and one for one in ids):
        raise DriverException(f"The contact_points of the cluster metadata are no list of host ids: {ids!r}")
    try:
        config.sni_port = _port(port, "the port of the sni_proxy_address")
    except ValueError as error:
        raise DriverException(f"The cluster metadata make no sense: {error}") from None
    config.sni_host = host.strip("[]")
    config.local_dc = contact.get("local_dc") or config.local_dc
    config.host_ids = ids
    return config


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        with archive.open(name) as member:
            content = member.read(MAX_MEMBER + 1)
    except KeyError:
        raise ValueError(f"{NOT_A_BUNDLE}. (It has no {name})") from None
    except Exception as error:  # zlib.error, NotImplementedError, RuntimeError of an encrypted one
        raise ValueError(f"{NOT_A_BUNDLE}. ({name} cannot be read: {error})") from error
    if len(content) > MAX_MEMBER:
        raise ValueError(f"{NOT_A_BUNDLE}. ({name} has more than {MAX_MEMBER} bytes)")
    return content


def _of_files(files: Mapping[str, bytes]) -> CloudConfig:
    try:
        data = json.loads(files[CONFIG])
    except ValueError:  # its text may be in the exception, and passwords are in that
        raise ValueError(f"{NOT_A_BUNDLE}. ({CONFIG} is not JSON)") from None
    if not isinstance(data, dict) or not isinstance(data.get("host"), str) or data.get("port") is None:
        raise ValueError(f"{NOT_A_BUNDLE}. ({CONFIG} does not say host and port of the metadata service)")
    config = CloudConfig.from_dict(data)
    config.port = _port(config.port, f"the port in {CONFIG}")
    config.ssl_context = _context(files)
    log.debug("The metadata service is at %s:%s", config.host, config.port)
    return config


def _context(files: Mapping[str, bytes]) -> ssl.SSLContext:
    from cassandra._net.tls.context import private_context

    with tempfile.TemporaryDirectory(prefix="fastcql-") as folder:  # readable for its owner
        paths = [Path(folder) / name for name in CERTIFICATES]
        for path in paths:
            path.touch(0o600)
            path.write_bytes(files[path.name])
        try:
            return private_context(*paths)
        except ValueError as error:
            raise ValueError(f"{NOT_A_BUNDLE}. ({error})") from None


def _port(value: Any, what: str) -> int:
    try:
        port = int(value)
    except (TypeError, ValueError):
        port = 0
    if not 0 < port < 65536:
        raise ValueError(f"{what} is not between 1 and 65535: {value!r}")
    return port
