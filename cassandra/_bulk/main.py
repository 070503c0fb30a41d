"""``python -m cassandra.bulk`` and ``fastcql-bulk``: arguments to commands, errors to exit codes (L6)."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cassandra._base.errors import DriverException, NoHostAvailable
from cassandra._base.objects import public
from cassandra._base.version import __version__

from . import connecting, options
from .connecting import Context, CqlshFiles
from .console import BROKEN, CLOSED_PIPE, INTERRUPTED, USAGE, ClosedPipe, Interrupts, UsageError, fail
from .loading import ROWS
from .streams import COMPRESSIONS
from .waiting import GIVE_UP
from .writer import OFTEN

MODULE = "python -m cassandra.bulk"
DESCRIPTION = "Unload tables to files, load files, copy tables between clusters, and show differences."
ENDS = """exit codes:
  0    all done, no differences
  1    rows are different, or could not be read or written
  2    invalid usage: an option, a table, a column, a file
  3    the command could not continue; most can be continued with --resume
  130  interrupted (Ctrl-C, SIGTERM)
  141  the reader of the output was closed, as by "head\""""
TEXTS = {
    "count": "Count the rows of a table; print the number to stdout.",
    "unload": "Write the rows of a table to a folder of files, to one file, or to a pipe.",
    "load": "Load files, a pipe, or a folder written by unload, into a table.",
    "copy": "Copy the rows of a table into another table, of the same or another cluster.",
    "diff": "Show differences between two tables: < row only in A, > only in B, ! with other values.",
}
USAGES = {
    "count": "ks.table [OPTION ...]",
    "unload": "ks.table --out OUT [OPTION ...]",
    "load": "ks.table FILE [FILE ...] [OPTION ...]",
    "copy": "ks.table ks2.table [OPTION ...]",
    "diff": "A B [OPTION ...]",
}
#: Of each command, and of the program: what is done, and the command without its name.
EXAMPLES = {
    "": (
        ("all shards at once, into a folder of Parquet files", "unload shop.stock --out stock"),
        ("the folder into another table", "load shop.again stock"),
        ("rows of a CSV file as they would be stored", "load shop.stock more.csv --header --dry-run"),
        ("into another cluster", "copy shop.stock shop.stock --to db2"),
        ("what is different", "diff shop.stock shop.again"),
    ),
    "count": (
        ("all rows", "shop.stock"),
        ("some rows", "shop.stock --where \"kind = 'a' ALLOW FILTERING\""),
    ),
    "unload": (
        ("Parquet files in a folder", "shop.stock --out stock"),
        ("compressed CSV files in a folder", "shop.stock -o stock -f csv --compression zstd"),
        ("one file: format and compression are its suffixes", "shop.stock --out stock.jsonl.gz"),
        ("CSV to a pipe", "shop.stock --out - --header | head"),
    ),
    "load": (
        ("a folder that unload has written", "shop.stock stock"),
        ("columns by the names in the first lines", "shop.stock a.csv b.csv.gz --header"),
        ("columns in this order", "shop.stock a.csv --columns product,value"),
        ("JSON lines: one object for each row", "shop.stock rows.jsonl"),
        ("CSV from a pipe", "shop.stock - < rows.txt"),
        ("3 rows as they would be stored", "shop.stock a.csv --header --dry-run 3"),
        ("rejected rows, after their correction", "shop.stock load-shop.stock.bad --header"),
    ),
    "copy": (
        ("within a cluster, 5,000 rows per second", "shop.stock shop.again --rate 5000"),
        ("into another cluster, with all times", "shop.stock shop.stock --to db2 --ttl --writetime"),
    ),
    "diff": (
        ("within a cluster", "shop.stock shop.again"),
        ("some columns, with another cluster", "shop.stock shop.stock --to db2 -c product,value"),
    ),
}

Command = Callable[[Context], int]


