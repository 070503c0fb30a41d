"""Check for files of another driver in the folder of this package (L0).

scylla-driver and cassandra-driver install a package ``cassandra`` too, with compiled modules. Where one of them was
installed before fastcql, its ``cluster.cpython-311-x86_64-linux-gnu.so`` may still lie next to the ``cluster.py`` of
fastcql, and Python prefers it: half of each driver is imported, and the resulting errors do not show the cause. fastcql
has its extensions in ``_core`` only, so one listing of the folder, at import of the package, is sufficient.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

DRIVERS = ("scylla-driver", "cassandra-driver")


def check(folders: Iterable[str]) -> None:
    """Raise ImportError if there are extension modules in *folders*, those of the package."""
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                names = [entry.name for entry in entries]
        except OSError:  # in a zip or an executable, where no file is overwritten
            continue
        foreign = [name for name in names if name.endswith((".so", ".pyd"))]
        if foreign:
            raise ImportError(_message_for(folder, sorted(foreign)), name="cassandra", path=folder)


def _message_for(folder: str, foreign: list[str]) -> str:
    from cassandra._base.stand_in import installed, is_stand_in

    found = [known[1] for known in map(installed, DRIVERS) if known is not None and not is_stand_in(known[1])]
    there = [f"{distribution.metadata['Name']} {distribution.version}" for distribution in found]
    more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
    known = f" ({' and '.join(there)} is installed)" if there else ""
    return (
        f"Another driver's files are among those of fastcql: {foreign[0]}{more} in {folder}{known}. "
        "Python would import some modules of each. Run\n"
        f"    pip uninstall -y {' '.join(DRIVERS)}\n"
        "    pip install --force-reinstall --no-deps fastcql\n"
        f"and, if that file is still there, delete it. If packages require {' or '.join(DRIVERS)}, run then "
        "python -m cassandra.stand_in, so that they do not come back"
    )
