// SPDX-License-Identifier: Apache-2.0
#include "legacy/shared_log_stats.h"

#include <absl/strings/str_cat.h>

namespace arion {

std::string SharedLogText(const SharedLogStats& stats) {
  // Read once: the numbers change while the text is made.
  const int64_t files = stats.files, bytes = stats.bytes, read = stats.bytes_read;
  if (files == 0) return "no older version's shared log\n";
  const std::vector<std::string> blocking = stats.Blocking();
  std::string text = absl::StrCat(files, " files, ", bytes, " bytes left; ", read, " bytes read, ",
                                  stats.mutations_taken.load(), " mutations taken over; ");
  absl::StrAppend(&text,
                  blocking.empty() ? "held back by nobody known yet"
                                   : absl::StrCat("held back by ", blocking.size(), " replicas"),
                  "\n");
  for (const std::string& line : blocking) absl::StrAppend(&text, line, "\n");
  return text;
}

}  // namespace arion
