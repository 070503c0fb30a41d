"""A free-threaded Python switches the GIL on for the driver, and users see no warning about it."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: As CPython 3.13 and later warn when an extension is imported that has not said it does without the GIL.
PROGRAM = """
import sys, warnings
sys._is_gil_enabled = lambda: {enabled}
import cassandra.cluster
warnings.warn(
    "The global interpreter lock (GIL) has been enabled to load module '{module}', which has not declared that it can "
    "run safely without the GIL. To override this behavior and keep the GIL disabled (at your own risk), run with "
    "PYTHON_GIL=0 or -Xgil=0.", RuntimeWarning)
"""


@pytest.mark.parametrize(
    ("module", "enabled", "told"),
    [
        ("cassandra._core.codec", False, False),
        ("cassandra._core.transport", False, False),
        ("another._core.codec", False, True),
        ("cassandra._core.codec", True, True),  # not this Python
    ],
)
def test_whom_the_warning_reaches(module: str, enabled: bool, told: bool) -> None:
    program = PROGRAM.format(module=module, enabled=enabled)
    done = subprocess.run([sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, check=True)
    assert ("has been enabled to load module" in done.stderr) is told
