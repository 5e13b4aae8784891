// PrivateLog: one replica's durable log, a folder of files log.<index>.<start offset> beside its
// data.
//
// Shapes    Mutations keep append order. A decree may appear again (prepared anew, taken over):
//           which one counts is replay's judgement (the larger ballot). Bytes: wal/log_format.h.
// Units     Offsets are global: they count bytes from the beginning of an endless stream
//           (wal/FORMAT.md 1.2).
// Errors    On a full disk what was appended waits, and so it does if the system refuses to make a
//           file (IsRefusal). The log tries again until it fits. What to refuse meanwhile is up to
//           whoever gets on_no_space. ResourceExhausted comes only from a log that is drained while
//           it waits. DataLoss: a write or sync failed, or durable bytes are damaged. The log stays
//           failed, and the replica must be fenced. ReadFrom is an exception; see its comment.
// Threads   Open, Close and ReadFrom wait for the disk: call them in its DiskPool. Covers,
//           Begins, EstimatedReplay and gauges may be called on any thread. The rest is
//           strand-bound; callbacks come on that strand. No lock is shared with another replica's
//           log.
// Lifetime  The Environment outlives it. Destruction without Close is a crash: nothing is trimmed,
//           and pending callbacks never run. Drain comes before Close, and before the folder is
//           opened again or moved in the same process.
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
#include "base/instant.h"
#include "base/mutation.h"
#include "env/strand.h"
#include "wal/log_needs.h"

namespace arion {

class Environment;
struct LogGauges;

// How one log is opened. Fixed while it is open.
struct PrivateLogOptions {
  // <replica dir>/plog, or a folder of its own. Open makes it if it is missing.
  std::string directory;
  // <replica dir>/.arion-log: which files this server wrote (decision 9). Beside the folder, not in
  // it.
  std::string identity_path;
  PartitionId pid;
  Durability durability = Durability::kFsync;
  // A file of about this size is left for the next one. Above 0. A mutation that is larger makes
  // its file larger.
  uint64_t segment_bytes_max = 32 << 20;
  // What is kept although nobody needs it.
  LogReserve reserve;
  // What is appended waits, because the disk is full, or open files or memory are lacking. Called
  // on the strand: once with the reason, and with OK when the write that waited has succeeded. May
  // be empty.
  std::function<void(const absl::Status& why)> on_no_space;
  // Space is filled with zeros and synced ahead, if `durability` is kFsync. false: files are
  // appended to, and each write syncs its file.
  bool preallocate = true;
  // Replay: the engine has decrees up to here, inclusive. Files that hold nothing newer are not
  // read.
  Decree applied;
  // Replay: read the newest file from its start also after a clean stop. Else from what the engine
  // lacks on.
  bool reads_newest_whole = false;
  // Replay: records at smaller global offsets are void (init_offset_in_private_log). They are not
  // given to the sink, but their ballots count in ReplaySummary::max_ballot.
  int64_t valid_start_offset = 0;
};

// What Open found and did.
struct ReplaySummary {
  // Mutations that were given to the sink, and bytes that were read, block headers included.
  int64_t mutations = 0;
  uint64_t bytes = 0;
  // The same of mutations above options.applied.
  int64_t mutations_above_applied = 0;
  uint64_t bytes_above_applied = 0;
  // All of the recovery, the sink's part included.
  absl::Duration took;
  // The log's end was torn: bytes were cut from it, or lie behind the content of a file of other
  // origin, which is never cut.
  bool cut_tail = false;
  // The last stop was clean, and all that it left is here.
  bool was_clean = false;
  // What a clean stop left and is not here, for people. Empty: nothing.
  std::string lost;
  // The largest decree that was seen. 0: none.
  Decree max_decree;
  // Of every record that was read, void ones included, and of what a clean stop told of the rest.
  Ballot max_ballot;
};

// The facade of this folder: all that replica/ needs of it. The owner holds it by unique_ptr, next
// to the strand.
//
//   ReplaySummary summary;
//   // In the DiskPool:
//   ASSIGN_OR_RETURN(auto log, PrivateLog::Open(env, strand, options, sink, &summary));
//   // On the strand:
//   log->Append(mutation, [](const absl::Status& durable) { ... });
//   log->DropUnneeded({.checkpoint = checkpointed});
//   log->Drain([&] { pool.Submit([&] { done(log->Close()); }); });
class PrivateLog {
 public:
  using DurableCallback = absl::AnyInvocable<void(const absl::Status&)>;
  // One replayed mutation, in log order. An error stops the replay and fails Open.
  using ReplaySink = absl::FunctionRef<absl::Status(MutationPtr)>;

