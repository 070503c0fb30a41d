"""Data frames of pandas by every way that the installed one has: the last for Python 3.10 takes no Arrow by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa

TAKES_ARROW = int(pd.__version__.partition(".")[0]) >= 3  # which needs Python 3.11


def pandas_frames(made: Callable[[], Any]) -> list[Any]:
    """What pandas makes of *made()*, which is asked anew for each."""
    frames = [pa.table(made()).to_pandas()]
    if TAKES_ARROW:
        from_arrow: Any = pd.DataFrame.from_arrow  # type: ignore[attr-defined, unused-ignore]
        frames.append(from_arrow(made()))
    return frames
