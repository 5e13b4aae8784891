// SPDX-License-Identifier: Apache-2.0
#include "tests/support/source_directory.h"

namespace arion {

std::string SourceDirectory() { return ARION_SOURCE_DIR; }

}  // namespace arion
