// SPDX-License-Identifier: Apache-2.0
#include "wal/private_log.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "env/environment.h"
#include "wal/log_catalog.h"
#include "wal/log_reader.h"
#include "wal/log_recovery.h"
#include "wal/log_writer.h"
#include "wal/replay_estimate.h"

namespace arion {
namespace {

// Read at once at most for a learner: logs are synced meanwhile on the same disk.
constexpr uint64_t kReadBytesMax = 1 << 20;

// The log behind the facade: a writer on the strand, readers in the pool, and the catalog between
// them.
class RecoveredPrivateLog : public PrivateLog {
 public:
  RecoveredPrivateLog(Environment& env, StrandPtr strand, PrivateLogOptions options,
                      const RecoveredLog& recovered, ReplayEstimate estimate)
      : env_(env),
        options_(std::move(options)),
        estimate_(estimate),
        catalog_(std::make_shared<LogCatalog>(
            LogCatalog::Content{.files = recovered.files,
                                .valid_start_offset = options_.valid_start_offset,
                                .max_decree = recovered.max_decree},
            env.clock())),
        writer_(
            std::make_shared<LogWriter>(env, std::move(strand), options_, recovered, catalog_)) {}
  ~RecoveredPrivateLog() override { writer_->Abandon(); }

  void Append(MutationPtr mutation, DurableCallback on_durable) override {
    writer_->Append(std::move(mutation), std::move(on_durable));
  }
  bool IsBusy() const override { return writer_->IsBusy(); }
  Instant reported_write_began() const override { return writer_->reported_write_began(); }
  void DropUnneeded(const LogNeeds& needs) override {
    writer_->DropOldest(catalog_->CountUnneeded(needs, options_.reserve));
  }
  void LeaveFile() override { writer_->LeaveFile(); }
  void StartAnew(Decree max_decree) override { writer_->StartAnew(max_decree); }
  void PrepareNextFile() override { writer_->PrepareNextFile(); }
  int64_t end_offset() const override { return writer_->end_offset(); }
  void Drain(Task done) override { writer_->Drain(std::move(done)); }
  absl::Status Close() override { return writer_->Close(); }
  bool Covers(Decree first) const override { return catalog_->Covers(first); }
  Decree Begins() const override { return catalog_->Begins(); }
  absl::Duration EstimatedReplay(Decree durable) const override {
    return estimate_.Of(catalog_->WorkAbove(durable));
  }

  absl::StatusOr<Piece> ReadFrom(Decree first, uint64_t bytes_max) override {
    Reading reading{.first = first, .bytes_max = bytes_max};
    ASSIGN_OR_RETURN(std::optional<LogCatalog::Piece> piece, catalog_->Begin(first));
    while (piece && !reading.is_full) {
      RETURN_IF_ERROR(Read(*piece, &reading));
      ASSIGN_OR_RETURN(piece, catalog_->After(*piece));
    }
    CHECK(!reading.is_full || !reading.mutations.empty()) << "who asks for the rest gets nowhere";
    return Piece{.mutations = std::move(reading.mutations), .is_cut = reading.is_full};
  }

  Stats stats() const override {
    const LogGauges& size = *catalog_->gauges();
    Stats stats;
    stats.files = size.files.value();
    stats.bytes = static_cast<uint64_t>(size.bytes.value());
    stats.writes_done = writer_->writes_done();
    stats.mutations_written = writer_->mutations_written();
    stats.method = env_.log_device(options_.directory).method();
    return stats;
  }
  std::shared_ptr<const LogGauges> gauges() const override { return catalog_->gauges(); }

 private:
  struct Reading {
    Decree first;
    uint64_t bytes_max = 0;
    std::vector<MutationPtr> mutations;
    uint64_t bytes = 0;
    bool is_full = false;

    void Take(const MutationView& mutation) {
      CHECK_GE(mutation.decree(), first) << "nobody asked for it";
      const size_t size = mutation.size();
      // At least one mutation is given, however large it is: else whoever asks for the rest gets
      // nowhere.
      is_full = is_full || (!mutations.empty() && bytes + size > bytes_max);
      if (is_full) return;
      bytes += size;
      is_full = bytes >= bytes_max;
      mutations.push_back(std::make_shared<Mutation>(mutation.ToMutation()));
    }
  };

