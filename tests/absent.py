"""Packages of the group ``test`` that cannot be installed on a free-threaded Python.

A test that uses one of them there is an expected failure, which names the package; modules that import them are
collected, so that their other tests run.
"""

from __future__ import annotations
