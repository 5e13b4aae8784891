// SPDX-License-Identifier: Apache-2.0
#include "meta/table_news.h"

#include <string>

#include "messages/admin_messages.h"
#include "meta/owner_life.h"
#include "meta/request_codec.h"
#include "meta_state/cluster_state.h"
#include "meta_state/table_split.h"

namespace arion {

void TableNews::Begin(Table& table) const {
  table.untold.clear();
  for (const auto& [endpoint, node] : uses_.state.nodes) {
    // An older version's doesn't know the message: its config sync must do.
    if (node.alive && !node.is_older) table.untold.insert(endpoint);
  }
  table.tell_at = uses_.clock.Now();
}

Instant TableNews::TellWhenDue(Table& table, Instant now) const {
  // The dead hear of it by the config sync of their return.
  std::erase_if(table.untold, [&](Endpoint node) { return !uses_.state.IsAlive(node); });
  if (table.untold.empty()) return Instant::InfiniteFuture();
  if (now < table.tell_at) return table.tell_at;
  // The next round is due when these calls have timed out: at most one is under way to each server.
  table.tell_at = now + kTellAgain;
  const int32_t app_id = table.info.app_id;
  const std::string body = uses_.codec.Encode(TableChangedRequest{InfoForAll(table)});
  for (Endpoint node : table.untold) {
    uses_.transport.Call(node, {.name = kRpcTableChanged, .body = body, .timeout = kTellAgain},
                         uses_.strand,
                         uses_.life.While([this, app_id, version = table.info.version,
                                           node](const RpcResult& result) {
                           // Nor does one that is not known to be of an older version yet.
                           const bool heard = result.error == ErrorCode::kOk ||
                                              result.error == ErrorCode::kHandlerNotFound;
                           Table* table = uses_.state.FindTable(app_id);
                           if (heard && table != nullptr && table->info.version == version)
                             table->untold.erase(node);
                         }));
  }
  return table.tell_at;
}

}  // namespace arion
