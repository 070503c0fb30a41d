"""The TLS filter against an in-memory server: handshake, data, host names, sessions, the end, and every clear error."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest

from cassandra._base.errors import ConnectionException
from cassandra._core.transport import Channel, Frame
from cassandra._net.endpoint import DefaultEndPoint, EndPoint, SniEndPoint
from cassandra._net.options import ConnectionOptions
from cassandra._net.tls import SSLSessionCache, TlsFilter, build_context, make_filter
from tests.servers.certificates import Certificates
from tests.unit.net.reactors import made_reactor

ENDPOINT = DefaultEndPoint("127.0.0.1")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.generate(tmp_path_factory.mktemp("tls"), ["127.0.0.1"], ["db.example"])


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Of another authority, for another address."""
    return Certificates.generate(tmp_path_factory.mktemp("strangers"), ["10.9.9.9"], ["other.example"])


def server_context(certificates: Certificates) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(certificates.server))
    return context


class Peer:
    """The server's side of one TLS session, in memory."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=True)
        self.established = False
        self.received = b""

    def feed(self, data: bytes) -> bytes:
        self.incoming.write(data)
        try:
            if not self.established:
                self.tls.do_handshake()
                self.established = True
            while piece := self.tls.read(65536):
                self.received += piece
        except ssl.SSLWantReadError:
            pass
        return self.outgoing.read()

    def say(self, data: bytes) -> bytes:
        self.tls.write(data)
        return self.outgoing.read()

    def bye(self) -> bytes:
        with pytest.raises(ssl.SSLWantReadError):
            self.tls.unwrap()
        return self.outgoing.read()


def shake(client: TlsFilter, peer: Peer, piece: int = 1 << 20) -> None:
    """Both sides until the client is done; the server's flights cut into pieces."""
    to_server = client.start()
    for _ in range(10):
        to_client = peer.feed(to_server)
        to_server = b""
        for start in range(0, len(to_client), piece):
            plaintext, more, error = client.receive(to_client[start : start + piece])
            assert (plaintext, error) == (b"", None)
            to_server += more
        if client.established and peer.established and not to_server:
            return
    raise AssertionError("the handshake did not end")


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_ways(certificates: Certificates, version: ssl.TLSVersion, piece: int) -> None:
    context = server_context(certificates)
    context.maximum_version = version
    client, peer = TlsFilter(certificates.context(), ENDPOINT), Peer(context)
    assert not client.established
    shake(client, peer, piece)
    peer.feed(client.send(b"hello"))
    assert peer.received == b"hello"
    data = peer.say(b"world" * 10_000)
    plaintext = b"".join(client.receive(data[i : i + 1000])[0] for i in range(0, len(data), 1000))
    assert plaintext == b"world" * 10_000
    big = bytes(range(256)) * 4096
    peer.feed(client.send(big))
    assert peer.received == b"hello" + big


def test_orderly_end(certificates: Certificates) -> None:
    client, peer = TlsFilter(certificates.context(), ENDPOINT), Peer(server_context(certificates))
    shake(client, peer)
    assert client.receive(peer.say(b"last") + peer.bye())[0] == b"last"
    client.eof()


def test_our_end_is_orderly(certificates: Certificates) -> None:
    client, peer = TlsFilter(certificates.context(), ENDPOINT), Peer(server_context(certificates))
    shake(client, peer)
    closing = client.shutdown()
    peer.incoming.write(closing)
    assert peer.tls.read(10) == b"", "close_notify"


class Reader:
    """A server's side of one TLS connection: says something the client does not read, then reads to the end."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.context = context
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self.said = threading.Event()
        self.end: bytes | OSError | None = None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        sock, _ = self.listener.accept()
        sock.settimeout(30)
        try:
            with self.context.wrap_socket(sock, server_side=True, suppress_ragged_eofs=False) as tls:
                tls.sendall(b"\x84\0\0\0\x08\0\1\0\0" + bytes(50_000))  # not all of an answer
                self.said.set()
                self.end = tls.recv(1)
        except OSError as error:
            self.end = error
        finally:
            self.listener.close()


class Closing:
    """A channel handler that closes at once, with input waiting."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.closed = threading.Event()
        self.error: BaseException | None = None

    def on_connected(self, channel: Channel) -> None:
        assert self.reader.said.wait(30)
        channel.close()

    def on_event(self, channel: Channel, frame: Frame) -> None:
        raise AssertionError("no event was sent")

    def on_closed(self, channel: Channel, error: BaseException | None) -> None:
        self.error = error
        self.closed.set()


