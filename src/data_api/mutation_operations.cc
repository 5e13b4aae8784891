// SPDX-License-Identifier: Apache-2.0
#include "data_api/mutation_operations.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "base/value_schema.h"
#include "data_api/duplicated_writes.h"
#include "data_api/table_settings.h"
#include "data_api/write_operations.h"
#include "env/clock.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

absl::Status Malformed(const Mutation& mutation) {
  return absl::InvalidArgumentError(
      absl::StrCat("decree ", mutation.decree.value(), " holds a key shorter than it declares"));
}

// When it was ordered, on the clock of expiries. What Pegasus prepared again has timestamp 0
// (pacifica/PROTOCOL.md 2.2): then nothing has expired yet.
uint32_t ExpirySecondsOf(const Mutation& mutation) {
  return static_cast<uint32_t>(
      std::max<int64_t>(mutation.timestamp_us / 1000000 - kExpiryEpochUnixSeconds, 0));
}

}  // namespace

absl::StatusOr<MutationOperations> MutationOperations::Decode(const Mutation& mutation,
                                                              const Engine& engine, ReadTier tier) {
  MutationOperations decoded;
  decoded.decree_ = mutation.decree;
  decoded.timestamp_us_ = mutation.timestamp_us;
  // All of kept_ first, then ops_, which points into it: a vector that grows would move the bytes.
  // A DUPLICATE or MULTI_PUT may hold more changes than there are updates.
  decoded.kept_.reserve(mutation.updates.size());
  for (const Update& update : mutation.updates)
    RETURN_IF_ERROR(decoded.Take(mutation, update, engine, tier));
  decoded.ops_.reserve(decoded.kept_.size());
  for (const Kept& kept : decoded.kept_) {
    const UpdateRequest& request = kept.request;
    decoded.ops_.push_back({.kind = kept.kind,
                            .key = request.key.bytes,
                            .value = request.value.bytes,
                            .expire_ts = static_cast<uint32_t>(request.expire_ts_seconds),
                            .time_tag = kept.time_tag,
                            .leaves_tombstone = kept.leaves_tombstone});
  }
  return decoded;
}

void MutationOperations::Put(UpdateRequest request) {
  kept_.push_back({WriteOp::Kind::kPut, std::move(request), time_tag_, false});
}

// Of another cluster's, the primary here has said whether a tombstone is left.
void MutationOperations::Remove(std::string raw_key, const Update& update) {
  const bool leaves_tombstone =
      time_tag_ == 0 ? HasTombstoneMark(update.code, update.data) : compares_tags_;
  kept_.push_back(
      {WriteOp::Kind::kRemove, {.key = Blob(std::move(raw_key))}, time_tag_, leaves_tombstone});
}

absl::Status MutationOperations::Take(const Mutation& mutation, const Update& update,
                                      const Engine& engine, ReadTier tier) {
  switch (update.code) {
    // A mutation without a change, as a new primary prepares to fill a hole.
    case WriteCode::kEmpty:
      return absl::OkStatus();
    case WriteCode::kPut: {
      ASSIGN_OR_RETURN(UpdateRequest put, DecodeWrapped<UpdateRequest>(update.data));
      if (!IsRawKey(put.key)) return Malformed(mutation);
      Put(std::move(put));
      return absl::OkStatus();
    }
    case WriteCode::kRemove: {
      ASSIGN_OR_RETURN(Blob key, DecodeWrapped<Blob>(update.data));
      if (!IsRawKey(key)) return Malformed(mutation);
      Remove(std::move(key.bytes), update);
      return absl::OkStatus();
    }
    case WriteCode::kMultiPut: {
      ASSIGN_OR_RETURN(MultiPutRequest put, DecodeWrapped<MultiPutRequest>(update.data));
      // A hash key's length must fit the two bytes in front of a raw key.
      if (put.hash_key.bytes.size() > kHashKeyBytesMax) return Malformed(mutation);
      for (KeyValue& kv : put.kvs)
        Put({.key = JoinRawKey(put.hash_key, kv.key),
             .value = std::move(kv.value),
             .expire_ts_seconds = put.expire_ts_seconds});
      return absl::OkStatus();
    }
    case WriteCode::kMultiRemove: {
      ASSIGN_OR_RETURN(MultiRemoveRequest remove, DecodeWrapped<MultiRemoveRequest>(update.data));
      if (remove.hash_key.bytes.size() > kHashKeyBytesMax) return Malformed(mutation);
      for (const Blob& sort_key : remove.sort_keys)
        Remove(JoinRawKey(remove.hash_key, sort_key), update);
      return absl::OkStatus();
    }
    case WriteCode::kIncr:
    case WriteCode::kCheckAndSet:
    case WriteCode::kCheckAndMutate:
      return TakeUndecided(mutation, update, engine, tier);
    case WriteCode::kDuplicate:
      return TakeDuplicated(mutation, update, engine, tier);
    default:
      // To pass the update over would let this replica differ from the others without a sign.
      return absl::UnimplementedError(absl::StrCat("decree ", mutation.decree.value(), " holds a ",
                                                   Text(WriteCodeName(update.code)),
                                                   ", which this version does not apply"));
  }
}

