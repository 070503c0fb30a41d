"""L1: the native engine (codec, transport, routing). Knows bytes, not sessions or policies."""
