// SPDX-License-Identifier: Apache-2.0
#include "client_requests/client_writes.h"

#include <algorithm>
#include <utility>

#include "base/crc.h"
#include "base/log.h"
#include "base/status.h"
#include "client_requests/admission.h"
#include "client_requests/office.h"
#include "data_api/duplicate_judge.h"
#include "data_api/duplicated_writes.h"
#include "env/file_system.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

// Of requests that wait for others to their hash key.
constexpr uint64_t kUndecidedBytesMax = 64 << 20;
// Of one request's keys and values, each key whole.
constexpr uint64_t kExpandedBytesMax = 128 << 20;

// Of one hash key in the order of writes.
constexpr uint64_t kOrderBytes = 200;
// A DUPLICATE looks at so many records on the strand; each takes some microseconds.
constexpr size_t kRecordsOnStrand = 64;

// Of a client's write.
RequestKind KindOf(WriteCode code) {
  // The codes of both enumerations are in the same order.
  static_assert(static_cast<int>(WriteCode::kDuplicate) - static_cast<int>(WriteCode::kPut) ==
                static_cast<int>(RequestKind::kDuplicate) - static_cast<int>(RequestKind::kPut));
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
  // Of a DUPLICATE each write is judged by itself: together they may be more.
  if (code != WriteCode::kDuplicate && IsOversized(code, request.body.size()))
    return refuse(ErrorCode::kInvalidData);
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

bool ClientWrites::IsOversized(WriteCode code, uint64_t bytes) {
  if (options_.request_bytes_max == 0 || bytes <= options_.request_bytes_max) return false;
  LOG_EVERY_N(WARNING, 100) << partition_.tag() << " " << WriteCodeName(code) << " of " << bytes
                            << " bytes refused: at most " << options_.request_bytes_max;
  partition_.figures().Count(ReplicaCount::kOversizedWrites);
  return true;
}

void ClientWrites::Enter(WriteCode code, ClientRequest request, Instant deadline) {
  if (code == WriteCode::kDuplicate) return EnterDuplicate(std::move(request), deadline);
  absl::StatusOr<WriteOperation> operation = WriteOperation::Decode(code, std::move(request.body));
  if (!operation.ok()) return request.responder.Reply(ErrorCode::kInvalidData);
  if (!operation->IsAcceptable())
    return request.responder.Reply(
        ErrorCode::kOk, EncodeAnswer(code, operation->Refusal(), partition_.pid, kInvalidDecree,
                                     partition_.server));
  const bool is_decided = operation->NeedsRecord();
  Enter(*std::move(operation), {}, is_decided, std::move(request), deadline);
}

// A sender of 2.5.0 ends its process where the answer itself says "invalid argument", and repeats
// the request after any other error. So only what its operator has to change is answered that way
// (rpc/PROTOCOL.md 5.8).
void ClientWrites::EnterDuplicate(ClientRequest request, Instant deadline) {
  const auto refuse = [&](ErrorCode error, const std::string& why) {
    LOG_EVERY_T(WARNING, 10) << partition_.tag() << " a DUPLICATE of "
                             << request.header.from.ToString() << " refused: " << why;
    request.responder.Reply(error);
  };
  if (!options_.duplication_group.IsSet())
    return refuse(ErrorCode::kOperationDisabled,
                  "this server was told of no duplication group; write duplication_group into "
                  "[arion.server]");
  absl::StatusOr<DuplicateRequest> duplicate = DecodeSentDuplicate(request.body);
  if (!duplicate.ok()) return refuse(ErrorCode::kInvalidData, duplicate.status().ToString());
  if (const auto refusal =
          RefusalOf(*duplicate, options_.duplication_group, AgreedWallMicros(partition_.clock))) {
    LOG_EVERY_T(WARNING, 10) << partition_.tag() << " a DUPLICATE of "
                             << request.header.from.ToString()
                             << " refused: " << Text(*refusal->error_hint)
                             << (refusal->error ==
                                         static_cast<int32_t>(StorageError::kInvalidArgument)
                                     ? "; both clusters need the same duplication group"
                                     : "");
    return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(*refusal));
  }
  const bool is_judged = DuplicateJudge::IsNeeded(
      *duplicate,
      hooks_.is_duplicated() ? DuplicateJudge::Compares::kAll : DuplicateJudge::Compares::kAsked);
  std::vector<int64_t> times;
  times.reserve(duplicate->entries.size());
  for (const DuplicateEntry& entry : duplicate->entries) {
    if (entry.raw_message && IsOversized(WriteCode::kDuplicate, entry.raw_message->bytes.size()))
      return request.responder.Reply(ErrorCode::kInvalidData);
    times.push_back(entry.timestamp_us.value_or(0));
  }
  absl::StatusOr<WriteOperation> operation =
      WriteOperation::OfDuplicate(*std::move(duplicate), std::move(request.body));
  if (!operation.ok()) return refuse(ErrorCode::kInvalidData, operation.status().ToString());
  // Its table may have another partition count, and one of 2.5.0 does not look.
  const KeyOwnership counted = admission_.Settings().CountedKeysOf(partition_.pid.index);
  if (!operation->IsOwned(counted))
    return refuse(ErrorCode::kParentPartitionMisused,
                  absl::StrCat("keys of another partition; the sender's table must have ",
                               counted.count, " partitions, as this one"));
  Enter(*std::move(operation), std::move(times), is_judged, std::move(request), deadline);
}

