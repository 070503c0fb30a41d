"""Connection of a command: settings, sessions and context (L6).

Settings are arguments and those of the files of cqlsh: contact points, credentials, options of COPY. Arguments take
precedence, then the environment (``CQLSH_HOST``, ``CQLSH_PORT``, ``SSL_CERTFILE``, ``SSL_VALIDATE``,
``SSL_CHECK_HOSTNAME``), then the file. No repr or message has a password.
"""

from __future__ import annotations

import argparse
import configparser
import getpass
import re
import ssl
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from cassandra._base.constants import ConsistencyLevel
from cassandra._net.auth import PlainTextAuthProvider
from cassandra._net.tls import build_context
from cassandra._session.cluster import Cluster

from .console import Interrupts, ProgressDisplay, UsageError, warn
from .files import is_private
from .options import read_options
from .tables import Table
from .waiting import Pace, Waits

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 9042
PLACES = ("~/.cassandra/cqlshrc", "~/.cqlshrc")
PLAIN = "PlainTextAuthProvider"


class TlsFiles(NamedTuple):
    """Files of TLS that are arguments: authorities, the certificate of the client, and its key."""

    ca: str | None = None
    cert: str | None = None
    key: str | None = None


class CqlshFiles:
    """A ``cqlshrc``, and the credentials file that it may name. *path* None: no file."""

    def __init__(self, path: Path | None, environment: Mapping[str, str]) -> None:
        self.path = path
        self._environment = environment
        self._warned_of: set[str] = set()
        self._content = _read_config(path)
        named = self.get("authentication", "credentials")
        places = [named] if named else ["~/.cassandra/credentials"] if path is not None else []
        found = [place for place in (Path(name).expanduser() for name in places) if place.is_file()]
        if found and not is_private(found[0]):
            raise UsageError(
                f"the credentials file {found[0]} is not of this user, or other users can read it: chmod 600 {found[0]}"
            )
        self._credentials = _read_config(found[0] if found else None)
        if path is not None and self._has_password() and not is_private(path):
            self.warn(f"{path} has a password, and other users can read it: chmod 600 {path}")

    @classmethod
    def find(cls, given: str | None, environment: Mapping[str, str]) -> CqlshFiles:
        """Return the files for path *given*, or for the first default path that exists; ``none`` reads no file."""
        if given == "none":
            return cls(None, environment)
        if given is not None:
            path = Path(given).expanduser()
            if not path.is_file():
                raise UsageError(f"there is no file {given}")
            return cls(path, environment)
        usual = (Path(place).expanduser() for place in PLACES)
        return cls(next((path for path in usual if path.is_file()), None), environment)

    def _has_password(self) -> bool:
        return any("password" in self._content.options(section) for section in self._content.sections())

    def warn(self, text: str) -> None:
        """Show *text*, unless it was shown before."""
        if text not in self._warned_of:
            self._warned_of.add(text)
            warn(text)

    def get(self, section: str, option: str) -> str | None:
        return self._content.get(section, option, fallback=None)

    def host(self) -> str:
        return self._environment.get("CQLSH_HOST") or self.get("connection", "hostname") or DEFAULT_HOST

    def port(self) -> int:
        text = self._environment.get("CQLSH_PORT") or self.get("connection", "port")
        try:
            return DEFAULT_PORT if not text else int(text)
        except ValueError:
            raise UsageError(f"invalid port: {text!r}") from None

    def seconds(self, option: str) -> float | None:
        """Return ``timeout`` or ``request_timeout`` of the section ``connection``."""
        text = self.get("connection", option)
        try:
            return None if text is None else float(text)
        except ValueError:
            raise UsageError(f"invalid number of seconds in {self.path}: [connection] {option} = {text!r}") from None

    def wants_ssl(self) -> bool:
        return _truth(self.get("connection", "ssl") or "false", f"[connection] ssl in {self.path}")

    def protocol_version(self) -> int | None:
        text = self.get("protocol", "version")
        try:
            return None if text is None else int(text)
        except ValueError:
            raise UsageError(f"invalid protocol version in {self.path}: [protocol] version = {text!r}") from None

    def user(self) -> tuple[str | None, str | None]:
        """Return name and password; None for each that the files do not have."""
        sections = (
            (self._credentials, "plain_text_auth"),
            (self._credentials, PLAIN),
            (self._content, "authentication"),
        )
        found: dict[str, str | None] = {"username": None, "password": None}
        for option in found:
            for content, section in sections:
                if found[option] is None:
                    found[option] = content.get(section, option, fallback=None)
        return found["username"], found["password"]

    def auth_provider(self, user: str | None, password: str | None) -> Any:
        """Return the provider of the section ``auth_provider``, with *user* and *password* if given; None without
        credentials."""
        settings = dict(self._content.items("auth_provider")) if self._content.has_section("auth_provider") else {}
        module, name = settings.pop("module", None), settings.pop("classname", None)
        if (module is None) != (name is None):
            raise UsageError(f"[auth_provider] in {self.path} needs both module and classname")
        wanted = name or PLAIN
        if self._credentials.has_section(wanted):
            settings |= dict(self._credentials.items(wanted))
        settings |= {key: value for key, value in (("username", user), ("password", password)) if value is not None}
        if module in (None, "cassandra.auth") and wanted == PLAIN:
            if "username" not in settings:
                return None
            return PlainTextAuthProvider(settings["username"], settings.get("password", ""))
        try:
            return getattr(import_module(str(module)), wanted)(**settings)
        except (ImportError, AttributeError, TypeError) as error:
            # the text of the error may contain the arguments, which may be credentials
            raise UsageError(f"{module}.{wanted} of [auth_provider] cannot be made: {type(error).__name__}") from None

    def ssl_context(self, host: str, files: TlsFiles | None = None) -> ssl.SSLContext:
        """Return the TLS context for *files*, the section ``ssl`` and the environment.

        Certificates are verified unless ``validate`` is false. Host names are verified with the authorities of the
        system, and with those of ``certfile`` if ``check_hostname`` is true. A warning is shown if less is verified.
        """
        validates = self._truth("validate", "SSL_VALIDATE")
        checks = self._truth("check_hostname", "SSL_CHECK_HOSTNAME")
        given = files or TlsFiles()
        authority = (
            given.ca
            or self._environment.get("SSL_CERTFILE")
            or self.get("certfiles", host)
            or self.get("ssl", "certfile")
            or None
        )
        options: dict[str, Any] = {}
        if validates is False:
            if checks:
                raise UsageError("check_hostname of [ssl] needs validate")
            options["cert_reqs"] = ssl.CERT_NONE
            self.warn(
                "validate of [ssl], or SSL_VALIDATE, is false: any server is trusted and can read passwords and data"
            )
        else:
            options["cert_reqs"] = ssl.CERT_REQUIRED
            if checks is not None or authority is None:
                options["check_hostname"] = checks is not False
            if checks is False and authority is None:
                self.warn(
                    "check_hostname of [ssl], or SSL_CHECK_HOSTNAME, is false without a certfile: a certificate of "
                    "any domain is accepted, and its owner can read passwords and data"
                )
        own = (given.cert, given.key) if given.cert else (self.get("ssl", "usercert"), self.get("ssl", "userkey"))
        used = {"ca_certs": authority, "certfile": own[0], "keyfile": own[1]}
        options |= {name: str(Path(file).expanduser()) for name, file in used.items() if file}
        where = "--ca, --cert or --key" if any(given) else "[ssl]"
        try:
            return build_context(options)
        except (OSError, ssl.SSLError, ValueError) as error:
            raise UsageError(f"the certificates of {where} cannot be used: {error}") from None

    def _truth(self, option: str, variable: str) -> bool | None:
        """Return the value of the environment *variable* or of *option* in the section ``ssl``; None if neither is
        set."""
        text = self._environment.get(variable)
        if text:
            return _truth(text, variable)
        text = self.get("ssl", option)
        return _truth(text, f"{option} of [ssl]") if text else None

    def copy_options(self, direction: str, table: str) -> dict[str, tuple[str, str]]:
        """Return options of COPY, in lower case, with their section: later sections are more specific and override
        earlier ones."""
        found: dict[str, tuple[str, str]] = {}
        for section in ("copy", f"copy-{direction}", f"copy:{table}", f"copy-{direction}:{table}"):
            if self._content.has_section(section):
                found |= {name: (value, section) for name, value in self._content.items(section)}
        return found


