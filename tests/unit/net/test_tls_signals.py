"""TLS on the main thread, where a signal's handler may raise after anything that OpenSSL has done: nothing is lost."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from cassandra._base.errors import ConnectionException
from cassandra._core.transport import Reactor, TlsRecords
from tests.servers.certificates import Certificates
from tests.unit.core.transport_client import running_reactor
from tests.unit.net.test_tls import Peer, server_context

VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]
NO_BYTE = b"\xa5"  # the value at the place of a record's first byte before that byte is read


class Alarm(Exception):
    """The exception that the handler raises."""


class Interrupted:
    """The engine of an SSLObject as it is when a signal came just before: the handler runs when the call is through."""

    def __init__(self, tls: ssl.SSLObject) -> None:
        self.engine = cast(Any, tls)._sslobj
        self.handler: Callable[[], None] | None = None
        self.calls = 0

    def read(self, size: int, buffer: bytearray) -> int:
        return self._called(lambda: self.engine.read(size, buffer))

    def write(self, data: memoryview) -> int:
        return self._called(lambda: self.engine.write(data))

    def _called(self, call: Callable[[], int]) -> int:
        self.calls += 1
        try:
            return call()
        finally:
            if self.handler is not None:
                self.handler()

    def pending(self) -> int:
        return int(self.engine.pending())


class Interruptible:
    """An SSL object whose engine is interrupted, as TlsRecords uses it."""

    def __init__(self, tls: ssl.SSLObject) -> None:
        self._sslobj = Interrupted(tls)


class Client(TlsRecords):
    """A client that has shaken hands with *peer*."""

    def __init__(self, certificates: Certificates, peer: Peer) -> None:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = certificates.context().wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
        interruptible = Interruptible(tls)
        self.engine = interruptible._sslobj
        super().__init__(cast(ssl.SSLObject, interruptible), incoming, outgoing)
        while not peer.established or not self.established:
            try:
                tls.do_handshake()
                self.established = True
            except ssl.SSLWantReadError:
                pass
            incoming.write(peer.feed(outgoing.read()))
        assert self.receive(b"") == (b"", b"", None)  # tickets of TLS 1.3

    def _translated(self, error: ssl.SSLError) -> BaseException:
        return ConnectionException(f"translated: {error}")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.generate(tmp_path_factory.mktemp("tls"), ["127.0.0.1"])


@pytest.fixture(params=VERSIONS, ids=["1.2", "1.3"])
def peer(request: pytest.FixtureRequest, certificates: Certificates) -> Peer:
    context = server_context(certificates)
    context.maximum_version = request.param
    return Peer(context)


@pytest.fixture
def client(certificates: Certificates, peer: Peer) -> Client:
    return Client(certificates, peer)


@pytest.fixture
def reactor() -> Iterator[Reactor]:
    with running_reactor() as reactor:
        yield reactor


def alarm() -> None:
    raise Alarm


def is_raised_later(reactor: Reactor) -> None:
    """In the next call of the driver; once."""
    with pytest.raises(Alarm):
        reactor.flush()
    reactor.flush()


TEXTS = {
    "a byte": b"x",
    "two": b"xy",
    "the byte that was there": NO_BYTE + b"y",
    "small": b"0123456789" * 10,
    "a whole record": bytes(range(256)) * 64,
    "several": bytes(range(251)) * 700,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("piece", [1, 1000, 1 << 20])
def test_handlers_that_raise(client: Client, peer: Peer, reactor: Reactor, text: bytes, piece: int) -> None:
    """After each and every call."""
    client.engine.handler = alarm
    if piece == 1:
        text = text[:20_000]
    data = peer.say(text) + peer.say(b"-") + peer.say(text)
    plaintext = b""
    for start in range(0, len(data), piece):
        received, answer, error = client.receive(data[start : start + piece])
        assert (answer, error) == (b"", None)
        plaintext += received
    assert plaintext == text + b"-" + text
    is_raised_later(reactor)
    peer.feed(client.send(text) + client.send(b"!"))
    assert peer.received == text + b"!"
    is_raised_later(reactor)


def test_records_are_opened_once(client: Client, peer: Peer) -> None:
    """Two calls a record on the main thread: a byte, the rest. None to find that there is nothing more."""
    before = client.engine.calls
    assert client.receive(peer.say(b"one") + peer.say(b"two"))[0] == b"onetwo"
    assert client.engine.calls == before + 4


def test_a_signal_during_an_ambiguous_read_fails_the_connection(client: Client, peer: Peer, reactor: Reactor) -> None:
    """A record of a single byte, which is the one that was in its place before: it may have had none as well."""
    assert client.receive(peer.say(NO_BYTE)) == (NO_BYTE, b"", None)
    client.engine.handler = alarm
    plaintext, _, error = client.receive(peer.say(b"good") + peer.say(NO_BYTE))
    assert plaintext == b"good"
    assert isinstance(error, ConnectionException) and "a signal handler interrupted TLS" in str(error)
    is_raised_later(reactor)


def test_records_without_data(certificates: Certificates) -> None:
    """The tickets of a session, which TLS 1.3 sends after the handshake."""
    peer = Peer(server_context(certificates))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = certificates.context().wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    records = TlsRecords(tls, incoming, outgoing)
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    incoming.write(peer.feed(outgoing.read()))
    tls.do_handshake()
    records.established = True
    tickets = peer.feed(outgoing.read())
    assert tickets
    for start in range(len(tickets)):
        assert records.receive(tickets[start : start + 1]) == (b"", b"", None)
    assert records.receive(peer.say(b"data")) == (b"data", b"", None)
    assert tls.session is not None and tls.session.has_ticket


def test_faults_are_faults(client: Client, peer: Peer, reactor: Reactor) -> None:
    data = bytearray(peer.say(b"one") + peer.say(b"two"))
    data[-1] ^= 1
    plaintext, _, error = client.receive(bytes(data))
    assert plaintext == b"one"
    assert str(error).startswith("translated: ") and isinstance(cast(BaseException, error).__cause__, ssl.SSLError)
    reactor.flush()


def test_a_fault_that_a_handler_hides(client: Client, peer: Peer, reactor: Reactor) -> None:
    client.engine.handler = alarm
    data = bytearray(peer.say(b"one"))
    data[-1] ^= 1
    assert isinstance(client.receive(bytes(data))[2], ConnectionException)
    is_raised_later(reactor)


def test_an_orderly_end(client: Client, peer: Peer) -> None:
    assert client.receive(peer.say(b"last") + peer.bye()) == (b"last", b"", None)
    assert client.ended
