// PrivateLog: one replica's durable log, a folder of files log.<index>.<start offset> beside its
// data.
//
// Shapes    Mutations keep append order; a decree may appear again (prepared anew, taken over):
//           which one counts is replay's judgement (the larger ballot). Bytes: wal/log_format.h.
// Errors    A full disk holds what was appended, and so does a file that the system refuses to make
//           (IsRefusal): it is tried again until it fits; what to refuse meanwhile is the business of
//           whoever gets on_no_space. ResourceExhausted comes
//           only from a log that is drained while it waits.
//           DataLoss: a write or sync failed, or durable bytes are damaged: the log stays failed,
//           the replica must be fenced. Not so of ReadFrom, which see.
// Threads   Open, Close, ReadFrom wait for the disk: in its DiskPool. The rest is strand-bound;
//           callbacks come on that strand. No lock is shared with another replica's log.
// Lifetime  Environment outlives it. Destruction without Close is a crash: nothing is trimmed,
//           pending callbacks drop. Before Close, and before the folder is opened again or moved in
//           the same process: Drain.
// Promises  private_log/L1  on_durable(OK) for m: m and everything appended before it survive a
//               crash (power cut with kFsync).
//           private_log/L2  Callbacks run in append order, each exactly once, failures included.
//           private_log/L3  At most one write is not covered by a flush yet. Each write is one
//               block (decision 9), or a file's first and the next (log_writer/W1).
//           private_log/L4  What Open replayed is durable before Open returns.
//           private_log/L5  Nothing that can't be understood is overwritten: cut bytes go to
//               <file>.tail, damaged logs stay.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/mutation.h"
#include "env/environment.h"
#include "wal/log_gauges.h"
#include "wal/log_retention.h"

namespace arion {

struct PrivateLogOptions {
  std::string directory;      // <replica dir>/plog; created when missing
  std::string identity_path;  // <replica dir>/.arion-log: which files are ours (decision 9)
  PartitionId pid;
  Durability durability = Durability::kFsync;
  uint64_t segment_bytes_max = 32 << 20;
  LogReserve reserve;
  // What is appended waits, because the disk is full or for want of open files or memory: called on
  // the strand with why, once, and with OK when the write that waited has succeeded. May be empty.
  std::function<void(const absl::Status& why)> on_no_space;
  bool preallocate = true;  // pre-written files; false: append + fdatasync
  // Replay: decrees up to here are in the engine already (files that hold nothing newer are not
  // read).
  Decree applied;
  // Replay: the newest file from its start, also after a clean stop (else from `applied` on).
  bool reads_newest_whole = false;
  // Replay: records at global offsets below this are void (init_offset_in_private_log): not given
  // to the sink, but their ballots count in ReplaySummary::max_ballot.
  int64_t valid_start_offset = 0;
};

struct ReplaySummary {
  int64_t mutations = 0;
  uint64_t bytes = 0;
  // Of these, what is above options.applied.
  int64_t mutations_above_applied = 0;
  uint64_t bytes_above_applied = 0;
  absl::Duration took;     // all of Open, the sink's part included
  bool cut_tail = false;   // something was cut from the end: the stop was not clean
  bool was_clean = false;  // the last stop was clean, and all that it left is here
  std::string lost;        // what it left and is not here; empty: nothing
  Decree max_decree;       // largest decree seen; 0 = none
  Ballot max_ballot;
};

class PrivateLog {
 public:
  using DurableCallback = absl::AnyInvocable<void(const absl::Status&)>;
  // One replayed mutation, in log order. An error stops the replay and fails Open.
  using ReplaySink = absl::FunctionRef<absl::Status(MutationPtr)>;

  // Recovers the folder (decision 9's steps) and replays it into `sink`.
  static absl::StatusOr<std::unique_ptr<PrivateLog>> Open(Environment& env, StrandPtr strand,
                                                          PrivateLogOptions options,
                                                          ReplaySink sink, ReplaySummary* summary);
  virtual ~PrivateLog() = default;

  virtual void Append(MutationPtr mutation, DurableCallback on_durable) = 0;
  // True while a write is in flight that no flush covers yet: what is appended now joins the next
  // block.
  virtual bool IsBusy() const = 0;
  // While callbacks run: when the write that they hear of was submitted.
  virtual Instant reported_write_began() const = 0;

  // Files that neither `needs` nor options.reserve holds go (log_retention.h), in the background.
  // Files that somebody else removed meanwhile fail the log: callbacks get DataLoss.
  virtual void DropUnneeded(const LogNeeds& needs) = 0;
  void DropThrough(Decree durable) { DropUnneeded({.checkpoint = durable}); }
  // The next append starts a new file: once a checkpoint holds what is logged so far, a start reads
  // nothing of it.
  virtual void LeaveFile() = 0;
  // Everything logged so far is void (a learner got a new beginning): the next append starts a new
  // file whose header says so. The caller stores end_offset() as init_offset_in_private_log before
  // it appends.
  virtual void StartAnew(Decree max_decree) = 0;
  // A new file is begun soon: makes what it needs ahead, so that its first append waits for little.
  virtual void PrepareNextFile() = 0;
  virtual int64_t end_offset() const = 0;  // global offset behind the last appended record

  // Mutations with decree >= first that are durable here, in log order (a decree may repeat); up to
  // `bytes_max` bytes but at least one.
  struct Piece {
    std::vector<MutationPtr> mutations;
    bool is_cut = false;  // there may be more behind them
  };
  // OutOfRange: older ones were dropped. DataLoss: a file can't be read or is gone, though nobody
  // dropped it. The log goes on; whoever needed that takes it from elsewhere, and until the file is
  // left and a checkpoint holds it no Open succeeds. In the DiskPool, beside appends. Reads from an
  // index's entry (log_index.h) to the last byte it gives back, and holds no more than that and one
  // block.
  virtual absl::StatusOr<Piece> ReadFrom(Decree first, uint64_t bytes_max) = 0;
  // Every decree >= first that was ever appended is still here.
  virtual bool Covers(Decree first) const = 0;
  // How long replay would take after a crash now, with a checkpoint that holds `durable`: by the
  // rate that Open measured. Cheap; on any thread.
  virtual absl::Duration EstimatedReplay(Decree durable) const = 0;

  struct Stats {
    int64_t files = 0;
    uint64_t bytes = 0;
    int64_t writes_done = 0;  // a file's first one has two blocks
    int64_t mutations_written = 0;
    std::string method;
  };
  virtual Stats stats() const = 0;
  // For any thread, and for longer than the log lives; nullptr: it has none.
  virtual std::shared_ptr<const LogGauges> gauges() const { return nullptr; }

  // Runs `done` on the strand once everything appended was reported and no step of this log is
  // under way in the DiskPool or the device, nor will be by itself; a failed log drains, too.
  // Append nothing afterwards.
  virtual void Drain(Task done) = 0;
  // After Drain (FailedPrecondition otherwise, harmless: the next Open recovers): trims the last
  // file to its content, removes spares, marks the stop clean. Typically log->Drain([..] {
  // pool.Submit([..] { log->Close(); }); }).
  virtual absl::Status Close() = 0;
};

// How a server comes by its logs: PrivateLog::Open, unless a measurement puts another log behind
// the same facade.
using LogOpener = std::function<absl::StatusOr<std::unique_ptr<PrivateLog>>(
    Environment&, StrandPtr, PrivateLogOptions, PrivateLog::ReplaySink, ReplaySummary*)>;

}  // namespace arion
