# distutils: language = c++
# cython: language_level=3, boundscheck=True, wraparound=True, cdivision=True
"""CQL values, rows, results and request bodies to and from wire bytes (L1). The contract is ``codec.pyi``.

Composition root: every part is included here in the order of its dependencies, so that calls between them are plain C
calls. ``cpp/base`` and ``cpp/codec`` hold the code that needs no Python. Bounds are checked where Python objects are
indexed: values belong to the caller, who may change them while they are encoded. The hot loops run on pointers.
"""

cimport cython
from libc.stdlib cimport free, malloc

include "codec_parts/native.pxi"
include "codec_parts/types.pxi"
include "codec_parts/decode.pxi"
include "codec_parts/encode.pxi"
include "codec_parts/primitives.pxi"
include "codec_parts/class_rows.pxi"
include "codec_parts/row_access.pxi"
include "codec_parts/page.pxi"
include "codec_parts/index.pxi"
include "codec_parts/bind.pxi"
include "codec_parts/results.pxi"
include "codec_parts/requests.pxi"

import_datetime()
if FREE_THREADED:
    load_uuid()
    load_temporal()
    load_collections()
    load_decimal()
