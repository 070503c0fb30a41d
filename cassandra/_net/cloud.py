"""Secure connect bundles: address, credentials and certificates of a database behind a proxy (L3;
``cassandra.datastax.cloud``).

A bundle is a zip archive: ``config.json`` has the address of the database's metadata service; ``ca.crt``, ``cert`` and
``key`` are for TLS with that service and with the nodes. The service returns the proxy's address and the host ids; the
proxy routes by host id as server name (SNI). Imported only if a bundle is used.

The certificate authority of a bundle is private to its database, and the names in its certificates are not node names:
the driver checks only that the peer has a certificate of that authority. Keys and passwords are secrets: they appear in
no error or log text. OpenSSL reads keys from files only; the files exist during that read, in a folder that only the
owner can read.
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
from cassandra._base.objects import public

log = get_logger("cassandra.datastax.cloud")

DATASTAX_CLOUD_PRODUCT_TYPE = "DATASTAX_APOLLO"  #: Name of DataStax Astra in the responses of servers.

CONFIG, CERTIFICATES = "config.json", ("ca.crt", "cert", "key")
MAX_MEMBER = 1 << 20  # bytes of a file in a bundle, and of a response of the service
CONNECT_TIMEOUT = 5.0  # seconds, unless the configuration has a connect_timeout
NOT_A_BUNDLE = "Unable to open the zip file for the cloud config. Check your secure connect bundle"


@public("cassandra.datastax.cloud")
class CloudConfig:
    """Configuration from a bundle, completed by the metadata service."""

    username: str | None = None  #: Name of the user.
    password: str | None = None  #: Password.
    host: str | None = None  #: Address of the metadata service.
    port: int | None = None  #: TCP port of the metadata service.
    keyspace: str | None = None  #: Keyspace of the bundle.
    local_dc: str | None = None  #: Name of the datacenter.
    ssl_context: ssl.SSLContext | None = None  #: TLS context with the certificates of the bundle.
    sni_host: str | None = None  #: Address of the proxy.
    sni_port: int | None = None  #: TCP port of the proxy.
    host_ids: list[str] | None = None  #: Ids of the nodes.

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> CloudConfig:
        """Make a configuration from the content of ``config.json``, unchecked."""
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
    """Return the configuration from the bundle ``cloud_config["secure_connect_bundle"]`` and its metadata service.

    The bundle is a path, its bytes, or a binary file. ``connect_timeout`` is in seconds; ``use_default_tempdir`` is
    accepted and ignored: the default folder is always used. Blocks. Raises FileNotFoundError, ValueError for an invalid
    or damaged bundle, DriverException if the service cannot be reached or its response is invalid.
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
    """Read the bundle only. Raises ``zipfile.BadZipFile`` if it is not an archive; else as :func:`get_cloud_config`."""
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
    """Read an unpacked bundle: *path* is its ``config.json``; the other files are in the same folder."""
    config = Path(path)
    return _of_files({CONFIG: config.read_bytes(), **{n: (config.parent / n).read_bytes() for n in CERTIFICATES}})


@public("cassandra.datastax.cloud")
def read_metadata_info(config: CloudConfig, cloud_config: Mapping[str, Any]) -> CloudConfig:
    """Complete *config* from the metadata service. Blocks; raises DriverException if its response is not usable."""
    url = f"https://{config.host}:{config.port}/metadata"
    timeout = cloud_config.get("connect_timeout", CONNECT_TIMEOUT)
    connection = HTTPSConnection(config.host or "", config.port, timeout=timeout, context=config.ssl_context)
    try:
        connection.request("GET", "/metadata")
        with connection.getresponse() as response:
            data = response.read(MAX_MEMBER + 1)
    except ssl.SSLError as error:
        raise DriverException(
            f"TLS with the metadata service at {url} failed: {error.reason or error}. The bundle may be of another "
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
        raise DriverException(f"The response of {url} is longer than {MAX_MEMBER} bytes")
    return parse_metadata_info(config, data.decode("utf-8", "replace"))


@public("cassandra.datastax.cloud")
def parse_metadata_info(config: CloudConfig, http_data: str | bytes) -> CloudConfig:
    """Complete *config* from *http_data*, a response of the metadata service. Raises DriverException if a required
    field is missing or invalid."""
    try:
        data = json.loads(http_data)
    except ValueError as error:
        raise DriverException("Failed to load cluster metadata: the response is not JSON") from error
    contact = data.get("contact_info") if isinstance(data, dict) else None
    if not isinstance(contact, dict):
        raise DriverException("The cluster metadata have no contact_info")
    address, ids = contact.get("sni_proxy_address"), contact.get("contact_points")
    host, _, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
    if not host:
        raise DriverException(f"The cluster metadata have no sni_proxy_address with host and port: {address!r}")
    if not isinstance(ids, list) or not ids or not all(isinstance(one, str) and one for one in ids):
        raise DriverException(f"The contact_points of the cluster metadata are not a list of host ids: {ids!r}")
    try:
        config.sni_port = _port(port, "the port of the sni_proxy_address")
    except ValueError as error:
        raise DriverException(f"Invalid cluster metadata: {error}") from None
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
    except Exception as error:  # zlib.error, NotImplementedError, RuntimeError for an encrypted archive
        raise ValueError(f"{NOT_A_BUNDLE}. ({name} cannot be read: {error})") from error
    if len(content) > MAX_MEMBER:
        raise ValueError(f"{NOT_A_BUNDLE}. ({name} has more than {MAX_MEMBER} bytes)")
    return content


def _of_files(files: Mapping[str, bytes]) -> CloudConfig:
    try:
        data = json.loads(files[CONFIG])
    except ValueError:  # the exception may quote the file, which has passwords
        raise ValueError(f"{NOT_A_BUNDLE}. ({CONFIG} is not JSON)") from None
    if not isinstance(data, dict) or not isinstance(data.get("host"), str) or data.get("port") is None:
        raise ValueError(f"{NOT_A_BUNDLE}. ({CONFIG} lacks host or port of the metadata service)")
    config = CloudConfig.from_dict(data)
    config.port = _port(config.port, f"the port in {CONFIG}")
    config.ssl_context = _context(files)
    log.debug("The metadata service is at %s:%s", config.host, config.port)
    return config


def _context(files: Mapping[str, bytes]) -> ssl.SSLContext:
    from .tls import private_context

    with tempfile.TemporaryDirectory(prefix="fastcql-") as folder:  # readable by its owner only
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
