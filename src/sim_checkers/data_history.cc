// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/data_history.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>

#include "sim_checkers/find_model.h"

namespace arion::sim {

const char* KindName(DataOperation::Kind kind) {
  using Kind = DataOperation::Kind;
  switch (kind) {
    case Kind::kPut:
      return "PUT";
    case Kind::kRemove:
      return "REMOVE";
    case Kind::kMultiPut:
      return "MULTI_PUT";
    case Kind::kMultiRemove:
      return "MULTI_REMOVE";
    case Kind::kIncr:
      return "INCR";
    case Kind::kCheckAndSet:
      return "CHECK_AND_SET";
    case Kind::kCheckAndMutate:
      return "CHECK_AND_MUTATE";
    case Kind::kGet:
      return "GET";
    case Kind::kMultiGet:
      return "MULTI_GET";
    case Kind::kBatchGet:
      return "BATCH_GET";
    case Kind::kScan:
      return "SCAN";
    case Kind::kSortKeyCount:
      return "SORTKEY_COUNT";
    case Kind::kTtl:
      return "TTL";
    case Kind::kFind:
      return "FIND";
  }
  return "?";
}

// What was asked, then "->" and what was answered. A violation shows these lines, from which a
// person has to see the contradiction.
std::string DataOperation::ToString() const {
  std::string text =
      absl::StrFormat("%11.6f to %s %s %s", static_cast<double>(invoked.nanos()) / 1e9,
                      // An undecided write may happen at any time after.
                      returned == Instant::InfiniteFuture()
                          ? std::string("?")
                          : absl::StrFormat("%.6f", static_cast<double>(returned.nanos()) / 1e9),
                      KindName(kind), hash_key);
  if (!sort_key.empty()) absl::StrAppend(&text, ":", sort_key);
  if (check != CheckType::kNoCheck)
    absl::StrAppend(&text, " if ", static_cast<int>(check), " \"", operand, "\"");
  if (kind == Kind::kIncr) absl::StrAppend(&text, " by ", amount, " expiry ", expire_ts);
  for (const Write& write : writes) {
    absl::StrAppend(&text, " ", write.sort_key, write.value ? "=" : " removed",
                    write.value.value_or(""));
    if (write.expire_ts != 0) absl::StrAppend(&text, "@", write.expire_ts);
  }
  for (const std::string& one : sort_keys) absl::StrAppend(&text, " ", one);
  if (rows_max > 0) absl::StrAppend(&text, " max ", rows_max);
  if (find != nullptr) absl::StrAppend(&text, " ", DescribePage(*find));
  if (outcome != Outcome::kAnswered) return text;
  absl::StrAppend(&text, " ->");
  if (verdict != Verdict::kWritten)
    absl::StrAppend(&text, verdict == Verdict::kInvalid ? " invalid" : " check failed");
  if (kind == Kind::kGet || told_value) absl::StrAppend(&text, " ", value.value_or("nothing"));
  if (kind == Kind::kIncr || kind == Kind::kSortKeyCount || kind == Kind::kTtl)
    absl::StrAppend(&text, " ", number);
  for (const auto& [key, content] : rows) absl::StrAppend(&text, " ", key, "=", content);
  if (is_incomplete) absl::StrAppend(&text, " ...");
  return text;
}

int64_t DataHistory::CountAnswered() const {
  return std::count_if(operations_.begin(), operations_.end(), [](const DataOperation& o) {
    return o.outcome == DataOperation::Outcome::kAnswered && o.kind != DataOperation::Kind::kFind;
  });
}

int64_t DataHistory::CountAnswered(DataOperation::Kind kind) const {
  return std::count_if(operations_.begin(), operations_.end(), [kind](const DataOperation& o) {
    return o.kind == kind && o.outcome == DataOperation::Outcome::kAnswered;
  });
}

}  // namespace arion::sim
