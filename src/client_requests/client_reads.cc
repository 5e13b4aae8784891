// SPDX-License-Identifier: Apache-2.0
#include "client_requests/client_reads.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "client_requests/office.h"
#include "data_api/read_operations.h"
#include "env/file_system.h"
#include "indexes/index_finder.h"
#include "rpc/encoded_rows.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

// Up to so many keys, of requests of up to so many bytes, are first looked up in the cache alone,
// on the strand; longer requests are not even decoded there.
constexpr size_t kPointsOnStrandMax = 32;
constexpr size_t kRequestOnStrandBytesMax = 16 << 10;

RequestKind KindOf(ReadCode code) {
  using enum ReadCode;
  switch (code) {
    case kGet:
      return RequestKind::kGet;
    case kTtl:
      return RequestKind::kTtl;
    case kMultiGet:
      return RequestKind::kMultiGet;
    case kBatchGet:
      return RequestKind::kBatchGet;
    case kSortKeyCount:
      return RequestKind::kSortKeyCount;
    case kGetScanner:
    case kScan:
      return RequestKind::kScan;
    case kFind:
      return RequestKind::kFind;
  }
  return RequestKind::kGet;
}

ReadKind KindOf(const ClientRequest& request) {
  return request.header.is_backup_request ? ReadKind::kBackup : ReadKind::kPrimaryOnly;
}

// An answer that says only what failed.
template <class Response>
std::string FailedAnswer(StorageError error, PartitionId pid, const std::string& server) {
  Response response;
  response.error = static_cast<int32_t>(error);
  response.app_id = pid.app_id;
  response.partition_index = pid.index;
  response.server = server;
  return EncodeWrapped(response);
}
std::string FailedAnswer(ReadCode code, StorageError error, PartitionId pid,
                         const std::string& server) {
  switch (code) {
    case ReadCode::kMultiGet:
      return FailedAnswer<MultiGetResponse>(error, pid, server);
    case ReadCode::kBatchGet:
      return FailedAnswer<BatchGetResponse>(error, pid, server);
    case ReadCode::kSortKeyCount:
      return FailedAnswer<CountResponse>(error, pid, server);
    case ReadCode::kFind:
      return FailedAnswer<FindResponse>(error, pid, server);
    default:
      return FailedAnswer<ScanResponse>(error, pid, server);
  }
}

template <class T>
// The rows are encoded as they are found, and the answer around them at the end.
absl::StatusOr<std::string> Encoded(const absl::StatusOr<T>& response, EncodedRows rows) {
  if (!response.ok()) return response.status();
  return std::move(rows).Finish(*response);
}

using MaybeAnswer = absl::StatusOr<std::optional<std::string>>;  // nullopt: another turn

bool WantsAnotherTurn(const MaybeAnswer& answer) { return answer.ok() && !answer->has_value(); }

// Room for an answer like the one before, and a little more: rows then grow without copies.
size_t RoomAfter(size_t answer_bytes) { return answer_bytes + answer_bytes / 16 + 256; }

MaybeAnswer MultiGetAnswer(const EngineView& view, const MultiGetRequest& request,
                           const ReadTerms& terms, ReadTier tier, ReadPlace* place) {
  EncodedRows rows;
  ASSIGN_OR_RETURN(const auto response, MultiGet(view, request, terms, tier, &rows, place));
  if (!response) return std::nullopt;
  return std::move(rows).Finish(*response);
}
MaybeAnswer BatchGetAnswer(const EngineView& view, const BatchGetRequest& request,
                           const ReadTerms& terms, ReadTier tier, ReadPlace*) {
  ASSIGN_OR_RETURN(const BatchGetResponse response, BatchGet(view, request, terms, tier));
  return EncodeWrapped(response);
}
MaybeAnswer CountAnswer(const EngineView& view, const Blob& hash_key, const ReadTerms& terms,
                        ReadTier, ReadPlace* place) {
  ASSIGN_OR_RETURN(const auto response, CountSortKeys(view, hash_key, terms, place));
  if (!response) return std::nullopt;
  return EncodeWrapped(*response);
}

