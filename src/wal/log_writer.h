// LogWriter appends mutations to the newest file of one replica's log and reports what is durable.
//
// Shapes    A mutation is encoded into the block being built the moment it is appended
//           (log_blocks.h). What comes while a write is in flight joins one next block (up to
//           kBlockBytesTarget and one mutation, then another block). With direct I/O a write begins
//           at a page: the page that holds the end of the last block is kept in memory and written
//           again, unchanged, in front of the next block.
// Errors    A step that is refused (IsRefusal), or a write that finds no space, is tried again, the
//           same bytes at the same place, until it succeeds or the log is drained. Then it ends
//           with ResourceExhausted. The first repeat follows as soon as the log's own files have
//           given back what they do not need; nobody is told of that one. What an attempt left
//           behind is part of a block that nobody was told of: the next attempt overwrites it, or
//           it is a torn tail. Only writes are tried again: a sync that failed, for whatever
//           reason, is final. DataLoss: a write or sync failed, and the log stays failed.
// Threads   Strand-bound. Files are made, grown, trimmed and removed in the DiskPool, one step at a
//           time.
// Lifetime  Held by shared_ptr; what comes back to a writer that is gone is dropped.
// Promises  log_writer/W1  at most one write is in flight; each is one block of one file, or a
//               file's first block and the next: both begin in the sector that a file starts with,
//               so a torn write has neither or is a torn second block
//           log_writer/W2  the next write is submitted after the flush that covers the one before
//               succeeded
//           log_writer/W3  a file's first write waits until its name and all of the file before are
//               durable. It is named as soon as its start is known: until it holds its first record
//               it is a last file without a first block, which recovery removes. A log that is
//               drained writes the first block alone, or forgets it where no space was left for the
//               name
//           log_writer/W4  a write reaches past the synced end of its file only with kGrowing
//           log_writer/W5  each write begins where the content of its file ends
//           log_writer/W6  a log that has failed holds nothing that waits for an answer
//           (private_log/L1 and private_log/L2 follow)
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "env/clock.h"
#include "wal/log_blocks.h"
#include "wal/log_folder.h"
#include "wal/log_format.h"
#include "wal/private_log.h"

namespace arion {

class DiskPool;
class Environment;
class LogCatalog;
struct RecoveredLog;

// The part of PrivateLog that writes; its comments hold here as well. Constructed on any thread,
// used on `strand`.
//
//   auto writer = std::make_shared<LogWriter>(env, strand, options, recovered, catalog);
//   writer->Append(mutation, [](const absl::Status& status) { ... });
//   writer->Drain([writer, &pool] { pool.Submit([writer] { (void)writer->Close(); }); });
class LogWriter : public std::enable_shared_from_this<LogWriter> {
 public:
  using DurableCallback = PrivateLog::DurableCallback;

  // `recovered` is the log as recovery left it. `catalog` holds the same files, and is kept up to
  // date from here on. `env` outlives the writer.
  LogWriter(Environment& env, StrandPtr strand, const PrivateLogOptions& options,
            const RecoveredLog& recovered, std::shared_ptr<LogCatalog> catalog);

  // Appends a mutation of this replica. The callback is not empty; it never runs within this call.
  void Append(MutationPtr mutation, DurableCallback on_durable);
  // A record was appended that is not durable yet.
  bool IsBusy() const { return !blocks_.empty() && !blocks_.only_file_header(); }
  // While callbacks run: when the write that they hear of was submitted.
  Instant reported_write_began() const { return reported_write_began_; }
  // The oldest `files` files are no longer part of the log. They are removed in the background, or
  // kept to be written again. The others are looked for: one that somebody else removed fails the
  // log.
  void DropOldest(size_t files);
  // The next record starts a new file.
  void LeaveFile();
  // Everything that was appended is void, and the next record starts a new file that says so.
  void StartAnew(Decree max_decree);
  // Makes a spare in the background, if there is none.
  void PrepareNextFile();
  // The global offset behind the last appended record.
  int64_t end_offset() const { return blocks_.end_offset(); }
  // The largest decree of all records, those that recovery found included.
  Decree max_decree() const { return blocks_.max_decree(); }
  // Runs `done` on the strand once nothing of this log is under way or will be by itself.
  void Drain(Task done);
  // The log is given up: no callback runs any more, and no further step begins.
  void Abandon();

  // Trims and marks the stop clean. In the DiskPool, after Drain; else FailedPrecondition.
  absl::Status Close();

  // Since construction. A file's first write has two blocks and counts once.
  int64_t writes_done() const { return writes_done_; }
  int64_t mutations_written() const { return mutations_written_; }

