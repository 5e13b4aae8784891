// SPDX-License-Identifier: Apache-2.0
#include "client_requests/client_writes.h"

#include <utility>

#include "base/crc.h"
#include "base/log.h"
#include "base/status.h"
#include "client_requests/admission.h"
#include "client_requests/office.h"
#include "env/file_system.h"

namespace arion {
namespace {

// Of requests that wait for others to their hash key.
constexpr uint64_t kUndecidedBytesMax = 64 << 20;
// Of one request's keys and values, each key whole.
constexpr uint64_t kExpandedBytesMax = 128 << 20;

// Of a client's write.
RequestKind KindOf(WriteCode code) {
  // The codes of both enumerations are in the same order.
  static_assert(static_cast<int>(WriteCode::kCheckAndMutate) - static_cast<int>(WriteCode::kPut) ==
                static_cast<int>(RequestKind::kCheckAndMutate) -
                    static_cast<int>(RequestKind::kPut));
  return static_cast<RequestKind>(static_cast<int>(RequestKind::kPut) + static_cast<int>(code) -
                                  static_cast<int>(WriteCode::kPut));
}

}  // namespace

void ClientWrites::Write(WriteCode code, InboundRequest request, RequestTimes times) {
  CHECK_ON_STRAND(partition_.strand);
  Write(code, admission_.Watched(KindOf(code), std::move(request), times.arrived), times.deadline,
        Throttles::kToBeAsked);
}

// The checks are in the protocol's order (rpc/PROTOCOL.md 4.4).
void ClientWrites::Write(WriteCode code, ClientRequest request, Instant deadline,
                         Throttles throttles) {
  if (partition_.IsTooLate(deadline)) return request.responder.Drop();
  const auto refuse = [&](ErrorCode error) { request.responder.Reply(error); };
  if (partition_.office.IsClosed()) return refuse(ErrorCode::kInvalidState);
  if (admission_.IsDenied(request, &DenyRule::writes)) return;
  if (request_bytes_max_ != 0 && request.body.size() > request_bytes_max_) {
    LOG_EVERY_N(WARNING, 100) << partition_.tag() << " " << WriteCodeName(code) << " of "
                              << request.body.size() << " bytes refused: at most "
                              << request_bytes_max_;
    partition_.figures().Count(ReplicaCount::kOversizedWrites);
    return refuse(ErrorCode::kInvalidData);
  }
  // A header without a hash is of old Python clients: only the keys are judged then, as they are in
  // any case (Order).
  if (const KeyOwnership owned = admission_.Settings().KeysOf(partition_.pid.index);
      request.header.partition_hash != 0 && !owned.Owns(request.header.partition_hash))
    return refuse(ErrorCode::kParentPartitionMisused);
  if (!partition_.office.HoldsLease()) return refuse(ErrorCode::kInvalidState);
  const ErrorCode gate = partition_.office.WriteGate();
  // Perhaps only the configuration is not known yet, so the request may wait for it.
  if (gate == ErrorCode::kInvalidState)
    return admission_.Hold(std::move(request), gate,
                           [this, code, deadline, throttles](ClientRequest held) {
                             Write(code, std::move(held), deadline, throttles);
                           });
  // Before other refusals of the gate: a full disk is what the client, and its operator, can act
  // on.
  if (const ErrorCode space = partition_.office.SpaceGate(); space != ErrorCode::kOk)
    return refuse(space);
  if (gate != ErrorCode::kOk) return refuse(gate);
  // The last check that refuses, because it may count the bytes as taken.
  if (admission_.IsOverQuota(code, request.body.size()))
    return refuse(ErrorCode::kDiskInsufficient);
  if (throttles == Throttles::kToBeAsked) {
    const std::optional<absl::Duration> pause = admission_.AdmitWrite(request);
    if (!pause) return;
    if (*pause > absl::ZeroDuration())
      return admission_.Delay(*pause, std::move(request),
                              [this, code, deadline](ClientRequest delayed) {
                                Write(code, std::move(delayed), deadline, Throttles::kPassed);
                              });
  }
  Enter(code, std::move(request), deadline);
}

void ClientWrites::Enter(WriteCode code, ClientRequest request, Instant deadline) {
  const auto refuse = [&](ErrorCode error) { request.responder.Reply(error); };
  absl::StatusOr<WriteOperation> operation = WriteOperation::Decode(code, std::move(request.body));
  if (!operation.ok()) return refuse(ErrorCode::kInvalidData);
  if (!operation->IsAcceptable())
    return request.responder.Reply(
        ErrorCode::kOk, EncodeAnswer(code, operation->Refusal(), partition_.pid, kInvalidDecree,
                                     partition_.server));
  // What the write will occupy in the log and the engine, not what came.
  const uint64_t bytes = operation->expanded_bytes();
  if (bytes > kExpandedBytesMax) {
    LOG_EVERY_N(WARNING, 100) << partition_.tag() << " " << WriteCodeName(code) << " of " << bytes
                              << " bytes in keys and values refused: at most " << kExpandedBytesMax;
    return refuse(ErrorCode::kInvalidData);
  }
  // Only writes that are not ordered count: the core bounds the others.
  if (undecided_bytes_ >= kUndecidedBytesMax) return refuse(ErrorCode::kBusy);

  const ClientToken token = hooks_.new_token();
  const std::string_view hash_key = operation->hash_key();
  partition_.NoteKey(KeyUse::kWrite, hash_key, request.responder.arrived());
  const uint64_t hash = Crc64(hash_key);
  const WriteOrder::Kind kind =
      operation->NeedsRecord() ? WriteOrder::Kind::kDecided : WriteOrder::Kind::kBlind;
  // Tokens rise, so the hint is right.
  under_way_.emplace_hint(under_way_.end(), token,
                          UnderWay{.responder = std::move(request.responder),
                                   .operation = *std::move(operation),
                                   .code = code,
                                   .deadline = deadline,
                                   .hash = hash,
                                   .bytes = bytes + sizeof(UnderWay)});
  undecided_bytes_ += bytes + sizeof(UnderWay);
  order_.Enter(hash, token, kind);
  Begin();
}

void ClientWrites::Begin() {
  // Ordering may answer at once, which ends a write and begins the next: a loop, not a recursion
  // (client_writes/W2).
  if (is_beginning_) return;
  is_beginning_ = true;
  // The barrier is passed as a whole: either reads are allowed again, or nobody here may become
  // primary.
  if (!at_barrier_.empty() &&
      (!partition_.office.MayBePrimaryAgain() ||
       partition_.office.ReadGate(ReadKind::kPrimaryOnly) == ErrorCode::kOk)) {
    // Those that find the gate closed again put themselves into at_barrier_ anew.
    for (const ClientToken token : std::exchange(at_barrier_, {}))
      if (const auto it = under_way_.find(token); it != under_way_.end())
        LookAndDecide(token, it->second);
  }
  // Closed by what was begun just now: the rest is answered by Close.
  while (!partition_.office.IsClosed()) {
    const std::optional<WriteOrder::Token> token = order_.TakeReady();
    if (!token) break;
    const auto it = under_way_.find(*token);
    CHECK(it != under_way_.end());
    BeginOne(*token, it->second);
  }
  is_beginning_ = false;
}

void ClientWrites::BeginOne(ClientToken token, UnderWay& write) {
  // Asked when its turn comes, so what waited too long is not logged.
  if (partition_.IsTooLate(write.deadline)) return Drop(token, write);
  if (write.operation->NeedsRecord()) return LookAndDecide(token, write);
  Order(token, write, std::nullopt, ExpiryNow(partition_.clock));
}

// Nobody waits for its answer, and nothing of it has been logged.
void ClientWrites::Drop(ClientToken token, UnderWay& write) {
  write.responder.Drop();
  Finish(token, ErrorCode::kTimeout, {});
}

void ClientWrites::LookAndDecide(ClientToken token, UnderWay& write) {
  if (const ErrorCode gate = partition_.office.ReadGate(ReadKind::kPrimaryOnly);
      gate != ErrorCode::kOk) {
    // No way back to being primary: the client asks the meta server for another one.
    if (!partition_.office.MayBePrimaryAgain()) return Finish(token, gate, {});
    write.phase = UnderWay::Phase::kBarrier;
    at_barrier_.push_back(token);
    return;
  }
  const uint32_t now = ExpiryNow(partition_.clock);
  std::string key = write.operation->record_key();
  absl::StatusOr<Record> record = partition_.engine->Get(key, now, ReadTier::kCacheOnly);
  if (!absl::IsUnavailable(record.status())) return Decide(token, write, std::move(record), now);

  write.phase = UnderWay::Phase::kReading;
  auto from_disk = std::make_shared<absl::StatusOr<Record>>();
  partition_.in_pool(
      [engine = partition_.engine, key = std::move(key), now, from_disk] {
        *from_disk = engine->Get(key, now, ReadTier::kAll);
        return absl::OkStatus();
      },
      [this, token, ballot = partition_.office.ballot(), now, from_disk](const absl::Status&) {
        const auto it = under_way_.find(token);
        // It was refused meanwhile (RefuseUndecided).
        if (it == under_way_.end()) return;
        // Under another ballot another primary may have written meanwhile.
        if (ballot == partition_.office.ballot())
          Decide(token, it->second, std::move(*from_disk), now);
        else
          LookAndDecide(token, it->second);
        // The decision may let others begin.
        Begin();
      });
}

void ClientWrites::Decide(ClientToken token, UnderWay& write, absl::StatusOr<Record> record,
                          uint32_t now) {
  if (partition_.IsTooLate(write.deadline)) return Drop(token, write);
  // replica/P1, as for reads: what was found counts only if this server may still speak for the
  // partition.
  if (partition_.office.ReadGate(ReadKind::kPrimaryOnly) != ErrorCode::kOk)
    return LookAndDecide(token, write);
  if (record.ok()) return Order(token, write, *std::move(record), now);
  if (absl::IsNotFound(record.status())) return Order(token, write, std::nullopt, now);
  const StorageError error =
      absl::IsDataLoss(record.status()) ? StorageError::kCorruption : StorageError::kIOError;
  Finish(token, ErrorCode::kOk,
         EncodeAnswer(write.code, {.error = error}, partition_.pid, kInvalidDecree,
                      partition_.server));
  if (!IsRefusal(record.status()))
    partition_.fence(absl::StrCat("read: ", record.status().ToString()));
}

void ClientWrites::Order(ClientToken token, UnderWay& write, const std::optional<Record>& record,
                         uint32_t now) {
  // client_writes/W3: it may have waited here over a split.
  if (!write.operation->IsOwned(admission_.Settings().KeysOf(partition_.pid.index)))
    return Finish(token, ErrorCode::kParentPartitionMisused, {});
  // Asked before Decide, which ends the operation.
  const bool was_decided = write.operation->NeedsRecord();
  write.outcome = (*std::move(write.operation)).Decide(record, admission_.Settings(), now);
  write.operation.reset();
  // Nothing to log, such as a check that did not pass: answered without a decree.
  if (write.outcome.updates.empty())
    return Finish(
        token, ErrorCode::kOk,
        EncodeAnswer(write.code, write.outcome, partition_.pid, kInvalidDecree, partition_.server));
  ClientWrite event{.token = token, .received_at_us = partition_.clock.WallMicros()};
  // The updates go with the event; the outcome without them is kept for the answer.
  event.updates = std::exchange(write.outcome.updates, {});
  write.phase = UnderWay::Phase::kOrdered;
  undecided_bytes_ -= write.bytes;
  if (was_decided) order_.Settle(write.hash);  // what becomes ready begins behind this one
  hooks_.order(std::move(event));              // it may end the write at once
}

void ClientWrites::Finish(ClientToken token, ErrorCode error, std::string body) {
  End(token).responder.Reply(error, std::move(body));
}

ClientWrites::UnderWay ClientWrites::End(ClientToken token) {
  const auto it = under_way_.find(token);
  CHECK(it != under_way_.end());
  UnderWay write = std::move(it->second);
  under_way_.erase(it);
  // The core settles the place of an ordered write; of any other it is settled by its end.
  if (write.phase != UnderWay::Phase::kOrdered) {
    undecided_bytes_ -= write.bytes;
    const bool is_deciding = write.code >= WriteCode::kIncr;
    if (is_deciding) order_.Settle(write.hash);
  }
  order_.Leave(write.hash);
  return write;
}

void ClientWrites::Answer(const ClientReply& reply, Instant now) {
  const auto it = under_way_.find(reply.token);
  // Answered before: Close or RefuseUndecided was faster.
  if (it == under_way_.end()) return;
  if (reply.err != ErrorCode::kOk) return Finish(reply.token, reply.err, {});
  // Committed, but no longer ours to say so (replica/P1): the client hears that the outcome is
  // unknown.
  if (!partition_.office.HoldsLease()) return Finish(reply.token, ErrorCode::kTimeout, {});
  std::string body = EncodeAnswer(it->second.code, it->second.outcome, partition_.pid, reply.decree,
                                  partition_.server);
  // Unknown for a write that took longer than 64 others: then only the total is counted.
  const WriteTimes::Times* times = times_.Find(reply.decree);
  if (times == nullptr) return Finish(reply.token, ErrorCode::kOk, std::move(body));
  End(reply.token).responder.Reply(std::move(body), *times, now);
}

void ClientWrites::RefuseUndecided(ErrorCode error) {
  // Those that wait have no place in the order yet, so they leave without Settle.
  for (const ClientToken token : order_.DropWaiting()) {
    const auto it = under_way_.find(token);
    CHECK(it != under_way_.end());
    undecided_bytes_ -= it->second.bytes;
    it->second.responder.Reply(error);
    under_way_.erase(it);
  }
  // Collected first: Finish changes under_way_.
  std::vector<ClientToken> looking;
  for (const auto& [token, write] : under_way_)
    if (write.phase == UnderWay::Phase::kBarrier || write.phase == UnderWay::Phase::kReading)
      looking.push_back(token);
  at_barrier_.clear();
  for (const ClientToken token : looking) Finish(token, error, {});
}

void ClientWrites::Close() {
  // It is not known here whether the writes that the core has were committed: their clients are
  // told that the outcome is unknown.
  for (auto& [token, write] : under_way_)
    write.responder.Reply(write.phase == UnderWay::Phase::kOrdered ? ErrorCode::kTimeout
                                                                   : ErrorCode::kInvalidState);
  under_way_.clear();
}

}  // namespace arion