// A read of several records, all of its turns on the view of the first.
template <class Operation>
class ReadInTurns {
 public:
  ReadInTurns(std::shared_ptr<const Engine> engine, Operation operation)
      : engine_(std::move(engine)), operation_(operation) {}
  MaybeAnswer Take(const auto& request, const ReadTerms& terms, ReadTier tier) {
    if (view_ == nullptr) view_ = engine_->View();
    return operation_(*view_, request, terms, tier, &place_);
  }

 private:
  std::shared_ptr<const Engine> engine_;
  std::shared_ptr<const EngineView> view_;  // goes before the engine
  Operation operation_;
  ReadPlace place_;
};

}  // namespace

void ClientReads::Read(ReadCode code, InboundRequest request, RequestTimes times) {
  CHECK_ON_STRAND(partition_.strand);
  Read(code, admission_.Watched(KindOf(code), std::move(request), times.arrived), times.deadline,
       Throttles::kToBeAsked);
}

void ClientReads::Read(ReadCode code, ClientRequest request, Instant deadline,
                       Throttles throttles) {
  if (partition_.IsTooLate(deadline)) return request.responder.Drop();
  if (admission_.IsDenied(request, &DenyRule::reads)) return;
  ClientAnswer& responder = request.responder;
  // A scan in progress was checked when it was opened, and its request has no partition hash. Nor
  // have those of old Python clients: of them the keys alone are judged.
  const KeyOwnership owned = Owned();
  if (code != ReadCode::kScan && request.header.partition_hash != 0 &&
      !owned.Owns(request.header.partition_hash))
    return responder.Reply(ErrorCode::kParentPartitionMisused);
  // Order matters, as for writes: what costs nothing and depends on nobody comes first.
  if (!partition_.office.MayServe()) return responder.Reply(ErrorCode::kInvalidState);
  if (throttles == Throttles::kToBeAsked) {
    const std::optional<absl::Duration> pause = admission_.AdmitRead(request);
    if (!pause) return;
    if (*pause > absl::ZeroDuration())
      return admission_.Delay(*pause, std::move(request),
                              [this, code, deadline](ClientRequest delayed) {
                                Read(code, std::move(delayed), deadline, Throttles::kPassed);
                              });
  }
  Call call{.code = code, .kind = KindOf(request), .deadline = deadline, .owned = owned};
  // Held requests have passed the throttles.
  if (const ErrorCode gate = partition_.office.ReadGate(call.kind); gate != ErrorCode::kOk)
    return admission_.Hold(std::move(request), gate, [this, code, deadline](ClientRequest held) {
      Read(code, std::move(held), deadline, Throttles::kPassed);
    });
  if (call.kind == ReadKind::kBackup) partition_.catch_up();
  call.responder = std::move(responder);
  if (code == ReadCode::kGet || code == ReadCode::kTtl)
    return ReadOne(std::move(call), request.body);
  ReadSeveral(std::move(call), std::move(request.body));
}

// ---- one record ----

void ClientReads::ReadOne(Call call, const std::string& body) {
  absl::StatusOr<Blob> key = DecodeWrapped<Blob>(body);
  if (!key.ok()) return call.responder.Reply(ErrorCode::kInvalidData);
  // One `now` for the whole request, so that a record does not expire between reading and
  // answering.
  const uint32_t now = ExpiryNow(partition_.clock);
  const std::optional<KeyParts> parts = SplitRawKey(*key);
  if (!parts) return AnswerOne(std::move(call), absl::InvalidArgumentError("malformed key"), now);
  if (!call.owned.OwnsKey(*key)) return call.responder.Reply(ErrorCode::kParentPartitionMisused);
  // Noted before the result is known: a key that is missed often is hot, too.
  partition_.NoteKey(KeyUse::kRead, parts->hash_key, call.responder.arrived());
  hot_reads_.Note(*key);
  absl::StatusOr<Record> record = partition_.engine->Get(*key, now, ReadTier::kCacheOnly);
  // Most reads end here, on the strand, without a change of threads.
  if (!absl::IsUnavailable(record.status()))
    return AnswerOne(std::move(call), std::move(record), now);

  if (IsPoolLate(call.responder)) return;
  // Stays DeadlineExceeded if the pool comes to it too late.
  auto from_disk = std::make_shared<absl::StatusOr<Record>>(absl::DeadlineExceededError(""));
  const Instant arrived = partition_.clock.Now();
  in_pool_.Arrived(arrived);
  partition_.in_pool(
      [this, arrived, engine = partition_.engine, key = *std::move(key), now, from_disk,
       deadline = call.deadline, &clock = partition_.clock] {
        in_pool_.Began(arrived);
        // Nobody waits for it any more: the disk is spared.
        if (clock.Now() < deadline) *from_disk = engine->Get(key, now, ReadTier::kAll);
        return absl::OkStatus();
      },
      [this, now, from_disk, call = std::move(call)](const absl::Status&) mutable {
        AnswerOne(std::move(call), std::move(*from_disk), now);
      });
}

