"""JSON lines: one JSON object for each row (L6). Values have the forms of ``SELECT JSON`` and ``INSERT JSON``.

Reading: rows are numbered from 0, without empty lines. A number keeps its text until it is converted to the type of its
column, by the conversions of CSV, so that no digit is lost. A column that an object does not have is *absent*, which is
not null. An error of a row affects this row only.

Writing: columns become texts of JSON, whole columns at a time, which are joined into lines.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from . import csv_scan
from .console import case_hint, shown
from .csv_files import Row, RowBatch, characters_of
from .csv_scan import MOST_BLOCK, Place, Source, raw_text, read_at
from .options import Style
from .streams import InputFile, RowTexts
from .tables import INTEGERS, NUMBERS, TEXTS, TIMES, Kind, arrow_type
from .texts_in import MOST_DEEP, Column, Read, max_depth, read_column, read_values, reader_of
from .texts_out import join_fields, join_lists, join_vectors, strings_of, texts_of

ENCODING = "utf8"
PLAIN = Style()
#: Booleans as JSON has them, also in keys of maps.
_WRITTEN = Style(true="true", false="false")


# ---- reading


class Number(str):
    """A number, as its text."""

    __slots__ = ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"duplicate name {shown(next(name for name in names if names.count(name) > 1))}")
    return found


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=Number, parse_int=Number, parse_constant=Number, strict=True
)


def decode(text: str) -> Any:
    """Return the value of a JSON text. Raise ValueError, with the position."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"invalid JSON at character {error.pos}: {error.msg}") from None
    except RecursionError:
        raise ValueError("invalid JSON: nested too deeply") from None


class JsonLinesFile:
    """A file of JSON lines, and the columns that are read from it."""

    def __init__(self, file: InputFile, kinds: Mapping[str, Kind]) -> None:
        """*kinds*: types of the columns of the table, by name. Raise ValueError, OSError."""
        self._file = file
        self._kinds = kinds
        self._texts = RowTexts(file)
        self._piped: tuple[Source, bytes] | None = None  # of a pipe: what was read to find the first row
        self._readers: dict[str, Read] = {}
        #: The names of the first row; empty if that is invalid, or there is none.
        self.first_names: list[str] = self._read_first()

    def _read_first(self) -> list[str]:
        source, text = Source(self._file, ENCODING), b""
        try:
            while True:
                text += source.read(csv_scan.BLOCK)
                line, end, _ = text.lstrip().partition(b"\n")
                if source.is_at_end or end or len(text) > MOST_BLOCK:
                    break
        finally:
            if self._file.is_pipe:
                self._piped = source, text
            else:
                source.close()
        try:
            found = decode(line.decode())
        except ValueError:
            return []  # an error of the row
        return list(found) if isinstance(found, dict) else []

    def _blocks(self) -> Iterator[tuple[Place, bytes]]:
        """Yield whole lines, with their position."""
        source, text = (Source(self._file, ENCODING), b"") if self._piped is None else self._piped
        try:
            place, is_first = source.place, True
            while is_first or not source.is_at_end:
                is_first = False
                before = len(text)
                data = b"" if source.is_at_end else source.read(csv_scan.BLOCK)
                if before:
                    text += data
                else:
                    text, place = data, source.place
                end = len(text) if source.is_at_end else text.rfind(b"\n") + 1
                if not end:
                    if len(text) > MOST_BLOCK:
                        raise ValueError(f"{self._file.name}: a row is longer than {MOST_BLOCK:,} bytes")
                    continue
                yield place, text[:end]
                if end >= before:
                    place = source.place._replace(skipped=source.place.skipped + end - before)
                else:
                    place = place._replace(skipped=place.skipped + end)
                text = text[end:]
        finally:
            source.close()

    def batches(self, wanted: Sequence[str], ignored: Collection[str] | None, first: int = 0) -> Iterator[RowBatch]:
        """Yield the columns *wanted* of the rows from *first* on. A row with another name is invalid, unless it is in
        *ignored*; None: any name may be ignored."""
        known = None if ignored is None else {*wanted, *ignored}
        row = line = 0
        self._texts.clear()
        for place, text in self._blocks():
            self._texts.add(row, line, place, text)
            lines = [one for one in text.split(b"\n") if one.strip()]
            count = len(lines)
            begin = max(0, min(count, first - row))
            if begin < count:
                yield self._parse(lines[begin:], row + begin, wanted, known)
            row += count
            line += text.count(b"\n")

    def _parse(self, lines: list[bytes], first: int, wanted: Sequence[str], known: set[str] | None) -> RowBatch:
        wrong: dict[int, str] = {}
        numbers: list[int] = []
        rows: list[dict[str, Any]] = []
        for number, line in enumerate(lines, first):
            try:
                found = decode(line.decode())
                if not isinstance(found, dict):
                    raise ValueError(f"expected a JSON object, got {shown(line.decode().strip())}")
                if known is not None and not found.keys() <= known:
                    unknown = sorted(found.keys() - known)
                    raise ValueError(f"unknown columns {', '.join(unknown)}{case_hint(unknown, list(wanted))}")
            except UnicodeDecodeError:
                wrong[number] = f"it is not utf8: {shown(raw_text(line.strip(), ENCODING))!a}"
            except ValueError as error:
                wrong[number] = f"{error}"
            else:
                numbers.append(number)
                rows.append(found)
        return self._convert(numbers, rows, wanted, wrong)

    def _convert(
        self, numbers: Sequence[int], rows: list[dict[str, Any]], wanted: Sequence[str], wrong: dict[int, str]
    ) -> RowBatch:
        import pyarrow as pa

        columns, dropped = [], set()
        for name in wanted:
            found = self._column(name, [row.get(name) for row in rows])
            columns.append(found.values)
            for at, error in found.errors.items():
                wrong.setdefault(numbers[at], f"{name}: {error}")
                dropped.add(at)
        batch = pa.RecordBatch.from_arrays(columns, names=list(wanted))
        if dropped:
            left = [at for at in range(len(rows)) if at not in dropped]
            batch = batch.take(pa.array(left, pa.int64()))
            numbers, rows = [numbers[at] for at in left], [rows[at] for at in left]
        absent = None
        names = frozenset(wanted)
        if any(not names <= row.keys() for row in rows):
            absent = [names - row.keys() for row in rows]
        return RowBatch(numbers, batch, wrong, absent)

    def _column(self, name: str, values: list[Any]) -> Column:
        kind = self._kinds.get(name, TIMES)
        if kind.parts:
            read = self._readers.get(name)
            if read is None:
                read = self._readers[name] = nested_reader(kind)
            return read_values(values, read, arrow_type(kind))
        import pyarrow as pa

        errors: dict[int, str] = {}
        texts: list[str | None] = []
        for at, value in enumerate(values):
            text = None
            if value is not None:
                try:
                    text = scalar_text(value, kind)
                except ValueError as error:
                    errors[at] = f"{error}"
            texts.append(text)
        found = read_column(pa.array(texts, pa.string()), kind, PLAIN)
        found.errors.update(errors)
        return found

    def row(self, number: int) -> Row:
        """Return a row that :meth:`batches` has reached."""
        mark, text = self._texts.find(number)
        if text is None:
            text = read_at(self._file, ENCODING, mark.place, mark.size)
        line, left = mark.line, number - mark.row
        for one in text.split(b"\n"):
            line += 1
            if one.strip():
                if not left:
                    return Row(line, raw_text(one + b"\n", ENCODING))
                left -= 1
        raise IndexError(number)

    def forget(self) -> None:
        """Drop the rows that were read: :meth:`row` is called for later ones only."""
        self._texts.forget()

    def close(self) -> None:
        """Close what is open."""
        self._texts.close()
        if self._piped is not None:
            self._piped[0].close()


