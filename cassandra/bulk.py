"""Tables to files and back, without a program: ``python -m cassandra.bulk``. See the guide's page on it.

:func:`main` takes the arguments as a list and returns the exit code.
"""

import sys

from cassandra._bulk.main import main

__all__ = ["main"]


class _NoPandas:
    """PyArrow imports pandas, where it is installed, to see that no value is one of its own: a quarter of a second, and
    nothing here is."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("python -m cassandra.bulk goes without pandas", name=name)


if __name__ == "__main__":
    sys.meta_path.insert(0, _NoPandas)
    raise SystemExit(main())
