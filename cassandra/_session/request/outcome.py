"""Outcome of a page of a request, and the retained parts of its response.

L5. The types that native and Python code exchange, and functions that fill them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cassandra._base.server_errors import ErrorMessage
from cassandra._core.codec import ResultPlan
from cassandra._wire.messages.responses import ResultMessage


class Beside:
    """The parts of a response that plain rows do not have."""

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


#: The retained parts of a response: the plan that decoded its rows, the paging state of the next page, the rest, and
#: the page itself for ``kept_page``, as it may be read as columns. Not the message.
Came = tuple[ResultPlan | None, bytes | None, Beside | None, Any]
#: Outcome of a page: its rows (or UnmadeRows, None, or a PREPARED message), the exception, the retained parts of the
#: response, the number of the page.
Outcome = tuple[Any, BaseException | None, Came, int]

NOTHING: Came = (None, None, None, None)


def has_extras(answer: Any) -> bool:
    """True if *answer* has warnings, a custom payload or a trace id."""
    return answer.warnings is not None or answer.custom_payload is not None or answer.trace_id is not None


def beside(answer: Any) -> Came:
    """Return the retained parts of a response without rows; ``NOTHING`` for an error that is not a response."""
    if not isinstance(answer, (ResultMessage, ErrorMessage)):
        return NOTHING
    warnings, payload = answer.warnings, answer.custom_payload
    return NOTHING if warnings is None and payload is None else (None, None, Beside(warnings, payload), None)