@public("cassandra.bulk")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``python -m cassandra.bulk`` with *arguments*, or those of the process, and return its exit code. See the
    guide.

    In the main thread SIGINT and SIGTERM raise KeyboardInterrupt while it runs, which ends it with 130. Example::

        assert main(["count", "shop.orders", "--host", "10.0.0.1"]) == 0

    .. versionadded:: 4.0
    """
    return _main(arguments, make_parser())


def _main(arguments: Sequence[str] | None, parser: argparse.ArgumentParser) -> int:
    try:
        given = parser.parse_args(_with_values(sys.argv[1:] if arguments is None else arguments))
    except SystemExit as end:
        return int(end.code or 0)
    try:
        return _run(given)
    except UsageError as error:
        return _say(parser.prog, error, USAGE)
    except KeyboardInterrupt:
        return _say(parser.prog, "interrupted", INTERRUPTED)
    except ClosedPipe:
        return CLOSED_PIPE
    except (DriverException, NoHostAvailable, OSError, ValueError, ArithmeticError, RuntimeError) as error:
        return _say(parser.prog, error, BROKEN)


def program() -> int:
    """Run :func:`main` as the entry point of a process: of the module, or of the installed ``fastcql-bulk``."""
    sys.meta_path.insert(0, _NoPandas)
    started = Path(sys.argv[0])
    code = _main(None, make_parser(MODULE if started.suffix == ".py" else started.name))
    if code == CLOSED_PIPE:  # what the interpreter has not written yet is not written at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return code


class _NoPandas:
    """Import hook that hides pandas. PyArrow imports pandas, if it is installed, to check values for pandas types: 0.25
    s, and no value here has such a type."""

    @classmethod
    def find_spec(cls, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("cassandra.bulk does not use pandas", name=name)


def _say(program: str, what: object, code: int) -> int:
    fail(program, what)
    return code


def _run(given: argparse.Namespace) -> int:
    files = CqlshFiles.find(given.cqlshrc, os.environ)
    command = _command(given.command)
    wanted = connecting.settings_of(given, files, os.environ)
    with Interrupts() as interrupts, Context(given, files, wanted, interrupts) as context:
        return command(context)


def _command(name: str) -> Command:
    if name == "count":
        from .copying import count

        return count
    if name == "unload":
        from .unloading import unload

        return unload
    if name == "load":
        from .loading import load

        return load
    if name == "copy":
        from .copying import copy

        return copy
    from .differing import diff

    return diff


#: Options whose value may be omitted: the value then, and the form of a value.
_OPTIONAL = {
    "--header": ("--header=true", re.compile("true|false", re.IGNORECASE)),
    "--dry-run": (f"--dry-run={ROWS}", re.compile("[0-9]+")),
    "-n": (f"--dry-run={ROWS}", re.compile("[0-9]+")),
}


def _with_values(arguments: Sequence[str]) -> list[str]:
    """Return *arguments* with the values that were omitted, so that the name of a file is not taken for a value."""
    found: list[str] = []
    for at, argument in enumerate(arguments):
        if argument == "--":
            return [*found, *arguments[at:]]
        usual, value = _OPTIONAL.get(argument, ("", None))
        following = arguments[at + 1] if at + 1 < len(arguments) else ""
        found.append(argument if value is None or value.fullmatch(following) else usual)
    return found


class _Help(argparse.RawDescriptionHelpFormatter):
    """Descriptions as they are; options in a column of 30 characters."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, max_help_position=30, **options)


def _described(text: str, command: str) -> str:
    """Return *text* and the examples of a command."""
    examples = "".join(f"\n  # {what}\n  %(prog)s {given}" for what, given in EXAMPLES[command])
    return f"{text}\n\nexamples:{examples}"


