// copy_data.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/shell/session.h"

namespace arion::shell {

Command CopyCommand();

}  // namespace arion::shell
