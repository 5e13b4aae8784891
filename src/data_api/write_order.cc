// SPDX-License-Identifier: Apache-2.0
#include "data_api/write_order.h"

#include <algorithm>

#include "base/log.h"

namespace arion {

void WriteOrder::Enter(uint64_t hash, Token token, Kind kind) {
  Key& key = keys_[hash];
  key.waiting.push_back({token, kind});
  Promote(hash, key);
}

// What becomes ready counts as begun: nothing may overtake it.
void WriteOrder::Promote(uint64_t hash, Key& key) {
  while (!key.waiting.empty() && !key.is_deciding) {
    const Waiting next = key.waiting.front();
    // write_order/Q2: it must see what every earlier write left.
    if (next.kind == Kind::kDecided && key.begun > 0) return;
    key.waiting.pop_front();
    ++key.begun;
    key.is_deciding = next.kind == Kind::kDecided;
    ready_.push_back(next.token);
  }
  if (key.begun == 0 && key.waiting.empty()) keys_.erase(hash);
}

std::optional<WriteOrder::Token> WriteOrder::TakeReady() {
  if (ready_.empty()) return std::nullopt;
  const Token token = ready_.front();
  ready_.pop_front();
  return token;
}

void WriteOrder::Settle(uint64_t hash) {
  const auto it = keys_.find(hash);
  CHECK(it != keys_.end() && it->second.is_deciding);
  it->second.is_deciding = false;
  Promote(hash, it->second);
}

void WriteOrder::Leave(uint64_t hash) {
  const auto it = keys_.find(hash);
  CHECK(it != keys_.end() && it->second.begun > 0);
  --it->second.begun;
  Promote(hash, it->second);
}

std::vector<WriteOrder::Token> WriteOrder::DropWaiting() {
  std::vector<Token> dropped;
  // Nothing waits where nothing has begun, so no key is left without writes here.
  for (auto& [hash, key] : keys_) {
    for (const Waiting& waiting : key.waiting) dropped.push_back(waiting.token);
    key.waiting.clear();
  }
  std::sort(dropped.begin(), dropped.end());
  return dropped;
}

}  // namespace arion