def _read_config(path: Path | None) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser()
    if path is not None:
        try:
            parser.read_string(path.read_text("utf8"), str(path))
        except configparser.Error as error:
            # the text of the error would show lines of the file
            raise UsageError(f"{path} cannot be read: {type(error).__name__}") from None
        except UnicodeDecodeError:  # its text would show a part of the file
            raise UsageError(f"{path} cannot be read: not UTF-8") from None
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error}") from None
    return parser


def _truth(text: str, where: str) -> bool:
    if text.lower() not in configparser.RawConfigParser.BOOLEAN_STATES:
        raise UsageError(f"{where} must be true or false, not {text!r}")
    return configparser.RawConfigParser.BOOLEAN_STATES[text.lower()]


# ---- connection settings


class ConnectionSettings(NamedTuple):
    """Connection settings. The repr omits the auth provider, which has a password."""

    hosts: list[str]
    port: int
    auth_provider: Any
    ssl_context: ssl.SSLContext | None
    connect_timeout: float | None
    request_timeout: float | None
    protocol_version: int | None
    files: CqlshFiles
    tls: TlsFiles = TlsFiles()

    def __repr__(self) -> str:
        return f"<Wanted: {', '.join(self.hosts)}, port {self.port}>"

    def to(self, hosts: str) -> ConnectionSettings:
        """Return the same settings for another cluster, ``host`` or ``host:port``."""
        names = split_hosts(hosts)
        port = self.port
        if len(names) == 1 and names[0].count(":") == 1:
            name, _, text = names[0].partition(":")
            if not text.isdecimal():
                raise UsageError(f"invalid port: {text!r}")
            names, port = [name], int(text)
        context = None if self.ssl_context is None else self.files.ssl_context(names[0], self.tls)
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
    add = group.add_argument
    add("-H", "--host", metavar="HOSTS", help="contact points, comma-separated (default: from cqlshrc, or 127.0.0.1)")
    add("-P", "--port", type=int, help="port (default: from cqlshrc, or 9042)")
    add("-k", "--keyspace", metavar="NAME", help="keyspace of tables that are given without one")
    add("-u", "--user", metavar="NAME", help="user; the password is from cqlshrc, --password-file, or a prompt")
    add("--password-file", metavar="FILE", help="file whose first line is the password")
    add("--ssl", action="store_true", default=None, help="use TLS, with the section ssl of cqlshrc")
    add("--ca", metavar="FILE", help="use TLS, with these authorities (default: from cqlshrc, or the system's)")
    add("--cert", metavar="FILE", help="use TLS, with this certificate of the client")
    add("--key", metavar="FILE", help="key of --cert (default: in the file of --cert)")
    add("--cqlshrc", metavar="FILE", help='settings of cqlsh (default: ~/.cassandra/cqlshrc); "none": no file')
    add(
        "--consistency",
        metavar="LEVEL",
        help="consistency level (default: LOCAL_ONE for reads, LOCAL_QUORUM for writes and diff)",
    )


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


