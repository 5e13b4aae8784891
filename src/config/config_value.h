// One configuration value, from text.
//
// Errors    InvalidArgument that says what is wrong and, after "; ", what to write.
// Threads   Pure, but for ParseAddress and ParseListenAddress, which wait for the network.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace arion {

struct NamedAddress;

// first <= result <= last.
absl::StatusOr<int64_t> ParseInteger(std::string_view text, int64_t first, int64_t last);
// true, false.
absl::StatusOr<bool> ParseSwitch(std::string_view text);
// "9s", "500ms"; positive.
absl::StatusOr<absl::Duration> ParseInterval(std::string_view text);
// Bytes: "32 MiB", "512K", "1048576".
absl::StatusOr<uint64_t> ParseSize(std::string_view text);
// With commas between; names are not looked up.
absl::StatusOr<std::vector<NamedAddress>> ParseNamedAddresses(std::string_view text);
// Looked up. Unavailable: a name that may have an address later.
absl::StatusOr<Endpoint> ParseAddress(std::string_view text);
// The same; "0.0.0.0:34601", every address of this machine, is allowed too.
absl::StatusOr<Endpoint> ParseListenAddress(std::string_view text);
// "c1:1,c2:2"; names and ids are distinct, the ids 1 to 127.
absl::StatusOr<std::map<std::string, uint8_t>> ParseClusterIds(std::string_view text);
// Adds one cluster under the same rules.
absl::Status AddClusterId(std::string_view name, std::string_view id,
                          std::map<std::string, uint8_t>* ids);
// "tag:path,..."
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseDisks(std::string_view text);

}  // namespace arion
