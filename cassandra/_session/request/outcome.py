"""What a page of a request came to, and what is kept of its answer.

L5. Nothing but the types that native and Python code hand to each other, and how they are filled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cassandra._base.errors import ErrorMessage
from cassandra._core.codec import ResultPlan
from cassandra._wire.messages.results import ResultMessage


class Beside:
    """What an answer has that plain rows have not."""

    __slots__ = ("column_names", "column_types", "custom_payload", "warnings")

    def __init__(
        self,
        warnings: list[str] | None,
        custom_payload: Mapping[str, bytes | None] | None,
        column_names: list[str] | None = None,
        column_types: list[Any] | None = None,
    ) -> None:
        self.warnings = warnings
        self.custom_payload = custom_payload
        self.column_names = column_names  # of rows that a custom protocol handler decoded
        self.column_types = column_types


#: What is kept of an answer: how its rows were decoded, where the next page begins, the rest, and the page itself for
#: ``kept_page``, as it may be asked for as columns. Not the message.
Came = tuple[ResultPlan | None, bytes | None, Beside | None, Any]
#: What a page came to: its rows (or UnmadeRows, None, or a PREPARED message), the exception, what is kept of the
#: answer, its page.
Outcome = tuple[Any, BaseException | None, Came, int]

NOTHING: Came = (None, None, None, None)


def has_extras(answer: Any) -> bool:
    """Whether an answer came with warnings, a custom payload or the id of a trace."""
    return answer.warnings is not None or answer.custom_payload is not None or answer.trace_id is not None


def beside(answer: Any) -> Came:
    """What is kept of an answer without rows; of an error that is no answer, nothing."""
    if not isinstance(answer, (ResultMessage, ErrorMessage)):
        return NOTHING
    warnings, payload = answer.warnings, answer.custom_payload
    return NOTHING if warnings is None and payload is None else (None, None, Beside(warnings, payload), None)
