// Clients' reads and writes.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/raw_key.h"
#include "env/clock.h"
#include "rpc/encoded_rows.h"
#include "rpc/thrift_codec.h"
#include "sim_older/old_replica.h"

namespace arion::sim {

using enum PartitionStatus;

namespace {

constexpr size_t kMutationBytesMax = 1 << 20;
constexpr absl::Duration kReadTime = absl::Seconds(30);

}  // namespace

void OldReplica::Write(WriteCode code, InboundRequest request) {
  const auto refuse = [&](ErrorCode error) { request.responder.Reply(error); };
  // The order of the checks is 2.5.0's, because the client sees which one came first.
  if (role_ != kPrimary || !host_.HoldsLease()) return refuse(ErrorCode::kInvalidState);
  if (request.body.size() > kMutationBytesMax) return refuse(ErrorCode::kInvalidData);
  if (static_cast<int32_t>(config_.MemberCount()) < MembersMin())
    return refuse(ErrorCode::kNotEnoughMember);
  const bool may_join = IsBatchable(code);
  if (!may_join || queue_.empty() || !queue_.back().is_open) {
    // A write that can't share a mutation ends the one before it: order is that of arrival.
    if (!queue_.empty()) queue_.back().is_open = false;
    queue_.emplace_back().is_open = may_join;
  }
  Draft& draft = queue_.back();
  draft.bytes += request.body.size();
  draft.updates.push_back({.code = code, .serialization = 1, .data = std::move(request.body)});
  // One for each update, in the same order: each client gets its own update's answer.
  draft.clients.push_back({.code = code, .responder = std::move(request.responder)});
  if (draft.bytes >= kMutationBytesMax) draft.is_open = false;
  StartQueued();
}

ErrorCode OldReplica::ReadGate() const {
  // A new primary answers reads only when everything is committed that the former one may have
  // acknowledged.
  const bool may_read =
      role_ == kPrimary && host_.HoldsLease() && list_.committed() >= read_barrier_;
  return may_read ? ErrorCode::kOk : ErrorCode::kInvalidState;
}

ReadTerms OldReplica::Terms() const {
  const Clock& clock = host_.env.clock();
  return {.pid = pid(),
          .server = server_name(),
          .now = ExpiryNow(clock),
          .clock = clock,
          .deadline = clock.Now() + kReadTime};
}

bool OldReplica::Read(InboundRequest& request) {
  const std::string& name = request.header.name;
  const bool is_one = name == kRpcGet || name == kRpcTtl;
  const bool is_several = name == kRpcMultiGet || name == kRpcBatchGet || name == kRpcSortKeyCount;
  const bool is_scan = name == kRpcGetScanner || name == kRpcScan;
  if (!is_one && !is_several && !is_scan) return false;
  if (const ErrorCode gate = ReadGate(); gate != ErrorCode::kOk)
    request.responder.Reply(gate);
  else if (is_one)
    ReadOne(request);
  else if (is_several)
    ReadSeveral(request);
  else
    Scan(request);
  return true;
}

void OldReplica::ReadOne(InboundRequest& request) {
  const auto key = DecodeWrapped<Blob>(request.body);
  if (!key.ok()) return request.responder.Reply(ErrorCode::kInvalidData);
  const uint32_t now = ExpiryNow(host_.env.clock());
  StorageError error = StorageError::kOk;
  absl::StatusOr<Record> record = absl::NotFoundError("");
  if (!SplitRawKey(*key))
    error = StorageError::kInvalidArgument;
  else if (record = engine_->Get(*key, now, ReadTier::kAll); !record.ok())
    error = StorageError::kNotFound;
  if (request.header.name == kRpcGet) {
    ReadResponse response{.error = static_cast<int32_t>(error),
                          .app_id = pid().app_id,
                          .partition_index = pid().index,
                          .server = server_name()};
    if (record.ok()) response.value.bytes = std::move(record->value);
    return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
  }
  TtlResponse response{.error = static_cast<int32_t>(error),
                       .app_id = pid().app_id,
                       .partition_index = pid().index,
                       .server = server_name()};
  if (record.ok())
    // -1: it never expires.
    response.ttl_seconds =
        record->expire_ts == 0 ? -1 : static_cast<int32_t>(record->expire_ts - now);
  request.responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
}

void OldReplica::ReadSeveral(InboundRequest& request) {
  const std::shared_ptr<const EngineView> view = engine_->View();
  const auto refuse = [&] { request.responder.Reply(ErrorCode::kInvalidData); };
  ReadPlace place;
  if (request.header.name == kRpcMultiGet) {
    const auto get = DecodeWrapped<MultiGetRequest>(request.body);
    if (!get.ok()) return refuse();
    for (;;) {
      EncodedRows rows;
      const auto answer = MultiGet(*view, *get, Terms(), ReadTier::kAll, &rows, &place);
      if (!answer.ok()) return refuse();
      // It is not through yet; `place` says where it goes on.
      if (!answer->has_value()) continue;
      return request.responder.Reply(ErrorCode::kOk, std::move(rows).Finish(**answer));
    }
  }
  if (request.header.name == kRpcBatchGet) {
    const auto get = DecodeWrapped<BatchGetRequest>(request.body);
    if (!get.ok()) return refuse();
    const auto answer = BatchGet(*view, *get, Terms(), ReadTier::kAll);
    if (!answer.ok()) return refuse();
    return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(*answer));
  }
  const auto hash_key = DecodeWrapped<Blob>(request.body);
  if (!hash_key.ok()) return refuse();
  for (;;) {
    const auto answer = CountSortKeys(*view, *hash_key, Terms(), &place);
    if (!answer.ok()) return refuse();
    if (answer->has_value())
      return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(**answer));
  }
}

void OldReplica::Scan(InboundRequest& request) {
  std::unique_ptr<ScanCursor> cursor;
  StorageError error = StorageError::kInvalidArgument;
  if (request.header.name == kRpcGetScanner) {
    auto scan = DecodeWrapped<GetScannerRequest>(request.body);
    if (!scan.ok()) return request.responder.Reply(ErrorCode::kInvalidData);
    scan->only_return_sum.reset();  // a field that it does not know
    cursor = ScanCursor::Make(engine_->View(), *scan, nullptr);
  } else {
    const auto scan = DecodeWrapped<ScanRequest>(request.body);
    if (!scan.ok()) return request.responder.Reply(ErrorCode::kInvalidData);
    error = StorageError::kNotFound;
    // A batch takes the cursor out, so an id works once.
    if (const auto kept = scans_.find(scan->context_id); kept != scans_.end()) {
      cursor = std::move(kept->second);
      scans_.erase(kept);
    }
  }
  if (cursor == nullptr) {
    ScanResponse response;
    response.error = static_cast<int32_t>(error);
    response.app_id = pid().app_id;
    response.partition_index = pid().index;
    response.server = server_name();
    return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
  }
  EncodedRows rows;
  // A scan's id changes with each batch, so a repeated request finds none.
  const int64_t id = next_scan_++;
  const auto batch = cursor->NextBatch(Terms(), id, &rows);
  if (!batch.ok()) return request.responder.Reply(ErrorCode::kInvalidData);
  if (batch->context_id == id) scans_[id] = std::move(cursor);
  request.responder.Reply(ErrorCode::kOk, std::move(rows).Finish(*batch));
}

}  // namespace arion::sim