def settings_of(arguments: argparse.Namespace, files: CqlshFiles, environment: Mapping[str, str]) -> ConnectionSettings:
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
        password = _ask_password(user)
    tls = TlsFiles(arguments.ca, arguments.cert, arguments.key)
    if tls.key and not tls.cert:
        raise UsageError("--key needs --cert")
    return ConnectionSettings(
        hosts,
        arguments.port if arguments.port is not None else files.port(),
        files.auth_provider(user, password),
        files.ssl_context(hosts[0], tls) if (arguments.ssl or any(tls) or files.wants_ssl()) else None,
        files.seconds("timeout"),
        files.seconds("request_timeout"),
        files.protocol_version(),
        files,
        tls,
    )


def _password(path: Path, files: CqlshFiles) -> str:
    try:
        if not is_private(path):
            files.warn(f"{path} has a password, and other users can read it: chmod 600 {path}")
        return path.read_text("utf8").split("\n", 1)[0].rstrip("\r")
    except UnicodeDecodeError:  # its text would show a part of the password
        raise UsageError(f"the password cannot be read: {path} is not UTF-8") from None
    except OSError as error:
        raise UsageError(f"the password cannot be read: {error}") from None


def _ask_password(user: str | None) -> str:
    if not sys.stdin.isatty():
        raise UsageError(f"no password for {user}: use --password-file")
    return getpass.getpass(f"Password of {user}: ")


