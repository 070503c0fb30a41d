"""The lines of the C++ core that native tests have run since ``FASTCQL_COVERAGE=1 pytest tests/native``, by folder."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from pathlib import Path

from tests.native.building import BUILD, CORE


def counts(data: Path) -> dict[Path, dict[int, int]]:
    """How often each line was run, by file of the core, as one object file says."""
    command = ["gcov", "--json-format", "--stdout", str(data)]
    said = subprocess.run(command, cwd=data.parent, capture_output=True, text=True, check=True).stdout
    found: dict[Path, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for report in said.splitlines():
        for file in json.loads(report)["files"]:
            path = Path(file["file"]).resolve()
            if CORE in path.parents:
                for line in file["lines"]:
                    found[path][line["line_number"]] += line["count"]
    return found


def main() -> None:
    total: dict[Path, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for data in sorted(BUILD.rglob("*.gcda")):
        for path, lines in counts(data).items():
            for number, count in lines.items():
                total[path][number] += count
    folders: dict[str, list[int]] = defaultdict(list)
    for path, lines in total.items():
        folders[path.parent.name] += lines.values()
    folders["all"] = [count for lines in total.values() for count in lines.values()]
    for name, found in sorted(folders.items()):
        run = sum(count > 0 for count in found)
        print(f"{name:<12}{len(found):>6} lines{run:>6} run {100 * run / len(found):5.1f} %")


if __name__ == "__main__":
    main()
