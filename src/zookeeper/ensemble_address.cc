// SPDX-License-Identifier: Apache-2.0
#include "zookeeper/ensemble_address.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <utility>

#include "base/status.h"
#include "zookeeper/node_limits.h"

namespace arion {

std::string EnsembleAddress::ToString() const {
  return absl::StrCat(absl::StrJoin(servers, ",",
                                    [](std::string* out, const NamedAddress& server) {
                                      absl::StrAppend(out, server.ToString());
                                    }),
                      root);
}

absl::StatusOr<EnsembleAddress> ParseEnsembleAddress(std::string_view text) {
  EnsembleAddress address;
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    address.root = std::string(absl::StripTrailingAsciiWhitespace(Text(text.substr(slash))));
    RETURN_IF_ERROR(Annotate(CheckNodePath(address.root), "behind ZooKeeper's servers"));
    if (address.root == "/") address.root.clear();
  }
  for (const absl::string_view part : absl::StrSplit(Text(text.substr(0, slash)), ',')) {
    const absl::string_view server = absl::StripAsciiWhitespace(part);
    if (server.empty()) continue;
    absl::StatusOr<NamedAddress> named = ParseNamedAddress(View(server));
    if (!named.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("ZooKeeper's servers: \"", server,
                       "\" is none with a name or an IPv4 address, and a port; write them as "
                       "zk1:2181,zk2:2181"));
    address.servers.push_back(*std::move(named));
  }
  if (address.servers.empty())
    return absl::InvalidArgumentError(
        "ZooKeeper's servers: none is given; write them as zk1:2181,zk2:2181");
  return address;
}

}  // namespace arion