@pytest.mark.usefixtures("no_leaks")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
@pytest.mark.parametrize("trusted", [True, False])
def test_the_peer_is_told_why_it_ends(
    certificates: Certificates, strangers: Certificates, version: ssl.TLSVersion, trusted: bool
) -> None:
    """In order, although there was unread input; or by the alert about its invalid certificate."""
    context = server_context(certificates if trusted else strangers)
    context.maximum_version = version
    reader = Reader(context)
    reactor = made_reactor()
    handler = Closing(reader)
    client = TlsFilter(certificates.context(), ENDPOINT)
    reactor.connect(socket.AF_INET, reader.address, handler, timeout=30, byte_filter=client)
    assert handler.closed.wait(30)
    reader.thread.join(30)
    assert reactor.stop(30)
    if trusted:
        assert (reader.end, handler.error) == (b"", None)
    else:
        assert isinstance(reader.end, ssl.SSLError) and "ALERT" in str(reader.end.reason)
        assert isinstance(handler.error, ConnectionException)
    handler.error = None


def test_truncation_is_noticed(certificates: Certificates) -> None:
    client, peer = TlsFilter(certificates.context(), ENDPOINT), Peer(server_context(certificates))
    shake(client, peer)
    client.receive(peer.say(b"data"))
    with pytest.raises(ConnectionException, match="truncated"):
        client.eof()


def test_end_during_the_handshake(certificates: Certificates) -> None:
    client = TlsFilter(certificates.context(), ENDPOINT)
    client.start()
    with pytest.raises(ConnectionException, match="during the TLS handshake; check that this port uses TLS"):
        client.eof()


