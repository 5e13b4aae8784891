// SPDX-License-Identifier: Apache-2.0
#include "wal/private_log.h"

#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "wal/log_catalog.h"
#include "wal/log_reader.h"
#include "wal/log_recovery.h"
#include "wal/log_writer.h"

namespace arion {
namespace {

class RecoveredPrivateLog : public PrivateLog {
 public:
  RecoveredPrivateLog(Environment& env, StrandPtr strand, PrivateLogOptions options,
                      const RecoveredLog& recovered)
      : env_(env),
        options_(std::move(options)),
        catalog_(std::make_shared<LogCatalog>(
            LogCatalog::Snapshot{.files = recovered.files,
                                 .valid_start_offset = options_.valid_start_offset,
                                 .max_decree = recovered.max_decree})),
        writer_(
            std::make_shared<LogWriter>(env, std::move(strand), options_, recovered, catalog_)) {}
  ~RecoveredPrivateLog() override { writer_->Abandon(); }

  void Append(MutationPtr mutation, DurableCallback on_durable) override {
    writer_->Append(std::move(mutation), std::move(on_durable));
  }
  bool IsBusy() const override { return writer_->IsBusy(); }
  void DropThrough(Decree durable) override { writer_->DropThrough(durable); }
  void StartAnew(Decree max_decree) override { writer_->StartAnew(max_decree); }
  int64_t end_offset() const override { return writer_->end_offset(); }
  void Drain(Task done) override { writer_->Drain(std::move(done)); }
  absl::Status Close() override { return writer_->Close(); }

  bool Covers(Decree first) const override {
    const LogCatalog::Snapshot log = catalog_->Read();
    return first > RetainedAbove(log.files, log.valid_start_offset, log.max_decree);
  }

  absl::StatusOr<std::vector<MutationPtr>> ReadFrom(Decree first, uint64_t bytes_max) override {
    const LogCatalog::Snapshot log = catalog_->Read();
    if (first <= RetainedAbove(log.files, log.valid_start_offset, log.max_decree))
      return absl::OutOfRangeError(
          absl::StrCat("decree ", first.value(), " was dropped from the log"));
    // The newest file before which there is nothing of interest.
    size_t i = log.files.size();
    while (i > 0 && log.files[i - 1].name.start_offset >= log.valid_start_offset) {
      --i;
      if (log.files[i].header_max_decree < first) break;
    }
    std::vector<MutationPtr> mutations;
    uint64_t bytes = 0;
    for (; i < log.files.size() && (mutations.empty() || bytes < bytes_max); ++i)
      RETURN_IF_ERROR(
          ReadFile(log.files[i], first, log.valid_start_offset, bytes_max, &bytes, &mutations));
    return mutations;
  }

  Stats stats() const override {
    Stats stats;
    for (const LogFileEntry& file : catalog_->Read().files) {
      ++stats.files;
      stats.bytes += file.content_bytes;
    }
    stats.blocks_written = writer_->blocks_written();
    stats.mutations_written = writer_->mutations_written();
    stats.method = env_.log_device(options_.directory).method();
    return stats;
  }

 private:
  absl::Status ReadFile(const LogFileEntry& file, Decree first, int64_t valid_start_offset,
                        uint64_t bytes_max, uint64_t* bytes, std::vector<MutationPtr>* mutations) {
    const std::string path = JoinPath(options_.directory, file.file_name);
    const auto opened = env_.files().OpenForRead(path);
    if (absl::IsNotFound(opened.status()))
      return absl::OutOfRangeError(absl::StrCat(path, " was dropped meanwhile"));
    RETURN_IF_ERROR(opened.status());
    LogReader reader(**opened, file.content_bytes, file.name.start_offset);
    LogBlock block;
    while (true) {
      ASSIGN_OR_RETURN(const bool more, reader.Next(&block));
      if (!more) break;
      for (MutationPtr& mutation : block.mutations) {
        if (mutation->decree < first || mutation->log_offset < valid_start_offset) continue;
        const size_t size = EncodedSize(*mutation);
        if (!mutations->empty() && *bytes + size > bytes_max) {
          *bytes = bytes_max;
          return absl::OkStatus();
        }
        *bytes += size;
        mutations->push_back(std::move(mutation));
      }
    }
    if (reader.end() == LogEnd::kEof) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat(path, ": ", Text(LogEndName(reader.end())), " ", reader.reason()));
  }

  Environment& env_;
  const PrivateLogOptions options_;
  const std::shared_ptr<LogCatalog> catalog_;
  const std::shared_ptr<LogWriter> writer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PrivateLog>> PrivateLog::Open(Environment& env, StrandPtr strand,
                                                             PrivateLogOptions options,
                                                             ReplaySink sink,
                                                             ReplaySummary* summary) {
  FileSystem& files = env.files();
  if (!Exists(files, options.directory)) {
    RETURN_IF_ERROR(files.CreateDirectories(options.directory));
    RETURN_IF_ERROR(files.SyncDirectory(ParentDirectory(options.directory)));
  }
  ReplaySummary unused;
  auto recovered = RecoverLog(files, options, sink, summary != nullptr ? summary : &unused);
  if (!recovered.ok())
    return Annotate(recovered.status(), absl::StrCat("log of ", options.pid.ToString()));
  return std::make_unique<RecoveredPrivateLog>(env, std::move(strand), std::move(options),
                                               *recovered);
}

}  // namespace arion
