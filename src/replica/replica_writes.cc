// Clients' writes: from the request to the core's event, and from its answer to the client.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/crc.h"
#include "base/log.h"
#include "replica/replica.h"

namespace arion {
namespace {

// Of requests that wait for others to their hash key.
constexpr uint64_t kUndecidedBytesMax = 64 << 20;
// Of one request's keys and values, each key whole.
constexpr uint64_t kExpandedBytesMax = 128 << 20;

// Of a client's write.
RequestKind KindOf(WriteCode code) {
  static_assert(static_cast<int>(WriteCode::kCheckAndMutate) - static_cast<int>(WriteCode::kPut) ==
                static_cast<int>(RequestKind::kCheckAndMutate) -
                    static_cast<int>(RequestKind::kPut));
  return static_cast<RequestKind>(static_cast<int>(RequestKind::kPut) + static_cast<int>(code) -
                                  static_cast<int>(WriteCode::kPut));
}

}  // namespace

void Replica::Write(WriteCode code, InboundRequest request, RequestTimes times) {
  CHECK_ON_STRAND(strand_);
  Write(code, Watched(KindOf(code), std::move(request), times.arrived), times.deadline,
        Admission::kAsked);
}

// The checks are in the protocol's order (rpc/PROTOCOL.md 4.4).
void Replica::Write(WriteCode code, ClientRequest request, Instant deadline, Admission admission) {
  if (IsTooLate(deadline)) return request.responder.Drop();
  const auto refuse = [&](ErrorCode error) { request.responder.Reply(error); };
  if (office_.IsClosed()) return refuse(ErrorCode::kInvalidState);
  if (IsDenied(request, &DenyRule::writes)) return;
  const uint64_t bytes_max = host_->options.max_allowed_write_bytes;
  if (bytes_max != 0 && request.body.size() > bytes_max) {
    LOG_EVERY_N(WARNING, 100) << Tag() << " " << WriteCodeName(code) << " of "
                              << request.body.size() << " bytes refused: at most " << bytes_max;
    figures().Count(ReplicaCount::kOversizedWrites);
    return refuse(ErrorCode::kInvalidData);
  }
  if (!Settings().Owns(pid_.index, request.header.partition_hash))
    return refuse(ErrorCode::kParentPartitionMisused);
  if (!HoldsLease()) return refuse(ErrorCode::kInvalidState);
  const ErrorCode gate = core_->WriteGate();
  if (gate == ErrorCode::kInvalidState)
    return Hold(std::move(request), gate,
                [code, deadline, admission](Replica& replica, ClientRequest held) {
                  replica.Write(code, std::move(held), deadline, admission);
                });
  if (const ErrorCode space = office_.SpaceGate(); space != ErrorCode::kOk) return refuse(space);
  if (gate != ErrorCode::kOk) return refuse(gate);
  if (IsOverQuota(code, request.body.size())) return refuse(ErrorCode::kDiskInsufficient);
  if (admission == Admission::kAsked) {
    const std::optional<absl::Duration> pause = AdmitWrite(request);
    if (!pause) return;
    if (*pause > absl::ZeroDuration())
      return Delay(*pause, std::move(request),
                   [code, deadline](Replica& replica, ClientRequest delayed) {
                     replica.Write(code, std::move(delayed), deadline, Admission::kGranted);
                   });
  }

  absl::StatusOr<WriteOperation> operation = WriteOperation::Decode(code, std::move(request.body));
  if (!operation.ok()) return refuse(ErrorCode::kInvalidData);
  if (!operation->IsAcceptable())
    return request.responder.Reply(ErrorCode::kOk, EncodeAnswer(code, operation->Refusal(), pid_,
                                                                kInvalidDecree, server_name_));
  const uint64_t bytes = operation->expanded_bytes();
  if (bytes > kExpandedBytesMax) {
    LOG_EVERY_N(WARNING, 100) << Tag() << " " << WriteCodeName(code) << " of " << bytes
                              << " bytes in keys and values refused: at most " << kExpandedBytesMax;
    return refuse(ErrorCode::kInvalidData);
  }
  if (undecided_bytes_ >= kUndecidedBytesMax) return refuse(ErrorCode::kBusy);

  const ClientToken token = next_token_++;
  const std::string_view hash_key = operation->hash_key();
  NoteKey(KeyUse::kWrite, hash_key, request.responder.arrived());
  const uint64_t hash = Crc64(hash_key);
  const WriteOrder::Kind kind =
      operation->NeedsRecord() ? WriteOrder::Kind::kDecided : WriteOrder::Kind::kBlind;
  clients_.emplace_hint(clients_.end(), token,
                        ClientWriteUnderWay{.responder = std::move(request.responder),
                                            .operation = *std::move(operation),
                                            .code = code,
                                            .deadline = deadline,
                                            .hash = hash,
                                            .bytes = bytes + sizeof(ClientWriteUnderWay)});
  undecided_bytes_ += bytes + sizeof(ClientWriteUnderWay);
  write_order_.Enter(hash, token, kind);
  BeginWrites();
}

// Not recursive, though what it begins may at once be answered and let others begin.
void Replica::BeginWrites() {
  if (is_beginning_writes_) return;
  is_beginning_writes_ = true;
  if (!at_barrier_.empty() &&
      (!office_.MayBePrimaryAgain() || ReadGate(ReadKind::kPrimaryOnly) == ErrorCode::kOk)) {
    for (const ClientToken token : std::exchange(at_barrier_, {}))
      if (const auto it = clients_.find(token); it != clients_.end())
        LookAndDecide(token, it->second);
  }
  while (!office_.IsClosed()) {
    const std::optional<WriteOrder::Token> token = write_order_.TakeReady();
    if (!token) break;
    const auto it = clients_.find(*token);
    CHECK(it != clients_.end());
    BeginWrite(*token, it->second);
  }
  is_beginning_writes_ = false;
}

void Replica::BeginWrite(ClientToken token, ClientWriteUnderWay& write) {
  if (IsTooLate(write.deadline)) return DropWrite(token, write);
  if (write.operation->NeedsRecord()) return LookAndDecide(token, write);
  Order(token, write, std::nullopt, ExpiryNow(host_->env.clock()));
}

// Nobody waits for its answer, and nothing of it has been logged.
void Replica::DropWrite(ClientToken token, ClientWriteUnderWay& write) {
  write.responder.Drop();
  FinishWrite(token, ErrorCode::kTimeout, {});
}

void Replica::LookAndDecide(ClientToken token, ClientWriteUnderWay& write) {
  if (const ErrorCode gate = ReadGate(ReadKind::kPrimaryOnly); gate != ErrorCode::kOk) {
    if (!office_.MayBePrimaryAgain()) return FinishWrite(token, gate, {});
    write.phase = ClientWriteUnderWay::Phase::kBarrier;
    at_barrier_.push_back(token);
    return;
  }
  const uint32_t now = ExpiryNow(host_->env.clock());
  std::string key = write.operation->record_key();
  absl::StatusOr<Record> record = engine_->Get(key, now, ReadTier::kCacheOnly);
  if (!absl::IsUnavailable(record.status())) return Decide(token, write, std::move(record), now);

  write.phase = ClientWriteUnderWay::Phase::kReading;
  auto from_disk = std::make_shared<absl::StatusOr<Record>>();
  InPool(
      [engine = engine_, key = std::move(key), now, from_disk] {
        *from_disk = engine->Get(key, now, ReadTier::kAll);
        return absl::OkStatus();
      },
      [this, token, ballot = core_->ballot(), now, from_disk](const absl::Status&) {
        const auto it = clients_.find(token);
        if (it == clients_.end()) return;
        // Under another ballot another primary may have written meanwhile.
        if (ballot == core_->ballot())
          Decide(token, it->second, std::move(*from_disk), now);
        else
          LookAndDecide(token, it->second);
        BeginWrites();
      });
}

void Replica::Decide(ClientToken token, ClientWriteUnderWay& write, absl::StatusOr<Record> record,
                     uint32_t now) {
  if (IsTooLate(write.deadline)) return DropWrite(token, write);
  // replica/P1, as for reads: what was found counts only if this server may still speak for the
  // partition.
  if (ReadGate(ReadKind::kPrimaryOnly) != ErrorCode::kOk) return LookAndDecide(token, write);
  if (record.ok()) return Order(token, write, *std::move(record), now);
  if (absl::IsNotFound(record.status())) return Order(token, write, std::nullopt, now);
  const StorageError error =
      absl::IsDataLoss(record.status()) ? StorageError::kCorruption : StorageError::kIOError;
  FinishWrite(token, ErrorCode::kOk,
              EncodeAnswer(write.code, {.error = error}, pid_, kInvalidDecree, server_name_));
  if (!IsRefusal(record.status())) Fence(absl::StrCat("read: ", record.status().ToString()));
}

void Replica::Order(ClientToken token, ClientWriteUnderWay& write,
                    const std::optional<Record>& record, uint32_t now) {
  const bool was_decided = write.operation->NeedsRecord();
  write.outcome = (*std::move(write.operation)).Decide(record, Settings(), now);
  write.operation.reset();
  if (write.outcome.updates.empty())
    return FinishWrite(token, ErrorCode::kOk,
                       EncodeAnswer(write.code, write.outcome, pid_, kInvalidDecree, server_name_));
  ClientWrite event{.token = token, .received_at_us = host_->env.clock().WallMicros()};
  event.updates = std::exchange(write.outcome.updates, {});
  write.phase = ClientWriteUnderWay::Phase::kOrdered;
  undecided_bytes_ -= write.bytes;
  if (was_decided) write_order_.Settle(write.hash);  // what becomes ready begins behind this one
  Step(event);                                       // it may end the write at once
}

void Replica::FinishWrite(ClientToken token, ErrorCode error, std::string body) {
  EndWrite(token).responder.Reply(error, std::move(body));
}

Replica::ClientWriteUnderWay Replica::EndWrite(ClientToken token) {
  const auto it = clients_.find(token);
  CHECK(it != clients_.end());
  ClientWriteUnderWay write = std::move(it->second);
  clients_.erase(it);
  if (write.phase != ClientWriteUnderWay::Phase::kOrdered) {
    undecided_bytes_ -= write.bytes;
    const bool is_deciding = write.code >= WriteCode::kIncr;
    if (is_deciding) write_order_.Settle(write.hash);
  }
  write_order_.Leave(write.hash);
  return write;
}

void Replica::AnswerClient(const ClientReply& reply) {
  const auto it = clients_.find(reply.token);
  if (it == clients_.end()) return;
  if (reply.err != ErrorCode::kOk) return FinishWrite(reply.token, reply.err, {});
  // Committed, but no longer ours to say so (replica/P1): the client hears that the outcome is
  // unknown.
  if (!HoldsLease()) return FinishWrite(reply.token, ErrorCode::kTimeout, {});
  std::string body =
      EncodeAnswer(it->second.code, it->second.outcome, pid_, reply.decree, server_name_);
  const WriteTimes::Times* times = write_times_.Find(reply.decree);
  if (times == nullptr) return FinishWrite(reply.token, ErrorCode::kOk, std::move(body));
  EndWrite(reply.token).responder.Reply(std::move(body), *times, last_step_);
}

void Replica::RefuseUndecidedWrites(ErrorCode error) {
  for (const ClientToken token : write_order_.DropWaiting()) {
    const auto it = clients_.find(token);
    CHECK(it != clients_.end());
    undecided_bytes_ -= it->second.bytes;
    it->second.responder.Reply(error);
    clients_.erase(it);
  }
  std::vector<ClientToken> looking;
  for (const auto& [token, write] : clients_)
    if (write.phase == ClientWriteUnderWay::Phase::kBarrier ||
        write.phase == ClientWriteUnderWay::Phase::kReading)
      looking.push_back(token);
  at_barrier_.clear();
  for (const ClientToken token : looking) FinishWrite(token, error, {});
}

}  // namespace arion