@pytest.mark.parametrize("answer", [b"\x84\0\0\0\0\0\0\0\0", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_peer_without_tls(certificates: Certificates, answer: bytes) -> None:
    client = TlsFilter(certificates.context(), ENDPOINT)
    client.start()
    with pytest.raises(ConnectionException, match="does not seem to use TLS"):
        client.receive(answer)


def test_damaged_records(certificates: Certificates) -> None:
    client, peer = TlsFilter(certificates.context(), ENDPOINT), Peer(server_context(certificates))
    shake(client, peer)
    data = bytearray(peer.say(b"data"))
    data[-1] ^= 1
    plaintext, _, error = client.receive(bytes(data))
    assert plaintext == b""
    assert isinstance(error, ConnectionException) and str(error).startswith("TLS with 127.0.0.1:9042 failed: ")
    assert isinstance(error.__cause__, ssl.SSLError)
    assert error.endpoint == ENDPOINT


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_records_before_a_damaged_record_are_delivered(certificates: Certificates, version: ssl.TLSVersion) -> None:
    context = server_context(certificates)
    context.maximum_version = version
    client, peer = TlsFilter(certificates.context(), ENDPOINT), Peer(context)
    shake(client, peer)
    data = bytearray(peer.say(b"one") + peer.say(b"two") + peer.say(b"three"))
    data[-1] ^= 1
    plaintext, alert, error = client.receive(bytes(data))
    assert plaintext == b"onetwo"
    assert isinstance(error, ConnectionException)
    with pytest.raises(ssl.SSLError, match=r"(?i)alert"):
        peer.feed(alert)


def test_unknown_authority(certificates: Certificates, strangers: Certificates) -> None:
    client, peer = TlsFilter(certificates.context(), ENDPOINT), Peer(server_context(strangers))
    with pytest.raises(ConnectionException, match="its certificate was refused: ") as caught:
        shake(client, peer)
    assert isinstance(caught.value.__cause__, ssl.SSLCertVerificationError)


@pytest.mark.parametrize(
    ("endpoint", "name", "fine"),
    [
        (DefaultEndPoint("127.0.0.1"), None, True),
        (DefaultEndPoint("10.1.1.1"), None, False),
        (DefaultEndPoint("10.1.1.1"), "db.example", True),
        (DefaultEndPoint("db.example"), None, True),
        (DefaultEndPoint("other.example"), None, False),
    ],
)
def test_host_names(certificates: Certificates, endpoint: EndPoint, name: str | None, fine: bool) -> None:
    client, peer = TlsFilter(certificates.context(), endpoint, name), Peer(server_context(certificates))
    if fine:
        shake(client, peer)
    else:
        with pytest.raises(ConnectionException, match=r"refused: (IP address|Hostname) mismatch"):
            shake(client, peer)


def test_host_names_are_not_checked_unless_asked(certificates: Certificates) -> None:
    context = certificates.context(check_hostname=False)
    shake(TlsFilter(context, DefaultEndPoint("10.1.1.1")), Peer(server_context(certificates)))


def test_sni(certificates: Certificates) -> None:
    names: list[str | None] = []
    context = server_context(certificates)
    context.sni_callback = lambda sock, name, context: names.append(name)
    options = ConnectionOptions(ssl_context=certificates.context())
    client = make_filter(options, SniEndPoint("127.0.0.1", "db.example"))
    assert client is not None
    shake(client, Peer(context))
    assert names == ["db.example"]


def test_addresses_that_are_no_host_names(certificates: Certificates) -> None:
    endpoint = DefaultEndPoint("." + "x" * 300)
    with pytest.raises(ConnectionException, match="invalid TLS server name"):
        TlsFilter(certificates.context(), endpoint)
    context = certificates.context(check_hostname=False)
    shake(TlsFilter(context, endpoint), Peer(server_context(certificates)))


def test_client_certificate_is_wanted(certificates: Certificates) -> None:
    context = server_context(certificates)
    context.load_verify_locations(str(certificates.ca))
    context.verify_mode = ssl.CERT_REQUIRED
    shake(TlsFilter(certificates.context(), ENDPOINT), Peer(context))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    client, peer = TlsFilter(certificates.context(client=False), ENDPOINT), Peer(context)
    to_server = client.receive(peer.feed(client.start()))[1]
    with pytest.raises(ssl.SSLError):
        peer.feed(to_server)
    with pytest.raises(ConnectionException, match=r"rejected by the peer .*client certificate"):
        client.receive(peer.outgoing.read())


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_sessions_are_resumed(certificates: Certificates, version: ssl.TLSVersion) -> None:
    server = server_context(certificates)
    server.maximum_version = version
    context, cache = certificates.context(), SSLSessionCache()
    reused = []
    for _ in range(3):
        client, peer = TlsFilter(context, ENDPOINT, sessions=cache), Peer(server)
        shake(client, peer)
        client.receive(peer.say(b"data"))
        reused.append(client.session_reused)
    assert reused == [False, True, True]
    other = TlsFilter(certificates.context(), ENDPOINT, sessions=cache)
    shake(other, Peer(server))
    assert not other.session_reused, "a session works only with its own context"


# ---- options


def test_when_there_is_a_filter(certificates: Certificates) -> None:
    assert make_filter(ConnectionOptions(), ENDPOINT) is None
    assert make_filter(ConnectionOptions(ssl_options={}), ENDPOINT) is not None, "{} is TLS"
    assert make_filter(ConnectionOptions(ssl_context=certificates.context()), ENDPOINT) is not None
    assert make_filter(ConnectionOptions(), SniEndPoint("10.0.0.1", "n1")) is not None


def test_options_make_one_context(certificates: Certificates) -> None:
    ssl_options: dict[str, Any] = {"ca_certs": str(certificates.ca)}
    context = ConnectionOptions(ssl_options=ssl_options).tls_context_for(ENDPOINT)
    assert context is not None
    assert ConnectionOptions(ssl_options=ssl_options).tls_context_for(ENDPOINT) is context
    assert ConnectionOptions(ssl_options=dict(ssl_options)).tls_context_for(ENDPOINT) is not context
    ssl_options["check_hostname"] = True
    changed = ConnectionOptions(ssl_options=ssl_options).tls_context_for(ENDPOINT)
    assert changed is not None and changed is not context and changed.check_hostname
    shake(TlsFilter(context, ENDPOINT), Peer(server_context(certificates)))
    assert ConnectionOptions().tls_context_for(ENDPOINT) is None
    own = certificates.context()
    named = ConnectionOptions(ssl_context=own, ssl_options={"server_hostname": "x"})
    assert named.tls_context_for(ENDPOINT) is own


def test_end_points_with_a_name_share_a_context() -> None:
    """Loading the authorities takes long, and each endpoint has a dict of its own."""
    options = ConnectionOptions()
    filters = [make_filter(options, SniEndPoint("127.0.0.1", f"node{number}.example")) for number in range(20)]
    assert len({id(one._tls.context) for one in filters if one is not None}) == 1


def test_options_verify_by_default() -> None:
    context = build_context({})
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.cert_store_stats()["x509_ca"] >= 0


def test_options(certificates: Certificates) -> None:
    context = build_context(
        {
            "ca_certs": str(certificates.ca),
            "certfile": str(certificates.client_cert),
            "keyfile": str(certificates.client_key),
            "check_hostname": True,
            "cert_reqs": ssl.CERT_REQUIRED,
            "ssl_version": ssl.PROTOCOL_TLSv1_2,
            "ciphers": "ECDHE+AESGCM",
            "server_hostname": "db.example",
        }
    )
    assert context.check_hostname
    assert context.minimum_version == context.maximum_version == ssl.TLSVersion.TLSv1_2
    assert build_context({"cert_reqs": ssl.CERT_NONE}).verify_mode == ssl.CERT_NONE
    assert build_context({"cert_reqs": ssl.CERT_OPTIONAL}).verify_mode == ssl.CERT_OPTIONAL
    assert build_context({"ssl_version": ssl.PROTOCOL_TLS}).verify_mode == ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ca_cert": "x"}, r"unknown ssl_options: \['ca_cert'\]; known: .*'ca_certs'"),
        ({"check_hostname": True, "cert_reqs": ssl.CERT_NONE}, "check_hostname needs"),
        ({"keyfile": "x", "cert_reqs": ssl.CERT_NONE}, "keyfile without certfile"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_context(options)


def test_missing_files_say_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        build_context({"ca_certs": str(tmp_path / "nothing.pem")})


def test_host_name_check_is_not_dropped_silently(certificates: Certificates) -> None:
    options = ConnectionOptions(
        ssl_context=certificates.context(check_hostname=False), ssl_options={"check_hostname": True}
    )
    with pytest.raises(ValueError, match="ssl_context has it off"):
        options.tls_context_for(ENDPOINT)


# ---- the cache


def test_cache_forgets_the_oldest() -> None:
    cache = SSLSessionCache(max_size=2)
    cache.set("a", 1)
    cache.set("b", 2)
    assert cache.get("a") == 1
    cache.set("c", 3)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)
    assert (len(cache), cache.max_size, repr(cache)) == (2, 2, "<SSLSessionCache: 2 of 2>")
    cache.clear()
    assert len(cache) == 0
    with pytest.raises(ValueError, match="at least 1"):
        SSLSessionCache(0)


def test_cache_lifetimes() -> None:
    cache = SSLSessionCache()
    cache.set("a", 1, lifetime=0)
    assert cache.get("a") is None
    assert len(cache) == 0
    cache.set("a", 1, lifetime=1000)
    assert cache.get("a") == 1


def test_session_cache_keeps_sessions_renewed_by_others() -> None:
    cache = SSLSessionCache()
    cache.set("a", "first")
    cache.set("a", "second", offered="first")
    cache.set("a", "late", offered="first")
    assert cache.get("a") == "second"
    cache.discard("a", "first")
    assert cache.get("a") == "second"
    cache.discard("a", "second")
    assert cache.get("a") is None
    cache.discard("a")