void ClientWrites::Enter(WriteOperation operation, std::vector<int64_t> source_times_us,
                         bool is_decided, ClientRequest request, Instant deadline) {
  const auto refuse = [&](ErrorCode error) { request.responder.Reply(error); };
  const WriteCode code = operation.code();
  // What the write will occupy in the log and the engine, not what came.
  uint64_t bytes = operation.expanded_bytes();
  if (bytes > kExpandedBytesMax) {
    LOG_EVERY_N(WARNING, 100) << partition_.tag() << " " << WriteCodeName(code) << " of " << bytes
                              << " bytes in keys and values refused: at most " << kExpandedBytesMax;
    return refuse(ErrorCode::kInvalidData);
  }
  // Only writes that are not ordered count: the core bounds the others.
  if (undecided_bytes_ >= kUndecidedBytesMax) return refuse(ErrorCode::kBusy);

  Hashes hashes;
  operation.ForEachHashKey([&](std::string_view hash_key) {
    partition_.NoteKey(KeyUse::kWrite, hash_key, request.responder.arrived());
    hashes.push_back(Crc64(hash_key));
  });
  // A DUPLICATE without a write: nothing to log.
  if (hashes.empty())
    return request.responder.Reply(
        ErrorCode::kOk, EncodeAnswer(code, {}, partition_.pid, kInvalidDecree, partition_.server));
  if (hashes.size() > 1) {
    std::sort(hashes.begin(), hashes.end());
    hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
    bytes += hashes.size() * kOrderBytes;
  }

  const ClientToken token = hooks_.new_token();
  // Tokens rise, so the hint is right.
  under_way_.emplace_hint(under_way_.end(), token,
                          UnderWay{.responder = std::move(request.responder),
                                   .operation = std::move(operation),
                                   .code = code,
                                   .deadline = deadline,
                                   .hashes = hashes,
                                   .bytes = bytes + sizeof(UnderWay),
                                   .source_times_us = std::move(source_times_us),
                                   .is_decided = is_decided});
  undecided_bytes_ += bytes + sizeof(UnderWay);
  order_.EnterAll(hashes, token,
                  is_decided ? WriteOrder::Kind::kDecided : WriteOrder::Kind::kBlind);
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
  if (write.is_decided) return LookAndDecide(token, write);
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
  if (write.code == WriteCode::kDuplicate) return LookAndJudge(token, write);
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
  if (!MayDecide(token, write)) return;
  if (record.ok()) return Order(token, write, *std::move(record), now);
  if (absl::IsNotFound(record.status())) return Order(token, write, std::nullopt, now);
  FailToLook(token, write, record.status());
}

bool ClientWrites::MayDecide(ClientToken token, UnderWay& write) {
  if (partition_.IsTooLate(write.deadline)) {
    Drop(token, write);
    return false;
  }
  // replica/P1, as for reads: what was found counts only if this server may still speak for the
  // partition.
  if (partition_.office.ReadGate(ReadKind::kPrimaryOnly) == ErrorCode::kOk) return true;
  LookAndDecide(token, write);
  return false;
}

void ClientWrites::FailToLook(ClientToken token, UnderWay& write, const absl::Status& status) {
  const StorageError error =
      absl::IsDataLoss(status) ? StorageError::kCorruption : StorageError::kIOError;
  Finish(token, ErrorCode::kOk,
         EncodeAnswer(write.code, {.error = error}, partition_.pid, kInvalidDecree,
                      partition_.server));
  if (!IsRefusal(status)) partition_.fence(absl::StrCat("read: ", status.ToString()));
}

