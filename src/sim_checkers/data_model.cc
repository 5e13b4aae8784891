// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/data_model.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <algorithm>

#include "base/raw_key.h"
#include "sim_checkers/data_history.h"
#include "sim_checkers/find_model.h"

namespace arion::sim {
namespace {

using Kind = DataOperation::Kind;
using Verdict = DataOperation::Verdict;
using Row = DataState::Row;

// Both may hold of one record: the window says what clocks may show, not what they do.
bool MayLive(const Row& row, WallWindow wall) {
  return row.expire_ts == 0 || wall.earliest < row.expire_ts;
}
bool MayBeGone(const Row& row, WallWindow wall) {
  return row.expire_ts != 0 && wall.latest >= row.expire_ts;
}

// What a look at one record may find: it, nothing, or either. A pointer in the vector is null for
// nothing.
std::vector<const Row*> Sights(const DataState& state, const std::string& sort_key,
                               WallWindow wall) {
  const Row* row = state.Find(sort_key);
  if (row == nullptr) return {nullptr};
  std::vector<const Row*> sights;
  if (MayLive(*row, wall)) sights.push_back(row);
  if (MayBeGone(*row, wall)) sights.push_back(nullptr);
  return sights;
}

bool ReadInteger(const std::string& text, int64_t* number) {
  return absl::SimpleAtoi(text, number);
}

Verdict VerdictOf(bool passed) { return passed ? Verdict::kWritten : Verdict::kCheckFailed; }

Verdict Check(CheckType type, const std::string& operand, const Row* row) {
  switch (type) {
    case CheckType::kNoCheck:
      return Verdict::kWritten;
    case CheckType::kNotExist:
      return VerdictOf(row == nullptr);
    case CheckType::kNotExistOrEmpty:
      return VerdictOf(row == nullptr || row->value.empty());
    default:
      break;
  }
  // All other checks need a record, and fail where there is none.
  if (row == nullptr) return Verdict::kCheckFailed;
  const std::string& value = row->value;
  switch (type) {
    case CheckType::kExist:
      return Verdict::kWritten;
    case CheckType::kNotEmpty:
      return VerdictOf(!value.empty());
    case CheckType::kMatchAnywhere:
      return VerdictOf(value.find(operand) != std::string::npos);
    case CheckType::kMatchPrefix:
      return VerdictOf(value.starts_with(operand));
    case CheckType::kMatchPostfix:
      return VerdictOf(value.ends_with(operand));
    case CheckType::kBytesLess:
      return VerdictOf(value < operand);
    case CheckType::kBytesLessOrEqual:
      return VerdictOf(value <= operand);
    case CheckType::kBytesEqual:
      return VerdictOf(value == operand);
    case CheckType::kBytesGreaterOrEqual:
      return VerdictOf(value >= operand);
    case CheckType::kBytesGreater:
      return VerdictOf(value > operand);
    default:
      break;
  }
  // What is left compares numbers; a value or operand that is none makes the request invalid.
  int64_t left, right;
  if (!ReadInteger(value, &left) || !ReadInteger(operand, &right)) return Verdict::kInvalid;
  switch (type) {
    case CheckType::kIntLess:
      return VerdictOf(left < right);
    case CheckType::kIntLessOrEqual:
      return VerdictOf(left <= right);
    case CheckType::kIntEqual:
      return VerdictOf(left == right);
    case CheckType::kIntGreaterOrEqual:
      return VerdictOf(left >= right);
    default:
      return VerdictOf(left > right);
  }
}

void ApplyWrites(const DataOperation& operation, DataState* state) {
  for (const DataOperation::Write& write : operation.writes) {
    if (write.value.has_value()) {
      state->Put(write.sort_key, *write.value, write.expire_ts);
    } else {
      state->Remove(write.sort_key);
    }
  }
}

bool IsAnswered(const DataOperation& operation) {
  return operation.outcome == DataOperation::Outcome::kAnswered;
}

void Increment(const DataState& state, const DataOperation& incr, const Row* row,
               std::vector<DataState>* after) {
  int64_t old_value = 0, new_value = 0;
  const bool is_valid =
      (row == nullptr || row->value.empty() || ReadInteger(row->value, &old_value)) &&
      !__builtin_add_overflow(old_value, incr.amount, &new_value);
  // An answer that contradicts the state: this path of the search ends.
  if (IsAnswered(incr) && is_valid != (incr.verdict == Verdict::kWritten)) return;
  if (!is_valid) return after->push_back(state);
  if (IsAnswered(incr) && incr.number != new_value) return;
  // Negative asks for none, and 0 keeps the record's own, if there is one.
  int64_t expire_ts = std::max<int64_t>(incr.expire_ts, 0);
  if (incr.expire_ts == 0 && row != nullptr) expire_ts = row->expire_ts;
  after->push_back(state);
  after->back().Put(incr.sort_key, absl::StrCat(new_value), expire_ts);
}

void CheckAndWrite(const DataState& state, const DataOperation& operation, const Row* row,
                   std::vector<DataState>* after) {
  const Verdict verdict = Check(operation.check, operation.operand, row);
  // Without an answer any verdict is possible; with one, only paths that lead to it go on.
  if (IsAnswered(operation)) {
    if (verdict != operation.verdict) return;
    if (operation.told_value && (operation.value.has_value() != (row != nullptr) ||
                                 (row != nullptr && *operation.value != row->value)))
      return;
  }
  after->push_back(state);
  if (verdict == Verdict::kWritten) ApplyWrites(operation, &after->back());
}

bool CanAnswerRows(const DataState& state, const DataOperation& read, WallWindow wall) {
  // There may be more behind the last row only where no more were asked for.
  const bool is_full = read.rows_max > 0 && read.rows.size() == static_cast<size_t>(read.rows_max);
  if (read.is_incomplete && !is_full) return false;
  size_t next = 0;  // of the answer's rows
  for (const Row& row : state.rows) {
    if (!read.sort_keys.empty() && std::find(read.sort_keys.begin(), read.sort_keys.end(),
                                             row.sort_key) == read.sort_keys.end())
      continue;
    if (next < read.rows.size() && read.rows[next].first == row.sort_key) {
      if (read.rows[next].second != row.value || !MayLive(row, wall)) return false;
      ++next;
    } else if (next == read.rows.size() && read.is_incomplete) {
      return true;  // what comes behind the last row was not looked at
      // A row that was left out must be able to have expired.
    } else if (!MayBeGone(row, wall)) {
      return false;
    }
  }
  return next == read.rows.size();
}

bool CanAnswerFind(const DataState& state, const DataOperation& read, WallWindow wall) {
  size_t next = 0;  // of the answer's rows
  for (const Row& row : state.rows) {
    const std::optional<std::string> place =
        PlaceInPage(*read.find, JoinRawKey(read.hash_key, row.sort_key), row.value);
    if (next < read.rows.size() && read.rows[next].first == row.sort_key) {
      const std::string& told = read.rows[next].second;
      if (!place || !MayLive(row, wall)) return false;
      if (told != (read.find->request.with_value ? row.value : *place)) return false;
      ++next;
    } else if (place && !MayBeGone(row, wall)) {
      return false;
    }
  }
  return next == read.rows.size();
}

bool CanAnswerCount(const DataState& state, const DataOperation& read, WallWindow wall) {
  int64_t least = 0, most = 0;
  for (const Row& row : state.rows) {
    // Between those that surely live and those that may.
    least += !MayBeGone(row, wall);
    most += MayLive(row, wall);
  }
  return least <= read.number && read.number <= most;
}

}  // namespace

const Row* DataState::Find(const std::string& sort_key) const {
  for (const Row& row : rows)
    if (row.sort_key == sort_key) return &row;
  return nullptr;
}

void DataState::Put(const std::string& sort_key, std::string value, int64_t expire_ts) {
  // Kept in order: answers list rows by sort key, and equal states have equal hashes.
  auto it = std::find_if(rows.begin(), rows.end(),
                         [&](const Row& row) { return row.sort_key >= sort_key; });
  if (it == rows.end() || it->sort_key != sort_key) it = rows.insert(it, Row{sort_key, {}, 0});
  it->value = std::move(value);
  it->expire_ts = expire_ts;
}

void DataState::Remove(const std::string& sort_key) {
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [&](const Row& row) { return row.sort_key == sort_key; }),
             rows.end());
}

