// Files go from the front only. So each need, and each reserve, is turned into the number of files
// that it lets go, and the smallest counts.
// SPDX-License-Identifier: Apache-2.0
#include "wal/log_retention.h"

#include <algorithm>

#include "base/log.h"
#include "wal/log_needs.h"

namespace arion {
namespace {

// How many files at the front are void, or hold only decrees up to `last`. From the back, because
// headers need not rise: what the newest such header says holds for all files before it.
size_t CountThrough(absl::Span<const LogFileEntry> files, Decree last, int64_t void_before) {
  for (size_t i = files.size(); i-- > 1;) {
    // files[i - 1] and all before it: files[i]'s header says what they hold at most.
    if (files[i].name.start_offset <= void_before || files[i].header_max_decree <= last) return i;
  }
  return 0;
}

// The first file that the reserve holds.
size_t FirstReserved(absl::Span<const LogFileEntry> files, const LogReserve& reserve,
                     int64_t void_before, int64_t now_unix_s) {
  size_t first = files.size();
  if (reserve.bytes_max == 0) return first;
  uint64_t bytes = 0;
  while (first > 0) {
    const LogFileEntry& file = files[first - 1];
    const bool is_newest = first == files.size();
    // The file that would exceed the limit is not kept: the reserve is at most this large.
    bytes += file.content_bytes;
    if (bytes > reserve.bytes_max || file.end_offset() <= void_before) break;
    if (reserve.files_max > 0 && files.size() - first >= static_cast<size_t>(reserve.files_max))
      break;
    if (reserve.age_max_seconds > 0 && !is_newest &&
        now_unix_s - file.last_write_unix_s >= reserve.age_max_seconds)
      break;
    --first;
  }
  CHECK_LE(first, files.size()) << "a reserve behind the newest file";
  return first;
}

}  // namespace

void CheckJoined(absl::Span<const LogFileEntry> files) {
  for (size_t i = 1; i < files.size(); ++i) {
    const LogFileEntry& before = files[i - 1];
    CHECK_EQ(files[i].name.index, before.name.index + 1) << "a hole behind " << before.file_name;
    CHECK_EQ(files[i].name.start_offset, before.end_offset())
        << "a hole behind " << before.file_name;
  }
}

size_t CountDroppable(absl::Span<const LogFileEntry> files, const LogNeeds& needs,
                      const LogReserve& reserve, int64_t valid_start_offset, int64_t now_unix_s) {
  size_t n = CountThrough(files, needs.checkpoint - 1, valid_start_offset);
  n = std::min(n, FirstReserved(files, reserve, valid_start_offset, now_unix_s));
  // What somebody needs is kept, but no more than is granted for it: beyond that it is taught by a
  // checkpoint instead.
  const auto keep_for = [&](Decree last, const LogReserve& at_most) {
    n = std::min(n, std::max(CountThrough(files, last, valid_start_offset),
                             FirstReserved(files, at_most, valid_start_offset, now_unix_s)));
  };
  CHECK_LE(n, files.size()) << "more files than there are";
  if (needs.learner) keep_for(*needs.learner, needs.for_learner);
  if (needs.member) keep_for(*needs.member, needs.for_member);
  if (needs.other_cluster) keep_for(*needs.other_cluster, needs.for_other_cluster);
  CHECK(n == 0 || n < files.size()) << "the newest file would go";
  return n;
}

Decree RetainedAbove(absl::Span<const LogFileEntry> files, int64_t valid_start_offset,
                     Decree max_decree) {
  // The oldest file that lies wholly behind the void part: its header says what was before it.
  for (const LogFileEntry& file : files)
    if (file.name.start_offset >= valid_start_offset) return file.header_max_decree;
  return max_decree;
}

}  // namespace arion
