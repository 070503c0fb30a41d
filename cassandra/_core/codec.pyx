# distutils: language = c++
# cython: language_level=3, boundscheck=True, wraparound=True, cdivision=True
"""CQL values, rows, results and request bodies to and from wire bytes (L1). The contract is ``codec.pyi``.

Composition root: every part is included here in the order of its dependencies, so that calls between them are plain C
calls. ``cpp/base`` and ``cpp/codec`` hold the code that needs no Python. Bounds are checked where Python objects are
indexed: values belong to the caller, who may change them while they are encoded. The hot loops run on pointers.
"""

cimport cython
from libc.stdlib cimport free, malloc

include "codec_parts/capi.pxi"
include "codec_parts/lookups.pxi"
include "codec_parts/node.pxi"
include "codec_parts/decode.pxi"
include "codec_parts/decode_nested.pxi"
include "codec_parts/encode.pxi"
include "codec_parts/encode_time.pxi"
include "codec_parts/encode_nested.pxi"
include "codec_parts/primitives.pxi"
include "codec_parts/class_rows.pxi"
include "codec_parts/plans.pxi"
include "codec_parts/metadata.pxi"
include "codec_parts/rows.pxi"
include "codec_parts/kept.pxi"
include "codec_parts/decrypted.pxi"
include "codec_parts/columns.pxi"
include "codec_parts/bind.pxi"
include "codec_parts/result.pxi"
include "codec_parts/unread.pxi"
include "codec_parts/requests.pxi"
include "codec_parts/timestamps.pxi"
include "codec_parts/template.pxi"

import_datetime()
