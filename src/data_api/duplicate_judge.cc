// SPDX-License-Identifier: Apache-2.0
#include "data_api/duplicate_judge.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "base/value_schema.h"
#include "data_api/duplicated_writes.h"
#include "messages/client_messages.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

bool HasPlace(const DuplicateRequest& request, const DuplicateEntry& entry) {
  return request.duplication_id && entry.source_decree && entry.source_update;
}

// Whose it is to say so is the primary that logs it.
bool NamesWhatLogsHold(const DuplicateRequest& request) {
  return request.is_judged || request.source_decree || request.source_update ||
         request.source_time_us;
}

template <class T>
T Decoded(const DuplicateEntry& entry) {
  absl::StatusOr<T> decoded = DecodeWrapped<T>(entry.raw_message->bytes);
  CHECK(decoded.ok()) << "a write that was looked at before: " << decoded.status();
  return *std::move(decoded);
}

// Of the records that it writes.
std::vector<std::string> RawKeysOf(const DuplicateEntry& entry) {
  std::vector<std::string> keys;
  switch (*CodeOf(entry)) {
    case WriteCode::kPut:
      keys.push_back(Decoded<UpdateRequest>(entry).key.bytes);
      break;
    case WriteCode::kRemove:
      keys.push_back(Decoded<Blob>(entry).bytes);
      break;
    case WriteCode::kMultiPut: {
      const auto put = Decoded<MultiPutRequest>(entry);
      for (const KeyValue& kv : put.kvs) keys.push_back(JoinRawKey(put.hash_key, kv.key));
      break;
    }
    default: {
      const auto remove = Decoded<MultiRemoveRequest>(entry);
      for (const Blob& sort_key : remove.sort_keys)
        keys.push_back(JoinRawKey(remove.hash_key, sort_key));
      break;
    }
  }
  return keys;
}

}  // namespace

bool DuplicateJudge::IsNeeded(const DuplicateRequest& request, Compares compares) {
  return compares == Compares::kAll || NamesWhatLogsHold(request) ||
         std::any_of(request.entries.begin(), request.entries.end(),
                     [&](const DuplicateEntry& entry) {
                       return entry.verify_timetag.value_or(false) || HasPlace(request, entry);
                     });
}

DuplicateJudge::DuplicateJudge(DuplicateRequest request, Compares compares)
    : request_(std::move(request)), compares_(compares) {
  raw_keys_.reserve(request_.entries.size());
  for (const DuplicateEntry& entry : request_.entries) {
    raw_keys_.emplace_back();
    if (IsJudged(entry) && entry.timestamp_us.value_or(0) != 0) raw_keys_.back() = RawKeysOf(entry);
    keys_ += raw_keys_.back().size();
  }
}

absl::Status DuplicateJudge::Look(const Engine& engine, ReadTier tier) {
  if (request_.duplication_id && !request_.entries.empty())
    taken_ = engine.PositionOf(static_cast<uint8_t>(request_.entries.back().cluster_id.value_or(0)),
                               *request_.duplication_id);
  for (size_t i = 0; i < raw_keys_.size(); ++i) {
    if (WasTaken(request_.entries[i])) continue;
    for (const std::string& key : raw_keys_[i]) {
      if (tags_.contains(key)) continue;
      ASSIGN_OR_RETURN(const uint64_t tag, engine.TagOf(key, tier));
      tags_.emplace(key, tag);
    }
  }
  return absl::OkStatus();
}

bool DuplicateJudge::WasTaken(const DuplicateEntry& entry) const {
  return taken_ && HasPlace(request_, entry) &&
         entry.cluster_id.value_or(0) == static_cast<int8_t>(taken_->cluster_id) &&
         taken_->Covers(Decree(*entry.source_decree), *entry.source_update,
                        entry.timestamp_us.value_or(0));
}

// Updates of one mutation have one tag, and the later one counts: so an equal one wins.
bool DuplicateJudge::Wins(const std::string& raw_key, uint64_t tag) {
  uint64_t& largest = tags_[raw_key];
  // duplicate_judge/J1. The last bit only says that it is a remove.
  if (tag >> 1 < largest >> 1) return false;
  largest = tag;
  return true;
}

bool DuplicateJudge::KeepOf(const std::vector<std::string>& raw_keys, DuplicateEntry* entry) {
  const WriteCode code = *CodeOf(*entry);
  const uint64_t tag =
      TimeTag{.timestamp_us = entry->timestamp_us.value_or(0),
              .cluster_id = static_cast<uint8_t>(entry->cluster_id.value_or(0)),
              .deleted = code == WriteCode::kRemove || code == WriteCode::kMultiRemove}
          .packed();
  // In the order of the keys.
  std::vector<bool> wins;
  wins.reserve(raw_keys.size());
  for (const std::string& key : raw_keys) wins.push_back(Wins(key, tag));
  const auto lost = std::count(wins.begin(), wins.end(), false);
  if (lost == 0 || static_cast<size_t>(lost) == wins.size()) return lost == 0;
  // Some of several, which only these two have.
  const auto leave_out = [&wins](auto& list) {
    size_t at = 0;
    std::erase_if(list, [&](const auto&) { return !wins[at++]; });
  };
  if (code == WriteCode::kMultiPut) {
    auto put = Decoded<MultiPutRequest>(*entry);
    leave_out(put.kvs);
    entry->raw_message = Blob(EncodeWrapped(put));
  } else {
    auto remove = Decoded<MultiRemoveRequest>(*entry);
    leave_out(remove.sort_keys);
    entry->raw_message = Blob(EncodeWrapped(remove));
  }
  return true;
}

std::optional<std::string> DuplicateJudge::Keep() && {
  DuplicateRequest kept;
  for (size_t i = 0; i < request_.entries.size(); ++i) {
    DuplicateEntry& entry = request_.entries[i];
    if (WasTaken(entry)) continue;
    // Also of what is left out: all before it was looked at.
    if (HasPlace(request_, entry)) {
      kept.duplication_id = request_.duplication_id;
      kept.source_decree = entry.source_decree;
      kept.source_update = entry.source_update;
      kept.source_time_us = entry.timestamp_us.value_or(0);
    }
    if (IsJudged(entry)) kept.is_judged = true;
    if (!raw_keys_[i].empty() && !KeepOf(raw_keys_[i], &entry)) continue;
    entry.verify_timetag.reset();
    entry.source_decree.reset();
    entry.source_update.reset();
    kept.entries.push_back(std::move(entry));
  }
  if (kept.entries.empty()) return std::nullopt;
  return EncodeWrapped(kept);
}

}  // namespace arion
