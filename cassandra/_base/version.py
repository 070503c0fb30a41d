"""The version of the distribution, defined only here."""

import re

__version__ = "4.0.0a1"  # the release, as the package index has it
__version_info__ = tuple(int(part) for part in re.findall(r"\d+", __version__)[:3])  # for programs that compare
