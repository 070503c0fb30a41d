// A batch as bytes, for pickles: the buffers of all types in sequence. Batch::load() reads them; views point into at
// most one page.
#pragma once

#include <string>

#include "columns/batch.h"

namespace fastcql::columns {

void save_batch(const Batch& batch, std::string& out);

}  // namespace fastcql::columns
