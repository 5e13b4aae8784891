// Clients' reads of several records, and scans: from the request through the disk's pool to the
// answer.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "replica/replica.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

// Up to so many keys, of requests of up to so many bytes, are first looked up in the cache alone, on
// the strand; longer requests are not even decoded there.
constexpr size_t kPointsOnStrandMax = 32;
constexpr size_t kRequestOnStrandBytesMax = 16 << 10;

ReadKind KindOf(const InboundRequest& request) {
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
std::string FailedAnswer(Replica::ReadCode code, StorageError error, PartitionId pid,
                         const std::string& server) {
  switch (code) {
    case Replica::ReadCode::kMultiGet:
      return FailedAnswer<MultiGetResponse>(error, pid, server);
    case Replica::ReadCode::kBatchGet:
      return FailedAnswer<BatchGetResponse>(error, pid, server);
    case Replica::ReadCode::kSortKeyCount:
      return FailedAnswer<CountResponse>(error, pid, server);
    default:
      return FailedAnswer<ScanResponse>(error, pid, server);
  }
}

template <class T>
absl::StatusOr<std::string> Encoded(const absl::StatusOr<T>& response) {
  if (!response.ok()) return response.status();
  return EncodeWrapped(*response);
}

}  // namespace

void Replica::ReadSeveral(ReadCode code, InboundRequest request) {
  const ReadKind kind = KindOf(request);
  Responder& responder = request.responder;
  if (const ErrorCode gate = ReadGate(kind); gate != ErrorCode::kOk) return responder.Reply(gate);
  const TableSettings settings = TableSettings::From(core_->app());
  if (!settings.Owns(pid_.index, request.header.partition_hash) && code != ReadCode::kScan)
    return responder.Reply(ErrorCode::kParentPartitionMisused);
  const auto in_pool = [&](ReadWork work) {
    ReadInPool(code, kind, std::move(responder), std::move(work), [] {});
  };
  // Decodes the request and answers it by `operate`, here if that is quickly done.
  const auto read_points = [&]<class Request>(auto points_of, auto operate, const Request*) {
    auto read = [engine = engine_, operate](const Request& get, const ReadTerms& terms,
                                            ReadTier tier) {
      return Encoded(operate(*engine->View(), get, terms, tier));
    };
    if (request.body.size() > kRequestOnStrandBytesMax)
      return in_pool([read, body = std::move(request.body)](
                         const ReadTerms& terms) -> absl::StatusOr<std::string> {
        ASSIGN_OR_RETURN(const Request get, DecodeWrapped<Request>(body));
        return read(get, terms, ReadTier::kAll);
      });
    absl::StatusOr<Request> get = DecodeWrapped<Request>(request.body);
    if (!get.ok()) return responder.Reply(ErrorCode::kInvalidData);
    const size_t points = points_of(*get);
    if (points > 0 && points <= kPointsOnStrandMax) {
      absl::StatusOr<std::string> body =
          read(*get, TermsOf(ExpiryNow(host_->env.clock()), settings), ReadTier::kCacheOnly);
      if (!absl::IsUnavailable(body.status()))
        return AnswerSeveral(code, kind, std::move(body), std::move(responder));
    }
    in_pool([read, get = *std::move(get)](const ReadTerms& terms) {
      return read(get, terms, ReadTier::kAll);
    });
  };

  switch (code) {
    case ReadCode::kMultiGet:
      return read_points([](const MultiGetRequest& get) { return get.sort_keys.size(); }, MultiGet,
                         static_cast<const MultiGetRequest*>(nullptr));
    case ReadCode::kBatchGet:
      return read_points([](const BatchGetRequest& get) { return get.keys.size(); }, BatchGet,
                         static_cast<const BatchGetRequest*>(nullptr));
    case ReadCode::kSortKeyCount: {
      auto hash_key = DecodeWrapped<Blob>(request.body);
      if (!hash_key.ok()) return responder.Reply(ErrorCode::kInvalidData);
      return in_pool([engine = engine_, hash_key = *std::move(hash_key)](const ReadTerms& terms) {
        return Encoded(CountSortKeys(*engine->View(), hash_key, terms));
      });
    }
    case ReadCode::kGetScanner: {
      const auto scanner = DecodeWrapped<GetScannerRequest>(request.body);
      if (!scanner.ok()) return responder.Reply(ErrorCode::kInvalidData);
      return OpenScan(kind, *scanner, std::move(responder));
    }
    case ReadCode::kScan: {
      const auto scan = DecodeWrapped<ScanRequest>(request.body);
      if (!scan.ok()) return responder.Reply(ErrorCode::kInvalidData);
      std::unique_ptr<ScanCursor> cursor = scans_.Take(scan->context_id, host_->env.clock().Now());
      if (cursor == nullptr)
        return responder.Reply(ErrorCode::kOk,
                               FailedAnswer(code, StorageError::kNotFound, pid_, server_name_));
      return ContinueScan(code, kind, std::move(cursor), std::move(responder));
    }
    default:
      return responder.Reply(ErrorCode::kHandlerNotFound);
  }
}

