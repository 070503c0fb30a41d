"""The one place that states the version of the distribution."""

import re

__version__ = "4.0.0a1"
__version_info__ = tuple(int(part) for part in re.findall(r"\d+", __version__)[:3])