 private:
  using Block = LogBlocks::Block;
  using BlockPtr = LogBlocks::BlockPtr;
  // A step of the folder: `work` in the pool, then `then` on the strand.
  struct Job {
    absl::AnyInvocable<absl::Status(LogFolder&)> work;
    absl::AnyInvocable<void(const absl::Status&)> then;
  };

  // CHECKs what holds between tasks of log_writer/W1, log_writer/W3, log_writer/W4 and
  // log_writer/W6.
  void Check() const;
  // Submits the front block if nothing stands in its way, or starts what clears the way.
  void Pump();
  // Makes the file that `name` is planned for, if no other is on its way.
  void NameNextFile(const LogFileName& name);
  // All of the newest file is durable, and the next has its name.
  void SwitchToNextFile();
  // Writes zeros ahead in the newest file, at least up to `bytes`.
  void GrowTo(uint64_t bytes);
  void GrowAhead();
  void MakeSpareAhead();
  void AskForSpare(uint64_t fill_bytes);
  void Remove(absl::AnyInvocable<absl::Status(LogFolder&)> work);
  void OnRemoved(const absl::Status& status);
  void ReleaseKeptLater();
  // Files that were left are cut to their content once the log has filled no file for a while.
  // Those that are dropped before that are written again as they are.
  void TrimLater();
  void TrimLeftFiles();
  void ForgetDropped();
  void Prepare(Block& block);
  void Submit(Block& block);
  void OnWritten(absl::Status status, AlignedBuffer buffer);
  void OnDurable();
  void Answer(absl::Duration write_took);
  // The front block cannot be written: tries again once this log's own files have given back what
  // they can, then after a while, and tells the owner.
  void WaitForSpace(const absl::Status& status);
  void FreeSpace();
  void Fail(const absl::Status& status);
  // Answers everything with `status`, and what is appended from now on.
  void End(absl::Status status);

  void Enqueue(Job job);
  void RunNextJob();
  // Last of a step: whoever waits for it may close the log on another thread at once.
  void CheckDrained();

  uint64_t RoundUpToPage(uint64_t n) const {
    const uint64_t a = current_.file->alignment();
    return (n + a - 1) / a * a;
  }

  const PrivateLogOptions options_;
  const StrandPtr strand_;
  const Clock& clock_;
  DiskPool& pool_;
  LogDevice& device_;
  const std::shared_ptr<LogCatalog> catalog_;
  const bool prewrites_;
  // A pre-written file is filled up to here.
  const uint64_t capacity_bytes_;
  const std::shared_ptr<LogFolder> folder_;

  // ---- what waits ----

  // The front block is in flight, or is the next to be written.
  LogBlocks blocks_;
  bool in_flight_ = false;
  // Callbacks run: what they append becomes one block.
  bool answering_ = false;
  // When the write in flight was submitted, and when the write was whose block answers_ belongs to.
  Instant submitted_;
  Instant reported_write_began_;
  // Of the block that is durable now.
  std::vector<DurableCallback> answers_;
  // Runs while the front block waits for space.
  TimerId retry_ = kNoTimer;
  TimerId release_kept_ = kNoTimer;
  // Left files whose zero tail is still there.
  std::vector<LogFolder::ToTrim> to_trim_;
  TimerId trim_ = kNoTimer;
  // A job frees space, and the front block waits for it.
  bool freeing_space_ = false;
  // Space was freed since a block was written last.
  bool freed_space_ = false;
  // The owner was told that the log waits.
  bool is_out_of_space_ = false;
  // Not OK: the log has ended.
  absl::Status failed_;

  // ---- the files ----

  // The newest file. Null before the first.
  OpenLogFile current_;
  LogFileName current_name_;
  // It has its name and is empty. Null: there is none.
  OpenLogFile next_;
  LogFileName next_name_;
  // A job names the next file; its end comes back to Pump.
  bool naming_next_ = false;
  // Durable content of the newest file.
  uint64_t content_bytes_ = 0;
  uint64_t next_step_bytes_ = 0;
  bool growing_ = false;
  // There is no space to grow the newest file: its writes sync themselves.
  bool grow_refused_ = false;
  // The index of the last spare that was asked for.
  int64_t spare_asked_ = 0;
  // The page that holds the end of the last block.
  char last_page_[AlignedBuffer::kAlignment];

  std::deque<Job> jobs_;
  bool job_running_ = false;
  bool abandoned_ = false;
  std::vector<Task> drain_;

  int64_t writes_done_ = 0;
  int64_t mutations_written_ = 0;
};

}  // namespace arion
