// LogTerms: what a learner and its primary agreed on before log files are copied (learned_log.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/ids.h"

namespace arion {

// What a learner may take from the log files of a primary.
struct LogTerms {
  // The learner has everything up to here, inclusive.
  Decree applied;
  // The primary counted everything up to here as committed, inclusive, when it named the files. At
  // least `applied`.
  Decree through;
  // The primary's ballot then.
  Ballot ballot;
};

}  // namespace arion
