"""Text of a server, made safe for a log or a terminal (L0)."""

import re

_ELLIPSIS = "…"
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNPRINTABLE = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0 controls, DEL, C1 controls
    "\u2028\u2029"  # line and paragraph separator
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0001\U000e0020-\U000e007f"  # format characters: direction of text, invisible ones
    "\ud800-\udfff"  # lone surrogates
    "]"
)


def printable(text: object, limit: int = 4096) -> str:
    r"""``str(text)`` on one line, without characters that control a terminal or hide text.

    Control characters (C0, C1, DEL), line and paragraph separators, format characters (bidi controls, invisible ones)
    and lone surrogates are written as in Python source: ``\n``, ``\x1b``, ``\u2028``. What is longer than *limit*
    characters is cut, with an ellipsis at its end. Never raises. Any thread.

    Example::

        >>> printable("no such table\n\x1b[31mCRITICAL")
        'no such table\\n\\x1b[31mCRITICAL'
    """
    if not isinstance(text, str):
        try:
            text = str(text)
        except Exception as error:
            text = f"<{type(text).__name__}, whose text cannot be had: {type(error).__name__}>"
    whole = text if len(text) <= limit else text[: limit + 1]  # no more is looked at
    if whole.isprintable():
        shown = whole
    else:
        shown = _UNPRINTABLE.sub(_escaped, whole)
    if len(shown) <= limit:
        return shown
    return _cut(whole, limit - len(_ELLIPSIS)) + _ELLIPSIS


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    short = _SHORT.get(character)
    if short is not None:
        return short
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _cut(text: str, room: int) -> str:
    """As much of *text* as has room when it is escaped, no half of an escape at its end."""
    kept: list[str] = []
    for character in text:
        piece = _UNPRINTABLE.sub(_escaped, character)
        room -= len(piece)
        if room < 0:
            break
        kept.append(piece)
    return "".join(kept)
