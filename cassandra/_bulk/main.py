"""``python -m cassandra.bulk`` and ``fastcql-bulk``: arguments to commands, errors to exit codes (L6)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from cassandra._base.errors import DriverException, NoHostAvailable
from cassandra._base.objects import public

from . import connecting, options
from .connecting import Context, CqlshFiles
from .console import BROKEN, INTERRUPTED, USAGE, Interrupts, UsageError, fail
from .writer import OFTEN

MODULE = "python -m cassandra.bulk"
DESCRIPTION = """Unload tables to files, load files, copy tables between clusters, and show differences."""
ENDS = """exit codes: 0 all done; 1 rows differ, have failed or could not be read; 2 invalid usage;
3 the command failed; 130 interrupted (Ctrl-C, SIGTERM). --resume continues an interrupted command."""

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
        given = parser.parse_args(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    try:
        return _run(given)
    except UsageError as error:
        return _say(parser.prog, error, USAGE)
    except KeyboardInterrupt:
        return _say(parser.prog, "interrupted", INTERRUPTED)
    except (DriverException, NoHostAvailable, OSError, ValueError, ArithmeticError, RuntimeError) as error:
        return _say(parser.prog, error, BROKEN)


def program() -> int:
    """Run :func:`main` as the entry point of a process: of the module, or of the installed ``fastcql-bulk``."""
    sys.meta_path.insert(0, _NoPandas)
    started = Path(sys.argv[0])
    return _main(None, make_parser(MODULE if started.suffix == ".py" else started.name))


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


def make_parser(name: str = MODULE) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(name, description=DESCRIPTION, epilog=ENDS, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text, epilog=ENDS, allow_abbrev=False)

    count = add("count", "Count the rows of a table; print the number to stdout.")
    count.add_argument("table", metavar="ks.table")
    _add_where(count)

    unload = add("unload", "Write the rows of a table to files in a folder.")
    unload.add_argument("table", metavar="ks.table")
    unload.add_argument("--format", choices=("parquet", "csv", "arrow"), default="parquet")
    unload.add_argument("--out", required=True, metavar="DIR", help="created if it does not exist, else must be empty")
    _add_where(unload)
    _add_columns(unload)
    _add_times(unload)
    _add_as_cqlsh(unload, "write CSV exactly as COPY TO of cqlsh; COPY FROM cannot read all of it back")
    options.add_arguments(unload, "to")

    load = add("load", "Load files, or a folder written by unload, into a table.")
    load.add_argument("table", metavar="ks.table")
    load.add_argument("files", nargs="+", metavar="FILE")
    load.add_argument("--format", choices=("parquet", "csv", "arrow"), help="default: by the names of the files")
    _add_columns(load)
    load.add_argument("--timestamp", type=int, help="write time of the first row, in microseconds; rises by row")
    _add_writing(load)
    _add_as_cqlsh(load, "read CSV written by COPY TO of cqlsh: undo its escapes in texts")
    options.add_arguments(load, "from")

    copy = add("copy", "Copy the rows of a table into another table.")
    copy.add_argument("table", metavar="ks.table")
    copy.add_argument("target", metavar="ks2.table")
    copy.add_argument("--to", metavar="HOST", help="contact point of the cluster of the second table")
    copy.add_argument("--max-insert-errors", type=int, default=1000, metavar="…", help="rows that may fail; -1: any")
    _add_where(copy)
    _add_columns(copy)
    _add_times(copy)
    _add_writing(copy)

    diff = add("diff", "Show differences between two tables: < row only in A, > only in B, ! with other values.")
    diff.add_argument("table", metavar="A")
    diff.add_argument("target", metavar="B")
    diff.add_argument("--to", metavar="HOST", help="contact point of the cluster of B")
    diff.add_argument("--show", type=int, default=1000, metavar="N", help="number of rows to show (default: 1000)")
    _add_where(diff)
    _add_columns(diff)

    for command in commands.choices.values():
        command.add_argument("--resume", action="store_true", help="continue an interrupted command")
        command.add_argument("--checkpoint", metavar="FILE", help="use this checkpoint file instead of the default one")
        command.add_argument("--checkpoint-every", type=float, default=OFTEN, help=argparse.SUPPRESS)
        command.add_argument("--quiet", action="store_true", help="do not show progress")
        connecting.add_arguments(command)
    return parser


def _add_where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--where", metavar="CQL", help="only these rows, such as \"kind = 'a' ALLOW FILTERING\"")


def _add_columns(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--columns", metavar="a,b", help="only these columns, in this order (default: all)")


def _add_times(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ttl", action="store_true", help="include the time to live of each value")
    parser.add_argument("--writetime", action="store_true", help="include the write time of each value")


def _add_as_cqlsh(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--as-cqlsh", action="store_true", help=text)


def _add_writing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--nulls", choices=("unset", "null"), default="unset", help="a null keeps the stored value, or deletes it"
    )
    parser.add_argument("--counters", action="store_true", help="add to counters; failed requests are not retried")