  // Recovers the folder (log_recovery.h) and replays it into `sink`. `summary` may be null; it is
  // filled also after an error, as far as the recovery came. Errors are those of RecoverLog.
  static absl::StatusOr<std::unique_ptr<PrivateLog>> Open(Environment& env, StrandPtr strand,
                                                          PrivateLogOptions options,
                                                          ReplaySink sink, ReplaySummary* summary);
  virtual ~PrivateLog() = default;

  // Appends a mutation of this replica. The callback runs exactly once, on the strand and never
  // within this call, unless the log is destroyed before. It may append, and may destroy the log.
  virtual void Append(MutationPtr mutation, DurableCallback on_durable) = 0;
  // A record was appended that is not durable yet: what is appended now joins the next block.
  virtual bool IsBusy() const = 0;
  // While callbacks run: when the write that they hear of was submitted, by env.clock().
  virtual Instant reported_write_began() const = 0;

  // Removes, in the background, the files that neither `needs` nor options.reserve holds
  // (log_retention.h). If somebody else has removed a file meanwhile, the log fails: callbacks get
  // DataLoss.
  virtual void DropUnneeded(const LogNeeds& needs) = 0;
  // The same if nobody but the checkpoint `durable` counts.
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
  // The global offset behind the last appended record, durable or not.
  virtual int64_t end_offset() const = 0;

  // A part of the log. `is_cut`: there may be more behind it.
  struct Piece {
    std::vector<MutationPtr> mutations;
    bool is_cut = false;
  };
  // The mutations with decree >= first that are durable here, in log order (a decree may repeat):
  // up to `bytes_max` bytes of them, but at least one if there is any. Called in the DiskPool,
  // beside appends. It reads from an index's entry (log_index.h) to the last byte that it gives
  // back, and holds no more than that and one block. OutOfRange: older ones were dropped. DataLoss:
  // a file cannot be read or is gone, though nobody dropped it. The log itself goes on after that:
  // whoever needed the mutations takes them from elsewhere. But no Open succeeds until the file has
  // been left and a checkpoint holds what was in it.
  virtual absl::StatusOr<Piece> ReadFrom(Decree first, uint64_t bytes_max) = 0;
  // Every decree >= first that was ever appended is still here.
  virtual bool Covers(Decree first) const = 0;
  // The smallest decree that it covers.
  virtual Decree Begins() const = 0;
  // How long replay would take after a crash now, with a checkpoint that holds `durable`: by the
  // rate that Open measured. Cheap; on any thread.
  virtual absl::Duration EstimatedReplay(Decree durable) const = 0;

  // For displays. Counts begin with this Open.
  struct Stats {
    // Files with content, and the bytes of it.
    int64_t files = 0;
    uint64_t bytes = 0;
    // Writes that are durable. A file's first one has two blocks.
    int64_t writes_done = 0;
    // Mutations that were appended.
    int64_t mutations_written = 0;
    // How the device writes (LogDevice::method).
    std::string method;
  };
  virtual Stats stats() const = 0;
  // For any thread, and for longer than the log lives. nullptr: the log has none.
  virtual std::shared_ptr<const LogGauges> gauges() const { return nullptr; }

  // Runs `done` on the strand once everything appended was reported and no step of this log is
  // under way in the DiskPool or the device, nor will be by itself; a failed log drains, too.
  // Append nothing afterwards.
  virtual void Drain(Task done) = 0;
  // Trims the last file to its content, removes spares, and marks the stop clean. After Drain:
  // otherwise it returns FailedPrecondition, which is harmless, since the next Open recovers. A
  // failed log returns why it failed.
  virtual absl::Status Close() = 0;
};

}  // namespace arion
