"""CQL as tokens, and helpers of all parts of the parser."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from cassandra.testing import errors
from cassandra.testing._names import RESERVED

_HEX = r"[0-9a-fA-F]"
_UNIT = r"(?:y|mo|w|d|h|ms|us|µs|ns|m|s)"
_TOKENS = re.compile(
    rf"""
    (?P<space>\s+|--[^\n]*|//[^\n]*|/\*.*?\*/)
  | (?P<string>'(?:[^']|'')*'|\$\$.*?\$\$)
  | (?P<quoted>"(?:[^"]|"")+")
  | (?P<uuid>{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}})
  | (?P<blob>0[xX]{_HEX}*)
  | (?P<duration>-?(?:\d+(?i:{_UNIT}))+(?![a-zA-Z0-9_])
      |-?P\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d(?![a-zA-Z0-9_])
      |-?P(?:\d+Y)?(?:\d+M)?(?:\d+W)?(?:\d+D)?(?:T(?:\d+H)?(?:\d+M)?(?:\d+S)?)?(?<=\d[YMWDHS])(?![a-zA-Z0-9_]))
  | (?P<float>-?\d+\.\d*(?:[eE][+-]?\d+)?|-?\d+[eE][+-]?\d+)
  | (?P<integer>-?\d+)
  | (?P<word>[a-zA-Z][a-zA-Z0-9_]*)
  | (?P<sign><=|>=|!=|\+=|-=|[-+*/%=<>(){{}}\[\],.;:?])
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    at: int
    end: int


def tokenize(text: str) -> list[Token]:
    tokens, at = [], 0
    while at < len(text):
        match = _TOKENS.match(text, at)
        if match is None:
            raise errors.SyntaxError(_where(text, at) + f" no viable alternative at character '{text[at]}'")
        kind = match.lastgroup or ""
        if kind != "space":
            tokens.append(Token(kind, match[0], at, match.end()))
        at = match.end()
    tokens.append(Token("end", "<EOF>", at, at))
    return tokens


def _where(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"line {line}:{at - (text.rfind(chr(10), 0, at) + 1)}"


class TokenStream:
    """The tokens of one statement, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.at = 0
        self.markers: list[str | None] = []

    @property
    def here(self) -> Token:
        return self.tokens[self.at]

    def peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def advance(self) -> Token:
        token = self.here
        if token.kind != "end":
            self.at += 1
        return token

    def fail(self, wanted: str = "") -> NoReturn:
        what = f" ({wanted} expected)" if wanted else ""
        where = _where(self.text, self.here.at)
        raise errors.SyntaxError(f"{where} no viable alternative at input '{self.here.text}'{what}")

    # -- words and signs

    def is_word(self, *words: str, ahead: int = 0) -> bool:
        """True if the next tokens are these keywords."""
        return all(
            self.peek(ahead + n).kind == "word" and self.peek(ahead + n).text.upper() == word
            for n, word in enumerate(words)
        )

    def take_words(self, *words: str) -> bool:
        if self.is_word(*words):
            self.at += len(words)
            return True
        return False

    def expect_words(self, *words: str) -> None:
        if not self.take_words(*words):
            self.fail(" ".join(words))

    def is_sign(self, sign: str, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        return token.kind == "sign" and token.text == sign

    def take_sign(self, sign: str) -> bool:
        if self.is_sign(sign):
            self.at += 1
            return True
        return False

    def expect_sign(self, sign: str) -> None:
        if not self.take_sign(sign):
            self.fail(f"'{sign}'")

    # -- names

    def name(self) -> str:
        """Parse an identifier: lower case unless it is quoted."""
        token = self.here
        if token.kind == "quoted":
            self.at += 1
            return token.text[1:-1].replace('""', '"')
        if token.kind == "word" and token.text.lower() not in RESERVED:
            self.at += 1
            return token.text.lower()
        self.fail("a name")

    def string(self) -> str:
        token = self.advance()
        if token.kind != "string":
            self.at -= 1
            self.fail("a string")
        return unquote(token.text)

    def integer(self) -> int:
        if self.here.kind != "integer":
            self.fail("a number")
        return int(self.advance().text)


def unquote(text: str) -> str:
    return text[2:-2] if text.startswith("$$") else text[1:-1].replace("''", "'")