bool ClientReads::IsPoolLate(ClientAnswer& responder) {
  const absl::Duration wait = in_pool_.WaitAt(partition_.clock.Now());
  if (wait <= kQueueTimeMax) return false;
  LOG_EVERY_N(WARNING, 1000) << partition_.tag() << " answered busy: reads wait "
                             << absl::ToInt64Milliseconds(wait) << " ms for the disk's pool";
  responder.Reply(ErrorCode::kBusy);
  return true;
}

void ClientReads::AnswerOne(Call call, absl::StatusOr<Record> record, uint32_t now) {
  if (absl::IsDeadlineExceeded(record.status())) return call.responder.Drop();
  // replica/P1, again: what was read counts only if this server may still speak for the partition.
  if (const ErrorCode gate = partition_.office.ReadGate(call.kind); gate != ErrorCode::kOk)
    return call.responder.Reply(gate);
  // client_reads/D3: the key may have moved, and what was read may be dropped already.
  if (call.owned != Owned()) return call.responder.Reply(ErrorCode::kParentPartitionMisused);
  StorageError error = StorageError::kOk;
  if (absl::IsNotFound(record.status()))
    error = StorageError::kNotFound;
  else if (absl::IsInvalidArgument(record.status()))
    error = StorageError::kInvalidArgument;
  else if (absl::IsDataLoss(record.status()))
    error = StorageError::kCorruption;
  else if (!record.ok())
    error = StorageError::kIOError;

  if (call.code == ReadCode::kGet) {
    ReadResponse response{.error = static_cast<int32_t>(error),
                          .app_id = partition_.pid.app_id,
                          .partition_index = partition_.pid.index,
                          .server = partition_.server};
    if (record.ok()) response.value.bytes = std::move(record->value);
    Answer(std::move(call), EncodeWrapped(response));
  } else {
    TtlResponse response{.error = static_cast<int32_t>(error),
                         .app_id = partition_.pid.app_id,
                         .partition_index = partition_.pid.index,
                         .server = partition_.server};
    // A record without expiry is -1. It did not expire at `now`, so the difference is positive.
    if (record.ok())
      response.ttl_seconds =
          record->expire_ts == 0 ? -1 : static_cast<int32_t>(record->expire_ts - now);
    Answer(std::move(call), EncodeWrapped(response));
  }
  const bool failed = error == StorageError::kCorruption || error == StorageError::kIOError;
  // After the answer, since fencing may close the replica. A want of descriptors or memory is no
  // damage.
  if (failed && !IsRefusal(record.status()))
    partition_.fence(absl::StrCat("read: ", record.status().ToString()));
}

void ClientReads::Answer(Call call, std::string body) {
  admission_.CountRead(body.size());
  call.responder.Reply(ErrorCode::kOk, std::move(body));
}

// ---- several records ----

void ClientReads::ReadInPoolUnlessLate(Call call, Work work) {
  if (!IsPoolLate(call.responder)) ReadInPool(std::move(call), std::move(work), [] {});
}

