"""The C++ kernels of the codec, which know nothing of Python, under AddressSanitizer with UBSan."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "native"
FLAGS = [
    *("-std=c++17", "-g", "-O1", "-Wall", "-Wextra", "-Werror"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    *(f"-I{ROOT / 'cassandra' / '_core' / 'cpp'}", f"-I{TESTS / 'transport'}"),
]


def test_kernels(tmp_path: Path) -> None:
    binary = tmp_path / "kernels_test"
    source = TESTS / "codec" / "kernels_test.cpp"
    subprocess.run(["g++", *FLAGS, str(source), "-o", str(binary)], check=True, timeout=300)
    result = subprocess.run([str(binary)], capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr[-6000:]}"
    assert "15 passed" in result.stdout
