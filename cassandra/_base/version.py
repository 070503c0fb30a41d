"""The version of the distribution, defined only here."""

import re

RELEASE = "4.0.0a1"
__version_info__ = tuple(int(part) for part in re.findall(r"\d+", RELEASE)[:3])
__version__ = ".".join(map(str, __version_info__))  # numbers only: programs compare its parts