template <class Request, class PointsOf, class Operate>
void ClientReads::ReadPoints(Call call, std::string body, PointsOf points_of, Operate operate) {
  ReadInTurns read(partition_.engine, operate);
  if (body.size() > kRequestOnStrandBytesMax)
    // A long request is decoded in the pool: even that would hold the strand up.
    return ReadInPoolUnlessLate(std::move(call),
                                [read, body = std::move(body), get = std::optional<Request>()](
                                    const ReadTerms& terms) mutable -> MaybeAnswer {
                                  if (!get) {
                                    ASSIGN_OR_RETURN(get, DecodeWrapped<Request>(body));
                                  }
                                  return read.Take(*get, terms, ReadTier::kAll);
                                });
  absl::StatusOr<Request> get = DecodeWrapped<Request>(body);
  if (!get.ok()) return call.responder.Reply(ErrorCode::kInvalidData);
  if constexpr (requires { get->hash_key; })
    // Only where there is one hash key for the whole request.
    partition_.NoteKey(KeyUse::kRead, get->hash_key, call.responder.arrived());
  const size_t points = points_of(*get);
  // Points in the cache are answered here. A range always goes to the pool, because its length is
  // not known.
  if (points > 0 && points <= kPointsOnStrandMax) {
    MaybeAnswer answer =
        read.Take(*get, TermsOf(ExpiryNow(partition_.clock), admission_.Settings(), call),
                  ReadTier::kCacheOnly);
    // Something is not in the cache, or there is too much: the pool begins anew with all of it.
    if (!WantsAnotherTurn(answer) && !absl::IsUnavailable(answer.status()))
      return AnswerSeveral(std::move(call), std::move(answer));
  }
  ReadInPoolUnlessLate(std::move(call), [read = std::move(read),
                                         get = *std::move(get)](const ReadTerms& terms) mutable {
    return read.Take(get, terms, ReadTier::kAll);
  });
}

void ClientReads::ReadSeveral(Call call, std::string body) {
  ClientAnswer& responder = call.responder;
  switch (call.code) {
    case ReadCode::kMultiGet:
      return ReadPoints<MultiGetRequest>(
          std::move(call), std::move(body),
          [](const MultiGetRequest& get) { return get.sort_keys.size(); }, MultiGetAnswer);
    case ReadCode::kBatchGet:
      return ReadPoints<BatchGetRequest>(
          std::move(call), std::move(body),
          [](const BatchGetRequest& get) { return get.keys.size(); }, BatchGetAnswer);
    case ReadCode::kSortKeyCount: {
      auto hash_key = DecodeWrapped<Blob>(body);
      if (!hash_key.ok()) return responder.Reply(ErrorCode::kInvalidData);
      partition_.NoteKey(KeyUse::kRead, *hash_key, call.responder.arrived());
      return ReadInPoolUnlessLate(
          std::move(call), [read = ReadInTurns(partition_.engine, CountAnswer),
                            hash_key = *std::move(hash_key)](const ReadTerms& terms) mutable {
            return read.Take(hash_key, terms, ReadTier::kAll);
          });
    }
    case ReadCode::kFind: {
      auto find = DecodeWrapped<FindRequest>(body);
      if (!find.ok()) return responder.Reply(ErrorCode::kInvalidData);
      return ReadInPoolUnlessLate(
          std::move(call),
          [finder = std::make_unique<IndexFinder>(partition_.engine, *std::move(find))](
              const ReadTerms& terms) -> MaybeAnswer {
            ASSIGN_OR_RETURN(auto answer, finder->Turn(terms));
            if (!answer) return std::nullopt;
            return EncodeWrapped(*answer);
          });
    }
    case ReadCode::kGetScanner: {
      const auto scanner = DecodeWrapped<GetScannerRequest>(body);
      if (!scanner.ok()) return responder.Reply(ErrorCode::kInvalidData);
      if (IsPoolLate(responder)) return;
      return OpenScan(std::move(call), *scanner);
    }
    case ReadCode::kScan: {
      const auto scan = DecodeWrapped<ScanRequest>(body);
      if (!scan.ok()) return responder.Reply(ErrorCode::kInvalidData);
      if (IsPoolLate(responder)) return;
      std::unique_ptr<ScanCursor> cursor = scans_.Take(scan->context_id, partition_.clock.Now());
      if (cursor == nullptr)
        // Not found: the client starts a new scan behind its last record.
        return responder.Reply(ErrorCode::kOk, FailedAnswer(call.code, StorageError::kNotFound,
                                                            partition_.pid, partition_.server));
      return ContinueScan(std::move(call), std::move(cursor));
    }
    default:
      return responder.Reply(ErrorCode::kHandlerNotFound);
  }
}

