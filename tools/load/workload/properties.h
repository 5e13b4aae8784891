// Properties: the key=value text that YCSB's workload files are written in, later settings over
// earlier ones.
//
// Shapes    Java's property syntax: "#" and "!" begin comment lines; "=", ":" or blanks end a key;
//           a line ending in "\" goes on in the next; \t \n \r and \<other> are escapes (\u is not
//           taken). Blanks at a value's end do not count.
// Errors    InvalidArgument, with file and line, or the key and what may stand there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace arion::load {

// Settings by key, each with where it was set.
class Properties {
 public:
  // `origin` names the text in errors: a file's name.
  absl::Status Parse(std::string_view text, std::string_view origin);
  // NotFound: no such file.
  absl::Status ReadFile(const std::string& path);
  void Set(std::string_view key, std::string_view value, std::string_view origin);

  bool Has(std::string_view key) const { return entries_.find(key) != entries_.end(); }
  // `otherwise` where the key is not set; the same for the next two.
  std::string Text(std::string_view key, std::string_view otherwise) const;
  absl::StatusOr<int64_t> Number(std::string_view key, int64_t otherwise) const;
  absl::StatusOr<double> Real(std::string_view key, double otherwise) const;

  struct Entry {
    std::string value;
    // "workloada:12"
    std::string origin;
  };
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace arion::load
