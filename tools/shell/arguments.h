// What stands after a command's name: options, and the words in between.
//
// Shapes    The older shell's long name of an option means the short one (older_names.h).
// Errors    InvalidArgument: an unknown option, or one without its value. An empty value counts as
//           none: a script whose variable is not set would mean all. How many words there may be is
//           the command's to check.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "tools/shell/words.h"

namespace arion::shell {

// The words after one command's name, taken apart.
//
//   ASSIGN_OR_RETURN(auto parsed, Arguments::Parse(words, {"-g"}, {"-y"}));
//   ASSIGN_OR_RETURN(PartitionId pid, parsed.Partition("-g"));
//   if (!parsed.Has("-y")) ...
class Arguments {
 public:
  // `valued` options take a value ("-g"), `flags` take none ("-y"). Options of `may_be_empty` also
  // take an empty value. Of an option that is given twice the last value counts. "-" and what
  // begins like "-5" are words.
  static absl::StatusOr<Arguments> Parse(const Words& words, const std::set<std::string>& valued,
                                         const std::set<std::string>& flags,
                                         const std::set<std::string>& may_be_empty = {});

  // Those that are neither options nor their values.
  const Words& words() const { return words_; }
  bool Has(const std::string& option) const {
    return flags_.contains(option) || values_.contains(option);
  }
  // Empty: not given, or empty where it may be.
  std::string Value(const std::string& option) const {
    const auto it = values_.find(option);
    return it == values_.end() ? std::string() : it->second;
  }
  // Table id and index, as in "1.0". InvalidArgument also where it was not given.
  absl::StatusOr<PartitionId> Partition(const std::string& option) const;
  // "10.0.0.1:34801"; an invalid endpoint: not given.
  absl::StatusOr<Endpoint> Node(const std::string& option) const;

 private:
  Words words_;
  std::set<std::string> flags_;
  std::map<std::string, std::string> values_;
};

}  // namespace arion::shell
