// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/arguments.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include "base/status.h"
#include "tools/shell/older_names.h"

namespace arion::shell {
absl::StatusOr<Arguments> Arguments::Parse(const Words& words, const std::set<std::string>& valued,
                                           const std::set<std::string>& flags,
                                           const std::set<std::string>& may_be_empty) {
  Arguments parsed;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    // A name that the command itself has goes before what the older tools mean by it.
    const std::string option(flags.contains(word) || valued.contains(word) ? word
                                                                           : ShortOption(word));
    if (flags.contains(option)) {
      parsed.flags_.insert(option);
    } else if (valued.contains(option)) {
      if (i + 1 == words.size() || (words[i + 1].empty() && !may_be_empty.contains(option)))
        return absl::InvalidArgumentError(absl::StrCat(word, " needs a value"));
      parsed.values_[option] = words[++i];
    } else if (word.size() > 1 && word[0] == '-' && !absl::ascii_isdigit(word[1])) {
      return absl::InvalidArgumentError(absl::StrCat("there is no option ", Escape(word)));
    } else {
      parsed.words_.push_back(word);
    }
  }
  return parsed;
}

absl::StatusOr<PartitionId> Arguments::Partition(const std::string& option) const {
  const std::vector<std::string> parts = absl::StrSplit(Value(option), '.');
  PartitionId pid;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &pid.app_id) ||
      !absl::SimpleAtoi(parts[1], &pid.index) || pid.app_id < 1 || pid.index < 0)
    return absl::InvalidArgumentError(
        absl::StrCat(option, " needs a partition, as 2.0 (table id, index)"));
  return pid;
}

absl::StatusOr<Endpoint> Arguments::Node(const std::string& option) const {
  if (Value(option).empty()) return Endpoint();
  const std::optional<Endpoint> node = Endpoint::Parse(Value(option));
  if (!node)
    return absl::InvalidArgumentError(absl::StrCat(option, " needs a server, as 10.0.0.1:34801"));
  return *node;
}

}  // namespace arion::shell
