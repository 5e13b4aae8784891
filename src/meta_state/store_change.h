// StoreChange: one key of the meta server's stored state and its new value (meta/STATE.md 1.1).
// Apart from the store, because the state is judged without one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace arion {

// ClusterState::ChangeOf makes it, MetaStore::Commit stores it together with others.
struct StoreChange {
  std::string key;
  // nullopt: the key is removed.
  std::optional<std::string> value;
};

}  // namespace arion