void ClientWrites::LookAndJudge(ClientToken token, UnderWay& write) {
  absl::StatusOr<DuplicateRequest> request = DecodeSentDuplicate(write.operation->body());
  CHECK(request.ok()) << "it was decoded before: " << request.status();
  // Asked now: the table may be duplicated since it came.
  auto judge = std::make_shared<DuplicateJudge>(
      *std::move(request),
      hooks_.is_duplicated() ? DuplicateJudge::Compares::kAll : DuplicateJudge::Compares::kAsked);
  if (judge->keys() <= kRecordsOnStrand) {
    const absl::Status looked = judge->Look(*partition_.engine, ReadTier::kCacheOnly);
    if (!absl::IsUnavailable(looked)) return Judge(token, write, *judge, looked);
  }
  write.phase = UnderWay::Phase::kReading;
  partition_.in_pool(
      [engine = partition_.engine, judge] { return judge->Look(*engine, ReadTier::kAll); },
      [this, token, ballot = partition_.office.ballot(), judge](const absl::Status& looked) {
        const auto it = under_way_.find(token);
        // It was refused meanwhile (RefuseUndecided).
        if (it == under_way_.end()) return;
        // Under another ballot another primary may have written meanwhile.
        if (ballot == partition_.office.ballot())
          Judge(token, it->second, *judge, looked);
        else
          LookAndDecide(token, it->second);
        // The decision may let others begin.
        Begin();
      });
}

void ClientWrites::Judge(ClientToken token, UnderWay& write, DuplicateJudge& judge,
                         const absl::Status& looked) {
  if (!MayDecide(token, write)) return;
  if (!looked.ok()) return FailToLook(token, write, looked);
  if (!IsOwned(token, write)) return;
  std::optional<std::string> kept = std::move(judge).Keep();
  // Nothing to log: all of it was taken before, or later writes stay.
  if (!kept) return Log(token, write, {});
  WriteOutcome outcome;
  outcome.updates.push_back(
      {.code = WriteCode::kDuplicate, .serialization = 1, .data = *std::move(kept)});
  Log(token, write, std::move(outcome));
}

// client_writes/W3: it may have waited here over a split.
bool ClientWrites::IsOwned(ClientToken token, UnderWay& write) {
  if (write.operation->IsOwned(admission_.Settings().KeysOf(partition_.pid.index))) return true;
  Finish(token, ErrorCode::kParentPartitionMisused, {});
  return false;
}

void ClientWrites::Order(ClientToken token, UnderWay& write, const std::optional<Record>& record,
                         uint32_t now) {
  if (!IsOwned(token, write)) return;
  if (hooks_.is_duplicated()) {
    // It came before the table was duplicated, and looked at nothing: its sender repeats it.
    if (write.code == WriteCode::kDuplicate) return Finish(token, ErrorCode::kBusy, {});
    write.operation->LeaveTombstones();
  }
  Log(token, write, (*std::move(write.operation)).Decide(record, admission_.Settings(), now));
}

void ClientWrites::Log(ClientToken token, UnderWay& write, WriteOutcome outcome) {
  write.operation.reset();
  write.outcome = std::move(outcome);
  // Nothing to log, such as a check that did not pass: answered without a decree.
  if (write.outcome.updates.empty())
    return Finish(
        token, ErrorCode::kOk,
        EncodeAnswer(write.code, write.outcome, partition_.pid, kInvalidDecree, partition_.server));
  ClientWrite event{.token = token, .received_at_us = AgreedWallMicros(partition_.clock)};
  // client_writes/W4. What is in the log and not in the engine yet the core knows itself.
  if (partition_.engine != nullptr)
    event.received_at_us =
        std::max(event.received_at_us, partition_.engine->latest_timestamp_us() + 1);
  for (const int64_t source_us : write.source_times_us)
    event.received_at_us = std::max(event.received_at_us, source_us + 1);
  // The updates go with the event; the outcome without them is kept for the answer.
  event.updates = std::exchange(write.outcome.updates, {});
  write.phase = UnderWay::Phase::kOrdered;
  undecided_bytes_ -= write.bytes;
  // What becomes ready begins behind this one.
  if (write.is_decided)
    for (const uint64_t hash : write.hashes) order_.Settle(hash);
  hooks_.order(std::move(event));  // it may end the write at once
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
    if (write.is_decided)
      for (const uint64_t hash : write.hashes) order_.Settle(hash);
  }
  for (const uint64_t hash : write.hashes) order_.Leave(hash);
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
  CountLag(it->second.source_times_us);
  // Unknown for a write that took longer than 64 others: then only the total is counted.
  const WriteTimes::Times* times = times_.Find(reply.decree);
  if (times == nullptr) return Finish(reply.token, ErrorCode::kOk, std::move(body));
  End(reply.token).responder.Reply(std::move(body), *times, now);
}

// By both clusters' wall clocks: how far the source's is ahead is not known, so nothing is below 0.
void ClientWrites::CountLag(const std::vector<int64_t>& source_times_us) {
  for (const int64_t source_us : source_times_us) {
    const absl::Duration lag =
        std::max(absl::ZeroDuration(), absl::Microseconds(AgreedWallMicros(partition_.clock)) -
                                           absl::Microseconds(source_us));
    partition_.stats->Duplicated(absl::ToInt64Nanoseconds(lag));
    if (lag > options_.duplicate_lag_max) partition_.figures().Count(ReplicaCount::kLateDuplicates);
  }
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
