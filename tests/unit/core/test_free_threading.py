"""The driver does without the GIL: importing it does not enable the GIL of a free-threaded Python."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, pkgutil, sys
enabled = getattr(sys, "_is_gil_enabled", lambda: True)
found = {"before": enabled()}
import cassandra.cluster
import cassandra._core
names = [module.name for module in pkgutil.iter_modules(cassandra._core.__path__, "cassandra._core.")]
for name in names:
    __import__(name)
import cassandra.cqlengine.models
print(json.dumps({**found, "after": enabled(), "modules": names}))
"""


def test_the_gil_stays_as_it_was() -> None:
    # A module that does not declare that it can do without the GIL enables it, with a RuntimeWarning.
    command = [sys.executable, "-W", "error", "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["after"] is found["before"]
    modules = {"codec", "columns", "memory", "models", "routing", "transport"}
    assert modules <= {name.rpartition(".")[2] for name in found["modules"]}
