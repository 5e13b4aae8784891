// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/same_content.h"

#include "base/raw_key.h"
#include "base/value_schema.h"
#include "engine/engine.h"

namespace arion::sim {

bool HoldTheSame(const Engine& a, const Engine& b, uint32_t now, const KeyOwnership& owned) {
  const auto view_a = a.View(), view_b = b.View();
  const auto walk_a = view_a->Walk({}, Direction::kForward);
  const auto walk_b = view_b->Walk({}, Direction::kForward);
  const auto is_another = [&owned](std::string_view key) {
    return SplitRawKey(key).has_value() && !owned.OwnsKey(key);
  };
  const auto skip_expired = [now, is_another](RecordIterator& walk) {
    while (walk.Valid() && (IsExpired(walk.expire_ts(), now) || is_another(walk.key())))
      walk.Next();
  };
  for (;; walk_a->Next(), walk_b->Next()) {
    skip_expired(*walk_a), skip_expired(*walk_b);
    if (!walk_a->Valid() || !walk_b->Valid()) return walk_a->Valid() == walk_b->Valid();
    if (walk_a->key() != walk_b->key() || walk_a->value() != walk_b->value() ||
        walk_a->expire_ts() != walk_b->expire_ts())
      return false;
  }
}

}  // namespace arion::sim