# ---- context of a command

_NAME = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^",\s][^",]*?))\s*(?=,|$)')


class Context:
    """One command. Its clusters are shut down when it ends."""

    def __init__(
        self, arguments: argparse.Namespace, files: CqlshFiles, wanted: ConnectionSettings, interrupts: Interrupts
    ) -> None:
        self.arguments = arguments
        self.files = files
        self.held = interrupts.held
        self._settings = wanted
        self._stack = ExitStack()

    def __enter__(self) -> Context:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def session(self, host: str | None = None) -> Any:
        """Return a session of the cluster, or of another one at *host*."""
        wanted = self._settings if host is None else self._settings.to(host)
        cluster = wanted.cluster()
        self._stack.callback(cluster.shutdown)
        session = cluster.connect(wait_for_all_pools=True)  # a scan sends requests to all shards
        if wanted.request_timeout is not None:
            session.default_timeout = wanted.request_timeout
        return session

    def table(self, session: Any, name: str) -> Table:
        """Return the table *name*, of the keyspace of --keyspace if it names none."""
        keyspaces = columns_of(self.arguments.keyspace) or []
        if len(keyspaces) > 1:
            raise UsageError(f"expected one keyspace, got {self.arguments.keyspace!r}")
        return Table(session, name, *keyspaces)

    def display(self, title: str) -> ProgressDisplay:
        """Return the display of the command; each command has one. Its waits and its pace are made with it."""
        display = self._stack.enter_context(ProgressDisplay(title, self.arguments.quiet))
        self.waits = Waits(display, self.arguments.give_up)
        self.pace = Pace(display, getattr(self.arguments, "rate", None))
        return display

    @property
    def reads(self) -> int:
        return level_of(self.arguments.consistency, ConsistencyLevel.LOCAL_ONE)

    @property
    def writes(self) -> int:
        return level_of(self.arguments.consistency, ConsistencyLevel.LOCAL_QUORUM)

    @property
    def compares(self) -> int:
        """Consistency level of reads that are compared: a single replica may return stale data."""
        return level_of(self.arguments.consistency, ConsistencyLevel.LOCAL_QUORUM)

    def copy_options(self, direction: str, table: Table) -> Mapping[str, Any]:
        return read_options(self.arguments, self.files.copy_options(direction, table.file_name), direction)

    def checkpoint(self, usual: str) -> Path:
        """Return the path of the checkpoint."""
        return Path(self.arguments.checkpoint or usual)


def columns_of(text: str | None) -> list[str] | None:
    """Return column names as CQL spells them: comma-separated, quoted or not."""
    if text is None:
        return None
    found, at = [], 0
    while at <= len(text):
        match = _NAME.match(text, at)
        if match is None:
            raise UsageError(f"expected comma-separated column names, got {text!r}")
        quoted, plain = match.groups()
        found.append(quoted.replace('""', '"') if quoted else plain.lower())
        at = match.end() + 1
    return found
