// SPDX-License-Identifier: Apache-2.0
#include "base/version.h"

namespace arion {

const std::string_view kVersion = ARION_VERSION;
const std::string_view kCommit = ARION_COMMIT;

}  // namespace arion