def scalar_text(value: Any, kind: Kind) -> str:
    """Return the text of a JSON value that is not null, for the conversions of CSV. Raise ValueError for a JSON type
    that *kind* does not have."""
    name = kind.name
    if isinstance(value, Number):
        if name in NUMBERS or name == "timestamp":
            return str(value)
    elif isinstance(value, str):
        if name in TEXTS:
            value.encode()  # JSON may have halves of surrogate pairs
            return value
        if value.strip():
            return value
    elif isinstance(value, bool) and name == "boolean":
        return "true" if value else "false"
    raise ValueError(f"invalid {name}: {shown(_json(value))}")


def _json(value: Any) -> str:
    """Return a value that was read as JSON, for messages."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)}: {_json(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_json, value)) + "]"
    return json.dumps(value)


def nested_reader(kind: Kind) -> Read:
    """Return the function that converts a JSON value to an element of an array of :func:`arrow_type`. It raises
    ValueError."""
    if max_depth(kind) > MOST_DEEP:
        raise ValueError(f"type is nested too deeply: at most {MOST_DEEP} levels are supported")
    return _reader(kind)


def _reader(kind: Kind) -> Read:
    """Return the function for a value that may be null."""
    name = kind.name
    parts = [_reader(part) for part in kind.parts]
    if not parts:
        read = reader_of(kind, PLAIN)
        return lambda value: None if value is None else read(scalar_text(value, kind))
    wanted = dict if name in ("map", "udt") else list

    def convert(value: Any) -> Any:
        if name == "map":
            found = [(_key(key, kind.parts[0], parts[0]), parts[1](one)) for key, one in value.items()]
            if len({repr(key) for key, _ in found}) < len(found):
                raise ValueError("duplicate key")
            return found
        if name == "udt":
            if unknown := [field for field in value if field not in fields]:
                raise ValueError(f"the type has no field {unknown[0]!r}")
            return {field: fields[field](one) for field, one in value.items()}
        if name == "tuple":
            if len(value) > len(parts):
                raise ValueError(f"the tuple has {len(value)} fields, not {len(parts)}")
            return {f"f{at}": parts[at](one) for at, one in enumerate(value)}
        if name == "vector" and len(value) != kind.size:
            raise ValueError(f"the vector has {len(value)} elements, not {kind.size}")
        return [parts[0](one) for one in value]

    fields = dict(zip(kind.fields, parts, strict=True)) if name == "udt" else {}

    def read_nested(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, wanted):
            form = "an object" if wanted is dict else "an array"
            raise ValueError(f"invalid {name}: expected {form}, got {shown(_json(value))}")
        return convert(value)

    return read_nested


def _key(text: str, kind: Kind, read: Read) -> Any:
    """Return the key of a map: JSON has only texts as names. One of a type with parts is JSON within the text."""
    return read(decode(text) if kind.parts else text)


# ---- writing


class JsonLinesWriter:
    """Writes rows to *file*. The file itself stays open."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write_batch(self, batch: Any, kinds: Sequence[Kind]) -> None:
        """Write the rows of *batch*. Raise OSError."""
        self._file.write(lines_of(batch, kinds))

    def close(self) -> None:
        """Do nothing: the file stays open."""


