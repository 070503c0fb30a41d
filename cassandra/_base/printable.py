"""Escaping of text from a server for a log or a terminal (L0)."""

_ELLIPSIS = "…"
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: object, limit: int = 4096) -> str:
    r"""Return ``str(text)`` on one line, without characters that control a terminal or hide text.

    Characters that are not printable (``str.isprintable``: controls, separators except the space, format characters
    such as bidi controls, lone surrogates, code points without a character) are written as in Python source: ``\n``,
    ``\x1b``, ``\u2028``. A text longer than *limit* characters is cut, with an ellipsis at its end. Never raises. Any
    thread.

    Example::

        >>> printable("no such table\n\x1b[31mCRITICAL")
        'no such table\\n\\x1b[31mCRITICAL'
    """
    if not isinstance(text, str):
        try:
            text = str(text)
        except Exception as error:
            text = f"<{type(text).__name__}: str() failed with {type(error).__name__}>"
    whole = text if len(text) <= limit else text[: limit + 1]  # the rest is not escaped
    shown = whole if whole.isprintable() else "".join(map(_escaped, whole))
    if len(shown) <= limit:
        return shown
    return _cut(whole, limit - len(_ELLIPSIS)) + _ELLIPSIS


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    short = _SHORT.get(character)
    if short is not None:
        return short
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _cut(text: str, room: int) -> str:
    """Return the longest escaped prefix of *text* that fits in *room* characters, without a partial escape."""
    kept: list[str] = []
    for character in text:
        piece = _escaped(character)
        room -= len(piece)
        if room < 0:
            break
        kept.append(piece)
    return "".join(kept)
