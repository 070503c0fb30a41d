"""Makes the files beside it anew, by a real cqlsh (``pip install cqlsh``, in an environment of its own) and Cassandra::

    python tests/unit/bulk/cqlsh/make.py path/to/cqlsh 127.0.0.1 9042

Rows are sorted, as their order is that of tokens, but for the header.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEYSPACE = "bulk_files"
#: (file, table, options of COPY TO)
FILES = (
    ("scalars.csv", "scalars", "HEADER=true"),
    ("texts.csv", "texts", "HEADER=true"),
    ("nested.csv", "nested", "HEADER=true"),
    ("counted.csv", "counted", "HEADER=true"),
    ("shared.csv", "shared", "HEADER=true"),
    ("odd.csv", '"Odd_Names"', "HEADER=true"),
    ("bare.csv", "scalars", ""),
    ("marked.csv", "texts", "HEADER=true AND NULL='N/A'"),
    (
        "styled.csv",
        "styled",
        "HEADER=true AND DELIMITER='|' AND NULL='N/A' AND DECIMALSEP=',' AND THOUSANDSSEP='.' AND BOOLSTYLE='yes,no' "
        "AND DATETIMEFORMAT='%d/%m/%Y %H:%M:%S' AND QUOTE='''' AND ESCAPE='''' AND DOUBLEPRECISION=6",
    ),
)


def main(cqlsh: str, *server: str) -> None:
    def run(*arguments: str) -> None:
        subprocess.run([cqlsh, *server, *arguments], check=True, stdout=subprocess.DEVNULL)

    replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
    run("-e", f"DROP KEYSPACE IF EXISTS {KEYSPACE}; CREATE KEYSPACE {KEYSPACE} WITH replication = {replication}")
    run("-k", KEYSPACE, "-f", str(HERE / "tables.cql"))
    for name, table, options in FILES:
        path = HERE / name
        run("-k", KEYSPACE, "-e", f"COPY {table} TO '{path}'" + (f" WITH {options}" if options else ""))
        lines = path.read_bytes().splitlines(keepends=True)
        head = 1 if "HEADER" in options else 0
        path.write_bytes(b"".join(lines[:head] + sorted(lines[head:])))
        print(name, len(lines), "lines")


if __name__ == "__main__":
    main(*sys.argv[1:])
