"""Handshakes with a server that means harm: what it sends before log-in costs little time, memory and log."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from typing import Any

import pytest

from cassandra._base import errors
from cassandra._core.codec import TypeContext
from cassandra._core.transport import Frame
from cassandra._net.auth import PlainTextAuthProvider
from cassandra._net.endpoint import DefaultEndPoint
from cassandra._net.handshake import Blocking, Established, Starting, handshake
from cassandra._net.options import ConnectionOptions
from cassandra._wire.messages.requests import AuthenticateMessage
from cassandra._wire.messages.responses import SupportedMessage, decode_response
from tests.fakes import wire

EVIL = "evil\n\x1b[31mCRITICAL fake\u202e"
SUPPORTED = SupportedMessage(["3.4.7"], {"COMPRESSION": ["lz4"]})
LONGEST = 65_535 - len("unsupported protocol version ")

SECONDS = 5  # of CPU; what is tested takes milliseconds, and took half a minute


def ended(*answers: Any, **options: Any) -> BaseException:
    """What a handshake with these answers fails with."""
    steps = handshake(ConnectionOptions(**options), DefaultEndPoint("10.0.0.1"), 5)
    left = list(answers)
    answer = None
    try:
        while True:
            wanted = steps.send(answer)
            assert not isinstance(wanted, Blocking)
            answer = None if isinstance(wanted, (Starting, Established)) else left.pop(0)
    except (errors.DriverException, errors.ConnectionException, errors.ProtocolError) as error:
        return error


def error_frame(text: str, code: int = 0x0A) -> Any:
    return decode_response(Frame(4, 0, 0, wire.ERROR, wire.error(code, text)), TypeContext())


TEXTS = {
    "digits": "9" * LONGEST,
    "digits and slashes": "9/v" * (LONGEST // 3),
    "versions": "9" * 30_000 + "/v" + "9" * 30_000,
    "lowest": "lowest supported version is " * 2_000,
    "bounds": "; the lowest supported version is 1 and the greatest is 999999999999",
    "bounds of many digits": "; the lowest supported version is 1 and the greatest is " + "9" * 60_000,
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("step", ["OPTIONS", "STARTUP"])
def test_refusal_of_a_version(text: str, step: str) -> None:
    """In a process of its own, which the system ends if it takes too long or too much memory."""
    program = (
        "import sys\n"
        "from tests.unit.net.test_hostile_handshake import SUPPORTED, TEXTS, ended, error_frame\n"
        "answer = error_frame('unsupported protocol version ' + TEXTS[sys.argv[1]])\n"
        "error = ended(*([SUPPORTED] if sys.argv[2] == 'STARTUP' else []), answer)\n"
        "assert len(str(error)) < 10_000, len(str(error))\n"
        "print(type(error).__name__, sorted(error.versions))\n"
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        if "LD_PRELOAD" not in os.environ:  # a sanitizer reserves terabytes of addresses
            resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    run = subprocess.run(
        [sys.executable, "-c", program, text, step], preexec_fn=limit, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split(maxsplit=1)[0] == "VersionRefused"


def test_versions_between_bounds_are_those_that_a_frame_can_have() -> None:
    text = "Invalid or unsupported protocol version (5); the lowest supported version is 3 and the greatest is 999"
    error: Any = ended(error_frame(text))
    assert error.versions == {*range(3, 128)} - {5}


def test_versions_in_supported_that_are_no_numbers() -> None:
    many = ["5/v5", "9" * 5_000 + "/v5", "٣/v٣", "4/v" + "9" * 60_000]
    error = ended(SupportedMessage(["3.4.7"], {"PROTOCOL_VERSIONS": many}), error_frame("Unexpected"))
    assert isinstance(error, errors.ConnectionException)


@pytest.mark.parametrize(
    ("answers", "options"),
    [
        ([error_frame(EVIL)], {}),
        ([error_frame(f"unsupported protocol version {EVIL}")], {}),
        ([error_frame(f"USE_BETA flag is unset {EVIL}")], {}),
        ([error_frame(EVIL, 0x0100)], {}),
        ([SUPPORTED, AuthenticateMessage(EVIL)], {}),
        ([SupportedMessage([EVIL] * 1000, {})], {"cql_version": "3.0.0"}),
        ([SupportedMessage(["3.4.7"], {"COMPRESSION": [EVIL] * 1000})], {"compression": "lz4"}),
        ([SUPPORTED, SupportedMessage([EVIL] * 1000, {EVIL: [EVIL]})], {}),
        ([SUPPORTED, AuthenticateMessage("x"), AuthenticateMessage(EVIL * 1000)], {"auth_provider": "plain"}),
    ],
)
def test_errors_are_one_printable_line(answers: list[Any], options: dict[str, Any]) -> None:
    if options.get("auth_provider"):
        options = {"auth_provider": PlainTextAuthProvider("me", "secret")}
    text = str(ended(*answers, **options))
    assert text.isprintable(), text
    assert len(text) < 10_000
