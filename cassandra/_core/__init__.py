"""L1: the native engine (codec, transport, routing). Knows bytes, not sessions or policies.

It needs the GIL; see "Free threading" in docs/concurrency.rst. A free-threaded Python switches the GIL on when it
imports the first extension, which is all there is to it, and would warn of that as if something were wrong.
"""

import sys

if hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled():
    import warnings

    warnings.filterwarnings(
        "ignore",
        r"The global interpreter lock \(GIL\) has been enabled to load module 'cassandra\._core\.",
        RuntimeWarning,
    )
