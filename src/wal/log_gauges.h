// How large one log is; for displays. Thread-safe. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counter.h"

namespace arion {

struct LogGauges {
  Gauge files;
  Gauge bytes;  // of their content
};

}  // namespace arion