ReadTerms ClientReads::TermsOf(uint32_t now, const TableSettings& settings,
                               const Call& call) const {
  const Clock& clock = partition_.clock;
  // A limit of the table counts for each turn; the client's deadline for the whole.
  const bool is_limited = settings.iteration_time_max != absl::InfiniteDuration();
  return {.pid = partition_.pid,
          .server = partition_.server,
          .now = now,
          .clock = clock,
          .deadline = is_limited
                          ? std::min(call.deadline, clock.Now() + settings.iteration_time_max)
                          : call.deadline,
          .owned = call.owned};
}

void ClientReads::ReadInPool(Call call, Work work, absl::AnyInvocable<void()> then) {
  struct Turn {
    Work work;
    MaybeAnswer answer = absl::DeadlineExceededError("");
  };
  auto turn = std::make_shared<Turn>(Turn{.work = std::move(work)});
  const Instant arrived = partition_.clock.Now();
  in_pool_.Arrived(arrived);
  partition_.in_pool(
      [this, arrived, turn, settings = admission_.Settings(), deadline = call.deadline,
       owned = call.owned] {
        in_pool_.Began(arrived);
        // The time is that of the reading, not of the waiting in the pool's queue.
        if (!partition_.IsTooLate(deadline)) {
          ReadTerms terms = TermsOf(ExpiryNow(partition_.clock), settings,
                                    {.deadline = deadline, .owned = owned});
          ReadTally tally;
          terms.tally = &tally;
          turn->answer = turn->work(terms);
          if (tally.expired > 0)
            partition_.figures().Count(ReplicaCount::kExpiredRecords, tally.expired);
          if (tally.filtered > 0)
            partition_.figures().Count(ReplicaCount::kFilteredRecords, tally.filtered);
        }
        // The view and the engine's share end here: closing an engine must not happen on the
        // strand.
        if (!WantsAnotherTurn(turn->answer)) turn->work = nullptr;
        return absl::OkStatus();
      },
      [this, turn, call = std::move(call), then = std::move(then)](const absl::Status&) mutable {
        if (WantsAnotherTurn(turn->answer)) {
          // The gate is asked between turns as well: a long read must not go on for a replica that
          // may not answer it.
          const ErrorCode gate = partition_.office.ReadGate(call.kind);
          if (gate == ErrorCode::kOk)
            return ReadInPool(std::move(call), std::move(turn->work), std::move(then));
          turn->work = nullptr;
          then();
          return call.responder.Reply(gate);
        }
        then();
        AnswerSeveral(std::move(call), std::move(turn->answer));
      });
}

void ClientReads::AnswerSeveral(Call call, absl::StatusOr<std::optional<std::string>> body) {
  if (absl::IsDeadlineExceeded(body.status())) return call.responder.Drop();
  // replica/P1, as after a read: it counts only if this server may still speak for the partition.
  if (const ErrorCode gate = partition_.office.ReadGate(call.kind); gate != ErrorCode::kOk)
    return call.responder.Reply(gate);
  const bool is_scan = call.code == ReadCode::kScan || call.code == ReadCode::kGetScanner;
  // Either it names a key of another partition, or client_reads/D3.
  if (absl::IsOutOfRange(body.status()) || (!is_scan && call.owned != Owned()))
    return call.responder.Reply(ErrorCode::kParentPartitionMisused);
  if (body.ok()) return Answer(std::move(call), **std::move(body));
  if (absl::IsInvalidArgument(body.status())) return call.responder.Reply(ErrorCode::kInvalidData);
  const StorageError error =
      absl::IsDataLoss(body.status()) ? StorageError::kCorruption : StorageError::kIOError;
  call.responder.Reply(ErrorCode::kOk,
                       FailedAnswer(call.code, error, partition_.pid, partition_.server));
  // Fencing after the answer, as in AnswerOne.
  if (!IsRefusal(body.status())) partition_.fence(absl::StrCat("read: ", body.status().ToString()));
}