def lines_of(batch: Any, kinds: Sequence[Kind]) -> memoryview:
    """Return the rows of *batch*, a record batch of PyArrow with columns of these kinds, as lines in UTF-8."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not batch.num_rows:
        return memoryview(b"")
    pieces: list[Any] = []
    begin = "{"
    for name, column, kind in zip(batch.schema.names, batch.columns, kinds, strict=True):
        texts = json_texts(column, kind)
        if texts.null_count:
            texts = texts.fill_null("null")
        pieces += [f"{begin}{json.dumps(name, ensure_ascii=False)}: ", pc.cast(texts, pa.large_string())]
        begin = ", "
    pieces = [
        pa.scalar(piece, pa.large_string()) if isinstance(piece, str) else piece for piece in (*pieces, "}\n", "")
    ]
    return characters_of(pc.binary_join_element_wise(*pieces))


def json_texts(array: Any, kind: Kind) -> Any:
    """Return an array of JSON texts, null where *array* is."""
    import pyarrow.compute as pc

    name = kind.name
    storage = getattr(array, "storage", None)
    if storage is not None:  # an extension type
        array = storage
    if name in TEXTS:
        return _quoted(pc.cast(array, "string"))
    if name in INTEGERS or name in ("decimal", "varint", "boolean"):
        return texts_of(array, kind, _WRITTEN)
    if name in ("float", "double"):
        found = texts_of(array, kind, PLAIN)
        if pc.all(pc.is_finite(array)).as_py():
            return found
        return pc.if_else(pc.is_finite(array), found, _joined('"', found, '"'))
    if name == "timestamp":
        found = texts_of(array, kind, PLAIN)
        moments = pc.ends_with(found, "+0000")  # others are numbers
        iso = pc.replace_substring(pc.replace_substring(found, "+0000", "Z"), " ", "T")
        return pc.if_else(moments, _joined('"', iso, '"'), found)
    if not kind.parts:
        return _joined('"', texts_of(array, kind, PLAIN), '"')
    if name in ("list", "set"):
        return join_lists(array, _parts(array.values, kind.parts[0]), "[", "]")
    if name == "vector":
        return join_vectors(array, kind.size, _parts(array.values, kind.parts[0]))
    if name == "map":
        keys, items = _keys(array.keys, kind.parts[0]), _parts(array.items, kind.parts[1])
        return join_lists(array, [f"{key}: {item}" for key, item in zip(keys, items, strict=True)], "{", "}")
    columns = [_parts(array.field(at), part) for at, part in enumerate(kind.parts)]
    if name == "tuple":
        return join_fields(array, columns, "[", "]")
    return join_fields(array, columns, "{", "}", [json.dumps(field, ensure_ascii=False) for field in kind.fields])


def _joined(*texts: Any) -> Any:
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*texts, "")


def _quoted(texts: Any) -> Any:
    """Return texts as JSON. Most batches have no special character, and need quotes only."""
    import pyarrow.compute as pc

    special = pc.match_substring_regex(texts, '["\\\\\\x00-\\x1f\\x7f]')
    if pc.any(special).as_py():
        escaped = strings_of(
            [
                json.dumps(text, ensure_ascii=False)[1:-1] if is_special else text
                for text, is_special in zip(texts.to_pylist(), special.to_pylist(), strict=True)
            ]
        )
        return _joined('"', escaped, '"')
    return _joined('"', texts, '"')


def _parts(array: Any, kind: Kind) -> list[str]:
    found: list[str] = json_texts(array, kind).fill_null("null").to_pylist()
    return found


def _keys(array: Any, kind: Kind) -> list[str]:
    """Return the keys of maps as JSON texts."""
    if kind.name in TEXTS:
        return _parts(array, kind)
    texts = json_texts(array, kind).to_pylist()
    if not kind.parts:
        return [text if text[0] == '"' else f'"{text}"' for text in texts]
    return [json.dumps(text, ensure_ascii=False) for text in texts]