ReadTerms Replica::TermsOf(uint32_t now, const TableSettings& settings) const {
  const Clock& clock = host_->env.clock();
  const bool is_limited = settings.iteration_time_max != absl::InfiniteDuration();
  return {.pid = pid_,
          .server = server_name_,
          .now = now,
          .clock = clock,
          .deadline =
              is_limited ? clock.Now() + settings.iteration_time_max : Instant::InfiniteFuture()};
}

void Replica::ReadInPool(ReadCode code, ReadKind kind, Responder responder, ReadWork work,
                         absl::AnyInvocable<void()> then) {
  auto body = std::make_shared<absl::StatusOr<std::string>>();
  InPool(
      [this, body, work = std::move(work), settings = TableSettings::From(core_->app())]() mutable {
        // The time is that of the reading, not of the waiting in the pool's queue.
        *body = work(TermsOf(ExpiryNow(host_->env.clock()), settings));
        return absl::OkStatus();
      },
      [this, code, kind, body, responder = std::move(responder),
       then = std::move(then)](const absl::Status&) mutable {
        then();
        AnswerSeveral(code, kind, std::move(*body), std::move(responder));
      });
}

void Replica::AnswerSeveral(ReadCode code, ReadKind kind, absl::StatusOr<std::string> body,
                            Responder responder) {
  // As after a single read: it counts only if this server may still speak for the partition (P1).
  if (const ErrorCode gate = ReadGate(kind); gate != ErrorCode::kOk) return responder.Reply(gate);
  if (body.ok()) return responder.Reply(ErrorCode::kOk, *std::move(body));
  if (absl::IsInvalidArgument(body.status())) return responder.Reply(ErrorCode::kInvalidData);
  const StorageError error =
      absl::IsDataLoss(body.status()) ? StorageError::kCorruption : StorageError::kIOError;
  responder.Reply(ErrorCode::kOk, FailedAnswer(code, error, pid_, server_name_));
  if (!absl::IsResourceExhausted(body.status()))
    Fence(absl::StrCat("read: ", body.status().ToString()));
}

// ---- scans ----

void Replica::OpenScan(ReadKind kind, const GetScannerRequest& request, Responder responder) {
  const TableSettings settings = TableSettings::From(core_->app());
  ScanCursor::Owns owns;
  if (settings.validate_partition_hash)
    owns = [settings, index = pid_.index](uint64_t hash) { return settings.Owns(index, hash); };
  std::unique_ptr<ScanCursor> cursor = ScanCursor::Make(engine_->View(), request, std::move(owns));
  if (cursor == nullptr)
    return responder.Reply(
        ErrorCode::kOk,
        FailedAnswer(ReadCode::kGetScanner, StorageError::kInvalidArgument, pid_, server_name_));
  ContinueScan(ReadCode::kGetScanner, kind, std::move(cursor), std::move(responder));
}

void Replica::ContinueScan(ReadCode code, ReadKind kind, std::unique_ptr<ScanCursor> cursor,
                           Responder responder) {
  if (!scans_.is_seeded()) scans_.Seed(host_->env.random().Next());
  const int64_t next_id = scans_.NewId();
  // Shared by the pool's work and what follows it; gone before the engine may be exchanged.
  auto scan = std::make_shared<std::unique_ptr<ScanCursor>>(std::move(cursor));
  ReadInPool(
      code, kind, std::move(responder),
      [scan, next_id](const ReadTerms& terms) {
        absl::StatusOr<ScanResponse> batch = (*scan)->NextBatch(terms, next_id);
        if (!batch.ok() || batch->context_id == kScanEnded) scan->reset();
        return Encoded(batch);
      },
      [this, scan, kind, next_id] {
        std::unique_ptr<ScanCursor> kept = std::move(*scan);
        if (kept == nullptr || ReadGate(kind) != ErrorCode::kOk) return;
        scans_.Keep(next_id, std::move(kept), host_->env.clock().Now());
        ScheduleScanSweep();
      });
}

void Replica::ClearScanner(const InboundRequest& request) {
  CHECK_ON_STRAND(strand_);
  if (const absl::StatusOr<int64_t> id = DecodeWrapped<int64_t>(request.body); id.ok())
    scans_.Forget(*id);
}

void Replica::ScheduleScanSweep() {
  if (scan_timer_ != kNoTimer || scans_.size() == 0) return;
  scan_timer_ = strand_->PostAfter(ScannerTable::kLifetime, [self = weak_from_this()] {
    const auto replica = self.lock();
    if (replica == nullptr || replica->is_closed_) return;
    replica->scan_timer_ = kNoTimer;
    replica->scans_.DropUnused(replica->host_->env.clock().Now());
    replica->ScheduleScanSweep();
  });
}

}  // namespace arion