def make_parser(name: str = MODULE) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        name,
        description=_described(DESCRIPTION, ""),
        epilog=f'"%(prog)s COMMAND --help" shows the options of a command.\n\n{ENDS}',
        allow_abbrev=False,
        formatter_class=_Help,
    )
    parser.add_argument("-V", "--version", action="version", version=__version__, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")

    def add(name: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            usage=f"%(prog)s {USAGES[name]}",
            help=TEXTS[name],
            description=_described(TEXTS[name], name),
            epilog=ENDS,
            allow_abbrev=False,
            formatter_class=_Help,
        )

    count = add("count")
    count.add_argument("table", metavar="ks.table", help="keyspace and table, as in CQL")
    _add_where(count.add_argument_group("rows"))

    unload = add("unload")
    unload.add_argument("table", metavar="ks.table", help="table to read, as in CQL")
    files = unload.add_argument_group("output")
    files.add_argument(
        "-o", "--out", required=True, metavar="OUT",
        help="folder, created if it does not exist, else it must be empty; or a new file, by a suffix of a format; or "
        "a named pipe; or -, the standard output",
    )  # fmt: skip
    _add_format(files, "default: by the suffix of a file, csv for a pipe, parquet for a folder")
    _add_compression(files, "of csv and jsonl (default: by the suffix of a file, else none)")
    _add_as_cqlsh(files, "write CSV exactly as COPY TO of cqlsh; COPY FROM cannot read all of it back")
    rows = unload.add_argument_group("rows and columns")
    _add_where(rows)
    _add_columns(rows)
    _add_times(rows)
    options.add_arguments(unload, rows, "to")
    _add_rate(rows, "read")

    load = add("load")
    load.add_argument("table", metavar="ks.table", help="table to write, as in CQL")
    load.add_argument(
        "files", nargs="+", metavar="FILE", help="file, folder written by unload, named pipe, or - (stdin)"
    )
    files = load.add_argument_group("input")
    _add_format(files, "default: by the suffix of each file; csv if it is unknown, and for a pipe")
    _add_compression(files, "of csv and jsonl (default: by the suffix of each file, .gz or .zst)")
    _add_as_cqlsh(files, "read CSV written by COPY TO of cqlsh: undo its escapes in texts")
    rows = load.add_argument_group("rows and columns")
    rows.add_argument(
        "-n", "--dry-run", nargs="?", const=ROWS, type=int, metavar="N",
        help=f"show the first N rows as they would be stored (default: {ROWS}), and write nothing",
    )  # fmt: skip
    _add_columns(rows)
    _add_writing(rows)
    rows.add_argument(
        "--timestamp", type=int, metavar="N", help="write time of the first row, in microseconds; rises by row"
    )
    options.add_arguments(load, rows, "from")
    _add_rate(rows, "write")

    copy = add("copy")
    copy.add_argument("table", metavar="ks.table", help="table to read, as in CQL")
    copy.add_argument("target", metavar="ks2.table", help="table to write")
    rows = copy.add_argument_group("rows and columns")
    _add_to(rows, "the second table")
    _add_where(rows)
    _add_columns(rows)
    _add_times(rows)
    _add_writing(rows)
    rows.add_argument(
        "--max-insert-errors", type=int, default=1000, metavar="N", help="rows that may fail (default: 1000; -1: any)"
    )
    _add_rate(rows, "copy")

    diff = add("diff")
    diff.add_argument("table", metavar="A", help="first table, as ks.table")
    diff.add_argument("target", metavar="B", help="second table")
    rows = diff.add_argument_group("rows and columns")
    _add_to(rows, "B")
    rows.add_argument("--show", type=int, default=1000, metavar="N", help="number of rows to show (default: 1000)")
    _add_where(rows)
    _add_columns(rows)

    for command in commands.choices.values():
        group = command.add_argument_group("progress")
        group.add_argument("--resume", action="store_true", help="continue an interrupted command")
        group.add_argument("--checkpoint", metavar="FILE", help="checkpoint file (default: beside the files, or here)")
        group.add_argument("--checkpoint-every", type=float, default=OFTEN, help=argparse.SUPPRESS)
        group.add_argument(
            "--give-up", type=_seconds, default=GIVE_UP, metavar="SECONDS",
            help=f"end after so long without progress, with the reason (default: {GIVE_UP:g}; 0: never)",
        )  # fmt: skip
        group.add_argument("-q", "--quiet", action="store_true", help="do not show progress")
        connecting.add_arguments(command)
    return parser


Group = argparse._ArgumentGroup
MOST = 1e12  # rows per second, seconds


def _add_format(group: Group, text: str) -> None:
    group.add_argument("-f", "--format", choices=("parquet", "csv", "jsonl", "arrow"), help=text)


def _add_compression(group: Group, text: str) -> None:
    group.add_argument("--compression", choices=("none", *COMPRESSIONS), help=text)


def _add_where(group: Group) -> None:
    group.add_argument("--where", metavar="CQL", help="only these rows, such as \"kind = 'a' ALLOW FILTERING\"")


def _add_columns(group: Group) -> None:
    group.add_argument("-c", "--columns", metavar="a,b", help="only these columns, in this order (default: all)")


def _add_to(group: Group, what: str) -> None:
    group.add_argument("--to", metavar="HOST", help=f"contact point of the cluster of {what} (default: the same one)")


def _add_times(group: Group) -> None:
    group.add_argument("--ttl", action="store_true", help="include the time to live of each value")
    group.add_argument("--writetime", action="store_true", help="include the write time of each value")


def _add_as_cqlsh(group: Group, text: str) -> None:
    group.add_argument("--as-cqlsh", action="store_true", help=text)


def _add_writing(group: Group) -> None:
    group.add_argument(
        "--nulls",
        choices=("unset", "null"),
        default="unset",
        help="unset: a null keeps the stored value; null: it deletes it (default: unset)",
    )
    group.add_argument("--counters", action="store_true", help="add to counters; failed requests are not retried")


def _add_rate(group: Group, what: str) -> None:
    group.add_argument(
        "--rate", type=_rate, metavar="ROWS", help=f"{what} at most so many rows per second (default: no limit)"
    )


def _rate(text: str) -> float:
    return _number(text, 1e-3, "a number of rows per second")


def _seconds(text: str) -> float:
    return _number(text, 0, "a number of seconds")


def _number(text: str, least: float, what: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not least <= found < MOST:
        raise argparse.ArgumentTypeError(f"expected {what}, got {text!r}")
    return found