// Lengths go in, too: "a", "bc" and "ab", "c" must differ.
uint64_t DataState::Hash() const {
  uint64_t hash = 0x243f6a8885a308d3;
  const auto fold = [&hash](uint64_t word) {
    hash = (hash ^ word) * 0x9fb21c651e98df25;
    hash ^= hash >> 29;
  };
  const auto fold_text = [&fold](const std::string& text) {
    fold(text.size());
    for (char c : text) fold(static_cast<uint8_t>(c));
  };
  for (const Row& row : rows) {
    fold_text(row.sort_key);
    fold_text(row.value);
    fold(static_cast<uint64_t>(row.expire_ts));
  }
  return hash;
}

bool CanAnswer(const DataState& state, const DataOperation& read, WallWindow wall) {
  switch (read.kind) {
    case Kind::kMultiGet:
    case Kind::kBatchGet:
    case Kind::kScan:
      return CanAnswerRows(state, read, wall);
    case Kind::kSortKeyCount:
      return CanAnswerCount(state, read, wall);
    case Kind::kFind:
      return CanAnswerFind(state, read, wall);
    default:
      break;
  }
  for (const Row* row : Sights(state, read.sort_key, wall)) {
    if (read.kind == Kind::kGet) {
      if (row == nullptr ? !read.value : read.value == row->value) return true;
    } else if (row == nullptr) {
      if (read.verdict == Verdict::kCheckFailed) return true;  // TTL: no such record
    } else if (read.verdict == Verdict::kWritten) {
      if (row->expire_ts == 0 ? read.number == -1
                              : row->expire_ts - wall.latest <= read.number &&
                                    read.number <= row->expire_ts - wall.earliest)
        return true;
    }
  }
  return false;
}

std::vector<DataState> StatesAfter(const DataState& state, const DataOperation& write,
                                   WallWindow wall) {
  std::vector<DataState> after;
  if (write.kind == Kind::kIncr) {
    for (const Row* row : Sights(state, write.sort_key, wall)) Increment(state, write, row, &after);
  } else if (write.kind == Kind::kCheckAndSet || write.kind == Kind::kCheckAndMutate) {
    for (const Row* row : Sights(state, write.sort_key, wall))
      CheckAndWrite(state, write, row, &after);
  } else {
    after.push_back(state);
    ApplyWrites(write, &after.back());
  }
  return after;
}

}  // namespace arion::sim
