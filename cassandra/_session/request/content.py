"""Content: the message of one request, and the result plan that decodes its response.

L5. A compiled request (``compiled.py``) has a frame that every attempt sends; message and statement are made on demand.
As a reader of the message may change it, the request is sent from the message instead of the frame once the message was
made.

Message and result plan belong together and are replaced as one, by the I/O thread; attempts that are being encoded keep
the pair that they began with. Two threads may make an object on demand at the same time: the first one is kept, by one
native step (``replaced``).
"""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING, Any

from cassandra._core.transport import replaced
from cassandra._wire.messages.requests import ExecuteMessage, PrepareMessage

from ..statements.prepared import BoundStatement
from .tablet_routing import with_version_block

if TYPE_CHECKING:
    from cassandra._core.codec import ResultPlan
    from cassandra._core.transport import Attempt
    from cassandra._net.connection import Connection

    from ..session import Session
    from ..statements.prepared import PreparedStatement
    from .compiled import CompiledExecute

METADATA_IDS = 5  # first protocol version with result metadata ids

#: CQL that changes the keyspace of the connection it is sent on, behind white space and comments.
#: Each comment has only one possible end, or the number of combinations of many comments would explode.
USE = re.compile(r"(?:\s|--[^\n]*\n|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*USE\b", re.IGNORECASE)
#: First characters of such texts.
BEFORE_USE = frozenset("uU-/ \t\n\r\f\v")


class Content:
    """Made from a *message* that was built for *statement*, or, by :meth:`compiled`, from a frame."""

    __slots__ = ("_frame", "_made", "_sent", "_statement", "_values", "handler", "prepared", "size", "token")

    def __init__(
        self,
        message: Any,
        statement: Any,
        prepared: PreparedStatement | None,
        plan: ResultPlan | None,
        token: int | None,
        handler: Any = None,
    ) -> None:
        self._sent: tuple[Any, ResultPlan | None] = (message, plan)
        self._statement = statement
        self.prepared = prepared
        self.token = token  # routing token
        self.handler = handler  # a user's protocol handler
        self.size: int | None = None  # bytes of the frame encoded last
        self._made: CompiledExecute | None = None
        self._frame: bytes | None = None
        self._values: Any = None

    @classmethod
    def compiled(cls, made: CompiledExecute, frame: bytes, token: int | None, values: Any) -> Content:
        """Return the content of *frame*, which *made* encoded. *values*: the application's values, or the bound
        statement that has them."""
        content = cls(
            None, values if isinstance(values, BoundStatement) else None, made.prepared, made.result_plan, token
        )
        content._made = made
        content._frame = frame
        content._values = values
        return content

    # ---- message and statement

    @property
    def message(self) -> Any:
        """The message that is sent from now on."""
        sent = self._sent
        while sent[0] is None and self._made is not None and self._frame is not None:
            replaced(self, "_sent", sent, (self._made.message(self._frame, self.token), sent[1]))
            sent = self._sent
        return sent[0]

    @message.setter
    def message(self, message: Any) -> None:
        self._sent = (message, self._sent[1])

    @property
    def is_changed(self) -> bool:
        """True if a compiled request is not sent from its frame any more."""
        return self._sent[0] is not None

    @property
    def result_plan(self) -> ResultPlan | None:
        """The plan that decodes responses without metadata."""
        return self._sent[1]

    @property
    def statement(self) -> Any:
        """The statement of the application."""
        if self._statement is None and self._made is not None and self._frame is not None:
            bound = BoundStatement(self._made.prepared)
            bound._bound = self._made.template.bound(self._frame, self.token)
            bound.raw_values = self._values
            replaced(self, "_statement", None, bound)
        return self._statement

    @statement.setter
    def statement(self, statement: Any) -> None:
        self._statement = statement

    @property
    def planned_by(self) -> Any:
        """The statement passed to load balancing policies for a plan; None for PREPARE."""
        return None if type(self._sent[0]) is PrepareMessage else self.statement

    @property
    def shown(self) -> Any:
        """The statement if it was made already, else None; for ``repr``."""
        return self._statement

    @property
    def is_idempotent(self) -> bool:
        """True if executing it twice is safe."""
        if self._statement is None and self._made is not None:
            return bool(self._made.prepared.is_idempotent)
        return bool(getattr(self._statement, "is_idempotent", False))

    @property
    def is_use(self) -> bool:
        """True if it changes the keyspace of the connection that it is sent on."""
        if self._made is not None and not self.is_changed:
            return False  # such statements are not compiled
        text = getattr(self._sent[0], "query", None)
        if text is None and self.prepared is not None:
            text = self.prepared.query_string
        return isinstance(text, str) and text[:1] in BEFORE_USE and USE.match(text) is not None

    @property
    def consistency(self) -> int | None:
        """Its consistency level; PREPARE has none."""
        if self._made is not None and not self.is_changed:
            return self._made.levels[0]
        return getattr(self.message, "consistency_level", None)

    def change(self, plan: ResultPlan | None, **changes: Any) -> None:
        """Replace fields of the message that is sent from now on, and the plan that decodes its responses."""
        message = copy(self.message)
        for name, value in changes.items():
            setattr(message, name, value)
        self._sent = (message, plan)

    def use_snapshot(self, prepared: PreparedStatement) -> None:
        """Use the statement's current result metadata from now on, for the next pages too."""
        plan, metadata_id = prepared._snapshot
        self.change(plan, result_metadata_id=metadata_id, skip_meta=plan is not None and metadata_id is not None)

    # ---- as bytes

    def frame_for(self, session: Session, attempt: Attempt) -> bytes:
        """Return the envelope that *attempt* sends; set ``attempt.plan``, which decodes its response."""
        connection: Connection = attempt.connection
        message, attempt.plan = self._sent
        if message is None:
            assert self._made is not None and self._frame is not None
            if connection.dialect is self._made.dialect:
                return self._frame
            message = self.message
        version = connection.protocol_version
        if attempt.plan is not None and version < METADATA_IDS and message.skip_meta:
            message = _described(message, connection)
        if connection.features.tablets_routing_v2 and isinstance(message, ExecuteMessage):
            message = with_version_block(session, message, self.statement, self.token)
        frame: bytes
        if self.handler is None:
            frame = message.encode(version, features=connection.features)
        else:
            frame = self.handler.encode_message(message, 0, version, None, False, connection.features)
        self.size = len(frame)
        return frame


def _described(message: Any, connection: Connection) -> Any:
    """Return *message* for *connection*. Over a connection without metadata ids the server cannot signal that the
    columns have changed, even if the statement was prepared over a connection with ids; there the response has
    metadata."""
    if not connection.features.use_metadata_id:
        message = copy(message)
        message.skip_meta = False
    return message