// ---- scans ----

void ClientReads::OpenScan(Call call, const GetScannerRequest& request) {
  std::unique_ptr<ScanCursor> cursor =
      ScanCursor::Make(partition_.engine->View(), request, OwnedByScan());
  if (cursor == nullptr)
    return call.responder.Reply(
        ErrorCode::kOk,
        FailedAnswer(call.code, StorageError::kInvalidArgument, partition_.pid, partition_.server));
  if (cursor->IsElsewhere()) return call.responder.Reply(ErrorCode::kParentPartitionMisused);
  ContinueScan(std::move(call), std::move(cursor));
}

std::shared_ptr<const KeyOwnership> ClientReads::OwnedByScan() {
  const KeyOwnership owned = Owned();
  std::erase_if(owned_by_scans_, [](const auto& one) { return one.expired(); });
  for (const auto& one : owned_by_scans_)
    if (auto held = one.lock(); held != nullptr && *held == owned) return held;
  auto made = std::make_shared<const KeyOwnership>(owned);
  owned_by_scans_.push_back(made);
  return made;
}

bool ClientReads::HasFormerScans() {
  scans_.DropUnused(partition_.clock.Now());
  const KeyOwnership owned = Owned();
  return std::any_of(owned_by_scans_.begin(), owned_by_scans_.end(), [&](const auto& one) {
    const std::shared_ptr<const KeyOwnership> held = one.lock();
    return held != nullptr && *held != owned;
  });
}

void ClientReads::ContinueScan(Call call, std::unique_ptr<ScanCursor> cursor) {
  if (!scans_.is_seeded()) scans_.Seed(random_.Next());
  // The id is chosen before the batch is read, since the answer carries it.
  const int64_t next_id = scans_.NewId();
  // Shared by the pool's work and what follows it; gone before the engine may be exchanged.
  auto scan = std::make_shared<std::unique_ptr<ScanCursor>>(std::move(cursor));
  // A scan whose request came too late is lost: nobody knows its next id.
  auto is_read = std::make_shared<bool>(false);
  const ReadKind kind = call.kind;
  ReadInPool(
      std::move(call),
      [scan, next_id, is_read](const ReadTerms& terms) -> MaybeAnswer {
        *is_read = true;
        EncodedRows rows(RoomAfter((*scan)->last_answer_bytes()));
        const auto batch = (*scan)->NextBatch(terms, next_id, &rows);
        if (!batch.ok() || batch->context_id == kScanEnded) scan->reset();
        return Encoded(batch, std::move(rows));
      },
      [this, scan, kind, next_id, is_read] {
        std::unique_ptr<ScanCursor> kept = std::move(*scan);
        // EndScans may have run while the batch was read: a scan that is kept now would hold a view
        // of the former engine.
        if (kept == nullptr || !*is_read || partition_.office.ReadGate(kind) != ErrorCode::kOk)
          return;
        scans_.Keep(next_id, std::move(kept), partition_.clock.Now());
        ScheduleScanSweep();
      });
}

void ClientReads::ClearScanner(const InboundRequest& request) {
  CHECK_ON_STRAND(partition_.strand);
  if (const absl::StatusOr<int64_t> id = DecodeWrapped<int64_t>(request.body); id.ok())
    scans_.Forget(*id);
}

void ClientReads::ScheduleScanSweep() {
  if (scan_timer_ != kNoTimer || scans_.size() == 0) return;
  // One timer for all scans; it runs only while there are any.
  scan_timer_ =
      partition_.strand->PostAfter(ScannerTable::kLifetime, [this, weak = partition_.owner()] {
        const std::shared_ptr<void> owner = weak.lock();
        if (owner == nullptr || partition_.office.IsClosed()) return;
        scan_timer_ = kNoTimer;
        scans_.DropUnused(partition_.clock.Now());
        ScheduleScanSweep();
      });
}

void ClientReads::Close() {
  scans_.Clear();
  if (scan_timer_ != kNoTimer) partition_.strand->Cancel(scan_timer_);
}

}  // namespace arion
