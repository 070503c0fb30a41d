"""CQL that the simulation and a real server must answer alike: a statement per line, in files of one subject each."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.cql"))


def statements(name: str, keyspace: str) -> list[str]:
    """The statements of a file; ``'KEYSPACE'`` stands for the name of the keyspace they run in."""
    lines = (FOLDER / f"{name}.cql").read_text(encoding="utf-8").splitlines()
    return [line.replace("'KEYSPACE'", f"'{keyspace}'") for line in lines if line]
