// LogWriter appends mutations to the newest file of one replica's log and reports what is durable.
//
// Shapes    A mutation is encoded into the block being built the moment it is appended
//           (log_blocks.h). While a write is in flight what comes joins one next block (up to
//           kBlockBytesTarget + one mutation, then another). With direct I/O a write begins at a
//           page: the page that holds the end of the last block is kept in memory and written
//           again, unchanged, in front of the next.
// Errors    A step that is refused (IsRefusal), or a write that finds no space, is tried again, the
//           same bytes at the same place, until it succeeds or the log is drained
//           (ResourceExhausted; it has ended then): first when the log's own files have given back
//           what they don't need, which nobody hears of. What an attempt left behind is part of a
//           block that nobody was told of: overwritten by the next attempt, or a torn tail. Only a
//           write is tried again: a sync that failed, for whatever reason, is final. DataLoss: a
//           write or sync failed; the log stays failed.
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

#include "env/environment.h"
#include "wal/log_blocks.h"
#include "wal/log_catalog.h"
#include "wal/log_folder.h"
#include "wal/log_format.h"
#include "wal/log_recovery.h"
#include "wal/private_log.h"

namespace arion {

class LogWriter : public std::enable_shared_from_this<LogWriter> {
 public:
  using DurableCallback = PrivateLog::DurableCallback;

  // `catalog` holds the recovered files and is kept up to date.
  LogWriter(Environment& env, StrandPtr strand, const PrivateLogOptions& options,
            const RecoveredLog& recovered, std::shared_ptr<LogCatalog> catalog);

  void Append(MutationPtr mutation, DurableCallback on_durable);
  bool IsBusy() const { return !blocks_.empty() && !blocks_.only_file_header(); }
  Instant reported_write_began() const { return reported_write_began_; }
  // These many files at the log's front are no longer part of it; removed, or kept to be written
  // again, in the background. The others are looked for: one that somebody else removed fails the log.
  void DropOldest(size_t files);
  void LeaveFile();
  void StartAnew(Decree max_decree);
  void PrepareNextFile();
  int64_t end_offset() const { return blocks_.end_offset(); }
  Decree max_decree() const { return blocks_.max_decree(); }
  void Drain(Task done);
  // The log is given up: no callback runs any more.
  void Abandon();

  // In the DiskPool, drained.
  absl::Status Close();

  int64_t writes_done() const { return writes_done_; }
  int64_t mutations_written() const { return mutations_written_; }

 private:
  using Block = LogBlocks::Block;
  using BlockPtr = LogBlocks::BlockPtr;
  struct Job {
    absl::AnyInvocable<absl::Status(LogFolder&)> work;
    absl::AnyInvocable<void(const absl::Status&)> then;
  };

  // Between tasks: log_writer/W1, log_writer/W3, log_writer/W4, log_writer/W6.
  void Check() const;
  // Submits the front block if nothing stands in its way, or starts what clears the way.
  void Pump();
  // Makes the file that `name` is planned for, if no other is on its way.
  void NameNextFile(const LogFileName& name);
  // All of the newest file is durable, and the next has its name.
  void SwitchToNextFile();
  // At least to `bytes`.
  void GrowTo(uint64_t bytes);
  void GrowAhead();
  void MakeSpareAhead();
  void AskForSpare(uint64_t fill_bytes);
  void Remove(absl::AnyInvocable<absl::Status(LogFolder&)> work);
  void OnRemoved(const absl::Status& status);
  void ReleaseKeptLater();
  // Files that were left are cut to their content once the log fills no file for a while: those
  // that are dropped before are written again as they are.
  void TrimLater();
  void TrimLeftFiles();
  void ForgetDropped();
  void Prepare(Block& block);
  void Submit(Block& block);
  void OnWritten(absl::Status status, AlignedBuffer buffer);
  void OnDurable();
  void Answer(absl::Duration write_took);
  // The front block's way is closed: tries again once this log's own files gave back what they can,
  // then after a while, and the owner is told.
  void WaitForSpace(const absl::Status& status);
  void FreeSpace();
  void Fail(const absl::Status& status);
  // Answers everything with `status`, and what is appended from now on.
  void End(absl::Status status);

  void Enqueue(Job job);
  void RunNextJob();
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
  const uint64_t capacity_bytes_;  // a pre-written file is filled up to here
  const std::shared_ptr<LogFolder> folder_;

  LogBlocks blocks_;  // the first: in flight or next
  bool in_flight_ = false;
  bool answering_ = false;                // callbacks run: what they append becomes one block
  Instant submitted_;                     // when the write in flight was
  Instant reported_write_began_;          // when that was whose block answers_ is of
  std::vector<DurableCallback> answers_;  // of the block that is durable now
  TimerId retry_ = kNoTimer;              // runs while the front block waits for space
  TimerId release_kept_ = kNoTimer;
  std::vector<LogFolder::ToTrim> to_trim_;  // left files whose zero tail is still there
  TimerId trim_ = kNoTimer;
  bool freeing_space_ = false;    // a job does; the front block waits for it
  bool freed_space_ = false;      // since a block was written last
  bool is_out_of_space_ = false;  // the owner was told so
  absl::Status failed_;

  OpenLogFile current_;  // the newest file; null before the first
  LogFileName current_name_;
  OpenLogFile next_;  // has its name, and is empty; null: there is none
  LogFileName next_name_;
  bool naming_next_ = false;    // its end comes back to Pump
  uint64_t content_bytes_ = 0;  // durable content of the newest file
  uint64_t next_step_bytes_ = 0;
  bool growing_ = false;
  bool grow_refused_ = false;                  // no space: this file's writes sync themselves
  int64_t spare_asked_ = 0;                    // index of the last spare asked for
  char last_page_[AlignedBuffer::kAlignment];  // the page that holds the end of the last block

  std::deque<Job> jobs_;
  bool job_running_ = false;
  bool abandoned_ = false;
  std::vector<Task> drain_;

  int64_t writes_done_ = 0;
  int64_t mutations_written_ = 0;
};

}  // namespace arion
