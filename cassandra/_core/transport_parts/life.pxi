# Process life: exit and counters.

import atexit as _atexit
import weakref as _weakref

# Limit of the wait for callbacks that hang at exit.
_EXIT_TIMEOUT = 5.0
_reactors = _weakref.WeakSet()


def _stop_all():
    """At exit, while Python still runs: stop all reactors, as no native thread may call into Python later, and refuse
    new ones. Exit functions that were registered before this one run after it; their reactors are refused."""
    for reactor in list(_reactors):
        reactor.stop(_EXIT_TIMEOUT)
    runtime_gone.store(True)


_atexit.register(_stop_all)


def debug_counters():
    return {text_of(entry.first): entry.second for entry in counter_values()}
