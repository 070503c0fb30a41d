"""The version of the distribution, defined only here."""

import re

__version__ = "4.0.0a1"  #: The release of the driver.
__version_info__ = tuple(int(part) for part in re.findall(r"\d+", __version__)[:3])  #: Its three numbers, a tuple.
