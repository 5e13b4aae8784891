// The node that holds the cluster's id: <root>/arion/cluster_id, 8 hexadecimal digits. The first
// meta server there makes it; all others take what it holds.
//
// Errors    DataLoss: it holds something else; the text says what to do. Those of the session, with
//           the node's path; Unavailable: it may have been made or not.
// Threads   Strand-bound: the session's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace arion {

class ZooKeeperSession;

// `root`: "" or a path. `id_to_make` is asked where there is none; 0: none is made. `done` comes
// once, unless the session is destroyed before; nullopt: there is none.
void LearnClusterId(ZooKeeperSession& session, const std::string& root,
                    std::function<uint32_t()> id_to_make,
                    absl::AnyInvocable<void(absl::StatusOr<std::optional<uint32_t>>)> done);

}  // namespace arion
