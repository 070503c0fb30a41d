"""L1: the native engine (codec, transport, routing). Knows bytes, not sessions or policies. It runs with and without
the GIL: docs/free-threading.rst has the argument."""
