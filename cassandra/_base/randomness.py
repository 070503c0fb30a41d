"""Random numbers of the driver (L0).

Delays, orders and samples of the driver come from a generator of its own. So the numbers that a program draws from
``random`` after ``random.seed`` do not depend on what driver threads do meanwhile, and clients that all start with the
same seed do not send at the same moments. A forked child reseeds it. The public policies draw from ``random``, as
those of scylla-driver do.
"""

from __future__ import annotations

from random import Random

from .process import in_child

_generator = Random()
in_child(_generator.seed)

getrandbits = _generator.getrandbits
random = _generator.random
randrange = _generator.randrange
shuffle = _generator.shuffle
uniform = _generator.uniform


def backoff(failures: int, first: float, longest: float) -> float:
    """Return the seconds until the next attempt: exponential, with jitter, so that clients do not return together."""
    return min(longest, first * (1 << min(failures, 30))) * uniform(0.5, 1.0)
