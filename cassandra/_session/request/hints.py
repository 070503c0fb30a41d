"""Context of errors: the text of the statement, and hints about frequent mistakes.

L5. All of it runs for requests that fail, on the thread that processes the failure, and changes nothing but the error.
Texts of statements are shown without the values of parameters; those are in the statement, ``ResponseFuture.query``.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import CancelledError
from types import TracebackType
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import RequestError, annotate
from cassandra._base.logs import get_logger, printable
from cassandra._base.server_errors import SyntaxException
from cassandra._session.statements.batch import BatchStatement
from cassandra._session.statements.prepared import BoundStatement, PreparedStatement
from cassandra._session.statements.statement import SimpleStatement, bind_params, shortened
from cassandra._wire.markers import sanitized
from cassandra._wire.messages.requests import PrepareMessage

if TYPE_CHECKING:
    from .future import ResponseFuture

log = get_logger("cassandra.cluster")

_PACKAGE = __file__.removesuffix("_session/request/hints.py")
_NATIVE = "cassandra/_core/"  # of the files that tracebacks of extensions name
_CODEC = "cassandra/_core/codec_parts/"
_COLLECTIONS = (list, tuple, set, frozenset)


# ---- the statement


def text_of(statement: Any) -> str | None:
    """Return the text of *statement* on one line, shortened and without values; None for an unknown object."""
    if isinstance(statement, BoundStatement):
        statement = statement.prepared_statement
    if isinstance(statement, (SimpleStatement, PreparedStatement)):
        statement = statement.query_string
    if isinstance(statement, BatchStatement):
        return _batch_text(statement)
    return _line(statement) if isinstance(statement, str) else None


def _line(text: str) -> str:
    if "password" in text.lower():
        text = sanitized(text)
    return printable(shortened(" ".join(text[:2000].split())))


def _batch_text(batch: BatchStatement) -> str:
    entries = batch._statements_and_parameters
    count = f"a batch of {len(entries)} statement{'' if len(entries) == 1 else 's'}"
    if not entries:
        return count
    is_prepared, query, _ = entries[0]
    if is_prepared:
        prepared = batch._prepared.get(query)  # type: ignore[arg-type]
        first = None if prepared is None else text_of(prepared)
    else:
        first = _line(sanitized(str(query)))  # it contains the values of parameters
    return count if first is None else f"{count}, the first: {first}"


def _text_of_request(request: ResponseFuture) -> str | None:
    plan = request._execute_plan
    if request._is_on_fast_path and plan is not None:
        return text_of(plan.prepared)
    content = request._execution.content
    return text_of(content.prepared if content.prepared is not None else content.statement)


def note_failure(request: ResponseFuture, error: BaseException) -> bool:
    """Set the statement of *error*, which ends a page of *request*, and a hint. An error of another class is left
    unchanged, as is one that has them. Return True if the error is to be logged if no program asks for it."""
    if not isinstance(error, Exception) or type(error) is CancelledError:
        return False
    known: Any = error
    if hasattr(known, "hint") and known.statement is None:
        try:
            annotate(known, statement=_text_of_request(request), hint=known.hint or _hint(request, known))
        except Exception as broken:  # of a statement of a program: the request fails with its own error
            log.debug("Failed to describe the statement of an error: %r", broken)
    return True


# ---- hints about errors of the server


def _hint(request: ResponseFuture, error: Any) -> str | None:
    """Return a hint for *error* of the server; None without one."""
    message = str(getattr(error, "server_message", None) or getattr(error, "message", ""))
    content = request._execution.content
    statement = content.statement
    if isinstance(error, SyntaxException):
        text = statement.query_string if isinstance(statement, SimpleStatement) else ""
        if "%s" not in text and "%(" not in text:
            return None
        if isinstance(content.message, PrepareMessage):
            return "Markers of prepared statements are ? or :name, not %s"
        sent = getattr(content.message, "query", text)
        return "%s is replaced only if parameters are passed" if sent == text else None
    if "bind variables" in message and isinstance(statement, SimpleStatement):
        return "Markers (?, :name) are for prepared statements: prepare the text, or use %s or %(name)s in it"
    if "null is not supported inside collections" in message and isinstance(statement, BoundStatement):
        return _columns_with_none(statement)
    return None


def _columns_with_none(statement: BoundStatement) -> str | None:
    names = [spec[2] for spec in statement.prepared_statement._bind_plan.specs]
    values = statement.raw_values
    if isinstance(values, Mapping):
        given = [(name, values.get(name)) for name in names]
    elif isinstance(values, (list, tuple)):
        given = list(zip(names, values, strict=False))
    else:
        return None
    found = [name for name, value in given if _has_none(value)]
    return f"None is in the value of {', '.join(map(repr, found))}" if found else None


def _has_none(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(item is None or _has_none(item) for pair in value.items() for item in pair)
    return isinstance(value, _COLLECTIONS) and any(item is None or _has_none(item) for item in value)


# ---- mistaken attributes


class OfResult:
    """An attribute of results, in place of the attribute that a future does not have."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, future: Any, owner: type | None = None) -> Any:
        kind = owner if future is None else type(future)
        raise AttributeError(
            f"{'' if kind is None else kind.__name__!r} object has no attribute {self._name!r}; it is of its result: "
            f"future.result().{self._name}, or (await future).{self._name}",
            name=self._name,
            obj=future,
        )


# ---- errors of arguments


def refused(error: Exception, query: Any) -> None:
    """Add the statement to *error*, raised while the arguments of a request for *query* were processed, and remove the
    frames of native code from its traceback, which say nothing about the program."""
    if isinstance(query, PreparedStatement) and getattr(error, "statement", None) is None:
        known: Any = error
        known.statement = text_of(query)
        if type(error) in (KeyError, ValueError) and len(error.args) == 1:
            error.args = (f"{error.args[0]} [statement: {known.statement}]",)
    trace = error.__traceback__
    if trace is not None and _says_nothing(trace):
        trace.tb_next = None


def _says_nothing(trace: TracebackType) -> bool:
    """True if a parameter was refused in the codec or as a literal, and only the driver's frames lead there."""
    frames = []
    found: TracebackType | None = trace
    while found is not None:
        frames.append(found.tb_frame.f_code)
        found = found.tb_next
    last = frames[-1]
    refused_there = _CODEC in last.co_filename or last is bind_params.__code__
    return refused_there and all(one.co_filename.startswith((_PACKAGE, _NATIVE)) for one in frames)


# ---- execute_concurrent


def of_item(index: int, error: BaseException) -> BaseException:
    """Return *error*, of statement *index* of a call of execute_concurrent, with that position."""
    if isinstance(error, RequestError) and hasattr(type(error), "item"):
        annotate(error, item=index)
    elif type(error) in (TypeError, ValueError, KeyError) and not hasattr(error, "item"):
        known: Any = error
        known.item = index
        if len(error.args) == 1 and isinstance(error.args[0], str):
            error.args = (f"{error.args[0]} [item {index}]",)
    return error
