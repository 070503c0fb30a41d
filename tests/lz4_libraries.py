"""The libraries for LZ4 that are installed."""

from __future__ import annotations

from cassandra._net import compression

#: Values of ``compression._lz4`` by library.
LIBRARIES = {
    name: blocks
    for name, blocks in {
        "cramjam": compression._cramjam_blocks(),  # None on Python 3.10
        "python-lz4": compression._python_lz4_blocks(),
    }.items()
    if blocks is not None
}
