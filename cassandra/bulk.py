"""Command line tool for copying tables to files and back: ``python -m cassandra.bulk``. See :doc:`/bulk`.

:func:`main` takes the arguments as a list and returns the exit code.
"""

from cassandra._bulk.main import main, program

__all__ = ["main"]

if __name__ == "__main__":
    raise SystemExit(program())
