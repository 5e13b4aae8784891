// SPDX-License-Identifier: Apache-2.0
#include "data_api/write_order.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace arion {

void WriteOrder::Enter(uint64_t hash, Token token, Kind kind) {
  Key& key = keys_[hash];
  key.waiting.push_back({token, kind});
  Promote(hash, key);
}

void WriteOrder::EnterAll(absl::Span<const uint64_t> hashes, Token token, Kind kind) {
  CHECK(!hashes.empty());
  if (hashes.size() == 1) return Enter(hashes[0], token, kind);
  several_[token] = {.hashes = {hashes.begin(), hashes.end()}, .turns_missing = hashes.size()};
  // Everywhere before it may begin anywhere.
  for (const uint64_t hash : hashes)
    keys_[hash].waiting.push_back({token, kind, /*is_of_several=*/true});
  // It can't begin, and its keys can't go, before the last one is looked at.
  for (const uint64_t hash : hashes) Promote(hash, keys_.at(hash));
}

// A write of several keys that begins lets others begin at its other keys, and they may be of
// several keys, too: a loop, not a recursion.
void WriteOrder::Promote(uint64_t hash, Key& key) {
  std::vector<uint64_t> freed;
  PromoteHere(hash, key, &freed);
  while (!freed.empty()) {
    const uint64_t next = freed.back();
    freed.pop_back();
    if (const auto it = keys_.find(next); it != keys_.end()) PromoteHere(next, it->second, &freed);
  }
}

// What becomes ready counts as begun: nothing may overtake it.
void WriteOrder::PromoteHere(uint64_t hash, Key& key, std::vector<uint64_t>* freed) {
  while (!key.waiting.empty() && !key.is_deciding) {
    // write_order/Q2: it must see what every earlier write left.
    if (key.waiting.front().kind == Kind::kDecided && key.begun > 0) return;
    if (key.waiting.front().is_of_several && !HasAllTurns(key.waiting.front())) return;
    const Waiting next = key.waiting.front();
    key.waiting.pop_front();
    ++key.begun;
    key.is_deciding = next.kind == Kind::kDecided;
    ready_.push_back(next.token);
    if (next.is_of_several) BeginElsewhere(hash, next, freed);
  }
  if (key.begun == 0 && key.waiting.empty()) keys_.erase(hash);
}

// `first`: the next write of one of its keys.
bool WriteOrder::HasAllTurns(Waiting& first) {
  Several& several = several_.at(first.token);
  if (!std::exchange(first.has_turn, true)) --several.turns_missing;
  return several.turns_missing == 0;
}

// At its other keys than `here`, where it is the next one, too.
void WriteOrder::BeginElsewhere(uint64_t here, const Waiting& one, std::vector<uint64_t>* freed) {
  const auto several = several_.find(one.token);
  for (const uint64_t hash : several->second.hashes) {
    if (hash == here) continue;
    Key& key = keys_.at(hash);
    CHECK(key.waiting.front().token == one.token && !key.is_deciding);
    CHECK(one.kind == Kind::kBlind || key.begun == 0) << "write_order/Q2";
    key.waiting.pop_front();
    ++key.begun;
    key.is_deciding = one.kind == Kind::kDecided;
    freed->push_back(hash);
  }
  several_.erase(several);
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
  for (auto& [hash, key] : keys_) {
    for (const Waiting& waiting : key.waiting) dropped.push_back(waiting.token);
    key.waiting.clear();
  }
  several_.clear();
  // A write of several keys may have been the only one of a key, while it waited for another one.
  std::erase_if(keys_, [](const auto& one) { return one.second.begun == 0; });
  // It stands in each of its keys.
  std::sort(dropped.begin(), dropped.end());
  dropped.erase(std::unique(dropped.begin(), dropped.end()), dropped.end());
  return dropped;
}

}  // namespace arion
