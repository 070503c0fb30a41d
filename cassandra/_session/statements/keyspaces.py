"""The keyspace that a request is sent with: the server resolves unqualified names in its statements by it.

L5. Pure. Text uses the keyspace of its statement, else that of the session. A bound statement uses the keyspace it was
prepared in; its keyspace attribute is not sent. A server takes one keyspace per request, on protocol 5 from the
request, on older ones from the connection, which is in that of the session. A request that would be executed in another
keyspace than requested is rejected. The keyspace for *routing* is independent of this, see ``Statement.keyspace``.
"""

from __future__ import annotations

from cassandra._base.constants import ProtocolVersion
from cassandra._base.errors import UnsupportedOperation

from .batch import BatchStatement
from .prepared import BoundStatement
from .statements import Statement, shortened


def keyspace_to_send(statement: Statement, session_keyspace: str | None, version: int) -> str | None:
    """Return the keyspace to send with the request for *statement*; None for that of the connection, the session's.
    Raise UnsupportedOperation if it would be executed in another keyspace than its own."""
    if isinstance(statement, BoundStatement):
        statement._check_keyspace()
        return None
    if isinstance(statement, BatchStatement):
        wanted = _of_batch(statement, session_keyspace)
        subject = "a batch"
    else:
        wanted = statement.keyspace
        subject = "a statement"
    if wanted is None or ProtocolVersion.uses_keyspace_flag(version):
        return wanted
    if wanted != session_keyspace:
        raise UnsupportedOperation(
            f"keyspace={wanted!r} of {subject} needs protocol version 5, but this is {version}; it would be executed "
            f"in {_named(session_keyspace)}. Name the keyspace in the text, or execute it in a session of that keyspace"
        )
    return None


def _of_batch(batch: BatchStatement, session_keyspace: str | None) -> str | None:
    explicit = batch._explicit_keyspace
    said: dict[str | None, str] = {}
    for keyspace, text in batch._wanted.items():
        said.setdefault(keyspace or explicit, text)
    if not said:
        return None  # only bound statements
    meant = {keyspace or session_keyspace: text for keyspace, text in said.items()}
    if len(meant) > 1:
        parts = "; ".join(f"{_named(keyspace)}: {shortened(text)}" for keyspace, text in meant.items())
        raise UnsupportedOperation(
            "The statements of a batch are sent with one keyspace, but the texts of this one are for several. Name the "
            f"keyspace in them, prepare them, or use a batch for each. The first of each: {parts}"
        )
    return next((keyspace for keyspace in said if keyspace is not None), None)


def _named(keyspace: str | None) -> str:
    return "no keyspace" if keyspace is None else f"keyspace {keyspace!r}"
