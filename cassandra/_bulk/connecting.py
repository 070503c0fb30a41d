"""A session from arguments (L6)."""

from __future__ import annotations

import argparse
import getpass
import ssl
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cassandra._base.constants import ConsistencyLevel
from cassandra._session.cluster import Cluster

from .cqlshrc import CqlshFiles
from .errors import UsageError
from .private import is_private


class Wanted(NamedTuple):
    """Connection settings. The repr omits the auth provider, which has a password."""

    hosts: list[str]
    port: int
    auth_provider: Any
    ssl_context: ssl.SSLContext | None
    connect_timeout: float | None
    request_timeout: float | None
    protocol_version: int | None
    files: CqlshFiles

    def __repr__(self) -> str:
        return f"<Wanted: {', '.join(self.hosts)}, port {self.port}>"

    def to(self, hosts: str) -> Wanted:
        """Return the same settings for another cluster, ``host`` or ``host:port``."""
        names = split_hosts(hosts)
        port = self.port
        if len(names) == 1 and names[0].count(":") == 1:
            name, _, text = names[0].partition(":")
            if not text.isdecimal():
                raise UsageError(f"invalid port: {text!r}")
            names, port = [name], int(text)
        context = None if self.ssl_context is None else self.files.ssl_context(names[0])
        return self._replace(hosts=names, port=port, ssl_context=context)

    def cluster(self) -> Any:
        options: dict[str, Any] = {}
        if self.connect_timeout is not None:
            options["connect_timeout"] = self.connect_timeout
        if self.protocol_version is not None:
            options["protocol_version"] = self.protocol_version
        return Cluster(
            self.hosts,
            port=self.port,
            auth_provider=self.auth_provider,
            ssl_context=self.ssl_context,
            compression=not all(map(_is_here, self.hosts)),  # compression only costs CPU time for a local server
            **options,
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("connection")
    group.add_argument("--host", help="contact points, comma-separated (default: from cqlshrc, or 127.0.0.1)")
    group.add_argument("--port", type=int, help="default: from cqlshrc, or 9042")
    group.add_argument("--user", help="user name; the password is from cqlshrc, --password-file, or a prompt")
    group.add_argument("--password-file", metavar="FILE", help="a file whose first line is the password")
    group.add_argument("--ssl", action="store_true", default=None, help="use TLS, with the section ssl of cqlshrc")
    group.add_argument("--cqlshrc", metavar="FILE", help='default: ~/.cassandra/cqlshrc; "none" disables it')
    group.add_argument("--consistency", metavar="LEVEL", help="reads (default: LOCAL_ONE) and writes (LOCAL_QUORUM)")


def level_of(name: str | None, default: int) -> int:
    if name is None:
        return default
    found = ConsistencyLevel.name_to_value.get(name.upper())
    if found is None:
        raise UsageError(f"invalid consistency level: {name}")
    return int(found)


def _is_here(host: str) -> bool:
    return host == "localhost" or host.startswith("127.") or host == "::1"


def split_hosts(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise UsageError("no host given")
    return names


def wanted(arguments: argparse.Namespace, files: CqlshFiles, environment: Mapping[str, str]) -> Wanted:
    hosts = split_hosts(arguments.host or files.host())
    user, password = files.user()
    if arguments.user is not None:
        password = password if arguments.user == user else None
        user = arguments.user
    if arguments.password_file is not None:
        if user is None:
            raise UsageError("--password-file needs --user")
        password = _password(Path(arguments.password_file), files)
    elif arguments.user is not None and password is None:
        password = _asked(user)
    return Wanted(
        hosts,
        arguments.port if arguments.port is not None else files.port(),
        files.auth_provider(user, password),
        files.ssl_context(hosts[0]) if (arguments.ssl or files.wants_ssl()) else None,
        files.seconds("timeout"),
        files.seconds("request_timeout"),
        files.protocol_version(),
        files,
    )


def _password(path: Path, files: CqlshFiles) -> str:
    try:
        if not is_private(path):
            files.warn(f"{path} has a password, and other users can read it: chmod 600 {path}")
        return path.read_text("utf8").split("\n", 1)[0].rstrip("\r")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the password cannot be read: {error}") from None


def _asked(user: str | None) -> str:
    if not sys.stdin.isatty():
        raise UsageError(f"no password for {user}: use --password-file")
    return getpass.getpass(f"Password of {user}: ")