absl::Status MutationOperations::TakeDuplicated(const Mutation& mutation, const Update& update,
                                                const Engine& engine, ReadTier tier) {
  ASSIGN_OR_RETURN(DuplicateRequest request, DecodeLoggedDuplicate(update.data));
  compares_tags_ = request.is_judged.value_or(false);
  if (request.duplication_id && request.source_decree && !request.entries.empty())
    position_ = SourcePosition{
        .cluster_id = static_cast<uint8_t>(request.entries.back().cluster_id.value_or(0)),
        .duplication_id = *request.duplication_id,
        .decree = Decree(*request.source_decree),
        .updates = request.source_update.value_or(0),
        .timestamp_us = request.source_time_us.value_or(0)};
  for (DuplicateEntry& entry : request.entries) {
    if (entry.verify_timetag.value_or(false))
      return absl::UnimplementedError(
          absl::StrCat("decree ", mutation.decree.value(),
                       " holds a write that yields to later ones, which no version duplicates"));
    const std::optional<WriteCode> code = CodeOf(entry);
    if (!code) {
      // The rest of the request is left out as well: the older version stops at the first such
      // code, and replicas of both versions must agree.
      LOG(WARNING) << "decree " << mutation.decree << " of " << mutation.pid
                   << " duplicates a write of code '" << NameOf(entry)
                   << "': left out, with the rest";
      break;
    }
    // The record keeps the time and the cluster of the original write, so that both clusters
    // resolve a conflict alike.
    const TimeTag tag{.timestamp_us = entry.timestamp_us.value_or(0),
                      .cluster_id = static_cast<uint8_t>(entry.cluster_id.value_or(0)),
                      .deleted = *code == WriteCode::kRemove || *code == WriteCode::kMultiRemove};
    time_tag_ = tag.packed();
    RETURN_IF_ERROR(Take(mutation,
                         {.code = *code,
                          .serialization = 1,
                          .data = std::move(entry.raw_message).value_or(Blob()).bytes},
                         engine, tier));
  }
  time_tag_ = 0;
  return absl::OkStatus();
}

absl::Status MutationOperations::TakeUndecided(const Mutation& mutation, const Update& update,
                                               const Engine& engine, ReadTier tier) {
  // It must be alone: the engine does not hold the changes of other updates of this mutation yet,
  // so a decision beside them could be another one than its author's.
  if (mutation.updates.size() != 1)
    return absl::InvalidArgumentError(absl::StrCat("decree ", mutation.decree.value(), " holds a ",
                                                   Text(WriteCodeName(update.code)),
                                                   " that is not alone"));
  ASSIGN_OR_RETURN(WriteOperation operation, WriteOperation::Decode(update.code, update.data));
  if (!operation.IsAcceptable()) return absl::OkStatus();  // was refused, and logged all the same
  const uint32_t now = ExpirySecondsOf(mutation);
  absl::StatusOr<Record> found = engine.Get(operation.record_key(), now, tier);
  std::optional<Record> record;
  if (found.ok())
    record = *std::move(found);
  else if (!absl::IsNotFound(found.status()))
    return found.status();
  // The table's settings at that time are not known, so none is applied.
  const WriteOutcome outcome = std::move(operation).Decide(record, TableSettings{}, now);
  for (const Update& put_or_remove : outcome.updates)
    RETURN_IF_ERROR(Take(mutation, put_or_remove, engine, tier));
  return absl::OkStatus();
}

}  // namespace arion
