"""The one place that states the version of the distribution."""

import re

RELEASE = "4.0.0a1"  # of the distribution
__version_info__ = tuple(int(part) for part in re.findall(r"\d+", RELEASE)[:3])
__version__ = ".".join(map(str, __version_info__))  # numbers only: programs compute with its parts