  absl::Status Read(const LogCatalog::Piece& piece, Reading* reading) {
    const std::string path = JoinPath(options_.directory, piece.file_name);
    const auto opened = env_.files().OpenForRead(path);
    if (absl::IsNotFound(opened.status())) return Gone(path, piece);
    RETURN_IF_ERROR(opened.status());
    const auto chunk = static_cast<size_t>(
        std::clamp<uint64_t>(reading->bytes_max, LogIndex::kStepBytes, kReadBytesMax));
    LogReader reader(**opened, piece.content_bytes, piece.name.start_offset, piece.from, chunk);
    // No more is read at a time than is shipped. The kernel reads ahead by megabytes where it
    // expects a sequence, and logs are synced on the same disk meanwhile.
    (*opened)->Expect(ReadableFile::Access::kRandom, 0, 0);
    // What this reader learns of the file's blocks saves the next one from reading the file from
    // its start.
    LogIndex index = piece.is_indexed ? LogIndex{} : catalog_->IndexOf(piece.name);
    Decree max_decree = piece.from.max_decree;
    LogBlockView block;
    while (!reading->is_full) {
      // A file that is dropped may be written again while it is read: then errors and damage mean
      // nothing.
      const auto more_or = reader.Next(&block);
      if (!more_or.ok()) return DroppedOr(piece, more_or.status());
      const bool more = *more_or;
      if (!more) break;
      index.Add({block.position, block.crc_before, max_decree}, block.position + block.size);
      for (const MutationView& mutation : block.mutations) {
        if (mutation.log_offset() < piece.valid_start_offset) continue;
        max_decree = std::max(max_decree, mutation.decree());
        if (mutation.decree() >= reading->first) reading->Take(mutation);
      }
    }
    if (!piece.is_indexed) catalog_->SetIndex(piece.name, std::move(index));
    if (reading->is_full || reader.end() == LogEnd::kEof) return absl::OkStatus();
    return DroppedOr(piece, absl::DataLossError(absl::StrCat(
                                path, ": ", Text(LogEndName(reader.end())), " ", reader.reason())));
  }

  absl::Status Gone(const std::string& path, const LogCatalog::Piece& piece) const {
    return DroppedOr(piece, absl::DataLossError(absl::StrCat(
                                path,
                                " is gone, and this server did not remove it: the replica must "
                                "be learned anew from another member")));
  }

  // A file that was dropped while it was read may be a newer log file by now, or gone.
  absl::Status DroppedOr(const LogCatalog::Piece& piece, absl::Status status) const {
    if (catalog_->Holds(piece.name)) return status;
    return absl::OutOfRangeError(absl::StrCat(piece.file_name, " was dropped meanwhile"));
  }

  Environment& env_;
  const PrivateLogOptions options_;
  const ReplayEstimate estimate_;
  const std::shared_ptr<LogCatalog> catalog_;
  const std::shared_ptr<LogWriter> writer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PrivateLog>> PrivateLog::Open(Environment& env, StrandPtr strand,
                                                             PrivateLogOptions options,
                                                             ReplaySink sink,
                                                             ReplaySummary* summary) {
  CHECK(!options.directory.empty() && !options.identity_path.empty());
  CHECK(strand != nullptr);
  CHECK_GT(options.segment_bytes_max, 0u);
  CHECK_GE(options.applied, Decree(0)) << "what the engine holds is not known";
  // A new folder's name must be durable before anything in it is acknowledged.
  FileSystem& files = env.files();
  if (!Exists(files, options.directory)) {
    RETURN_IF_ERROR(files.CreateDirectories(options.directory));
    RETURN_IF_ERROR(files.SyncDirectory(ParentDirectory(options.directory)));
  }
  ReplaySummary unused;
  if (summary == nullptr) summary = &unused;
  const Instant begin = env.clock().Now();
  auto recovered = RecoverLog(files, options, sink, summary);
  if (!recovered.ok())
    return Annotate(recovered.status(), absl::StrCat("log of ", options.pid.ToString()));
  CHECK_LE(summary->mutations_above_applied, summary->mutations);
  CHECK(summary->lost.empty() || !summary->was_clean) << "a clean start that lost something";
  summary->took = env.clock().Now() - begin;
  CHECK_GE(summary->took, absl::ZeroDuration());
  ReplayEstimate estimate;
  // Only what the engine lacked: records that it has are read, but not applied.
  estimate.Learn({summary->bytes_above_applied, summary->mutations_above_applied}, summary->took);
  return std::make_unique<RecoveredPrivateLog>(env, std::move(strand), std::move(options),
                                               *recovered, estimate);
}

}  // namespace arion
