// LearnSource: what a primary takes from its disk for a learner: a piece of the log, or the newest
// checkpoint, whose files are then served while the learner is one.
//
// Shapes    Files are named relative to the replica's `data` directory: checkpoint.<decree>/<name>.
//           file_sizes and file_checksums (crc32c, 8 hex digits) are always sent. Table files of
//           one content, or of one store of indexes, never change. Each is read for its checksum
//           once, and not more than kSummedBytesMax for one request; of a large checkpoint the next
//           request gets further. Learners of one checkpoint share the open files and the
//           checksums.
// Threads   Strand-bound, except the Read functions: in the pool, one at a time.
// Lifetime  A checkpoint is held, and served, from KeepShare until KeepOnly leaves its learner out;
//           one for a follower cluster while its share is kept.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>
#include <absl/types/span.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutation.h"
#include "copies/served_files.h"
#include "engine/engine.h"

namespace arion {

class FileSystem;
class PrivateLog;
struct ShipState;

// Whether a learner is brought up sooner by a checkpoint of `engine_bytes` than by a replay of the
// log that takes `replay`. A copy counts as 1 s and 100 MiB a second.
bool CheckpointIsCheaper(absl::Duration replay, uint64_t engine_bytes);

// What the log has of the committed history from `first` on, up to `committed`, inclusive: at least
// one mutation, if `first` is committed. It reads `piece_bytes`, and more, up to 64 MiB, where
// those prove nothing. In the pool. OutOfRange: the log does not go back that far, or proves too
// little. DataLoss: as PrivateLog::ReadFrom.
absl::StatusOr<std::vector<MutationPtr>> ReadHistory(PrivateLog& log, Decree first,
                                                     Decree committed, uint64_t piece_bytes);

// One for each replica. `Read` prepares an answer in the pool; KeepShare then keeps its files
// served.
class LearnSource {
 public:
  static constexpr uint64_t kSummedBytesMax = 512 << 20;

  LearnSource(FileSystem& files, std::shared_ptr<ServedFiles> served, PartitionId pid,
              std::string data_path, std::string disk_tag);

  // How large a piece of the log is meant to be. Who applies it keeps its loop for as long as that
  // takes: therefore kGentlePieceBytes while the learner gains on the group's writes, else
  // kPieceBytes.
  static constexpr uint64_t kPieceBytes = 1 << 20;
  static constexpr uint64_t kGentlePieceBytes = 64 << 10;
  // One of the two, for this learner now.
  uint64_t PieceBytes(Endpoint learner) const;

  // What goes with an answer.
  struct Shipment {
    // Of a checkpoint: its files are served while this lives. Null: a piece of the log.
    std::shared_ptr<void> share;
    // DataLoss: why it is not the log, as was decided. OK otherwise.
    absl::Status log_damage;
  };
  // Fills ship->response with what ship->what says. A checkpoint is also sent where the log can't
  // be read, or turns out to lack what it was said to have. (A log of an older version that
  // somebody emptied says 0 in its first file's header, whatever decree comes first in it.)
  absl::Status Read(PrivateLog& log, Engine& engine, uint64_t piece_bytes, ShipState* ship,
                    Shipment* shipment);
  // Fills ship->response; *share serves the files while it lives. Makes a checkpoint where there is
  // none that reaches ship->first. Unavailable: ask again; its checksums take longer than one
  // request, or what is committed is not applied yet.
  absl::Status ReadCheckpoint(Engine& engine, ShipState* ship, std::shared_ptr<void>* share);

  // The newest checkpoint for a follower cluster: files are named relative to its own directory,
  // and indexes are not among them. Makes one where there is none that reaches `needed`. An engine
  // that holds nothing needs none: decree 0, no files, and *share is null. Errors as
  // ReadCheckpoint.
  absl::Status ReadForFollower(Engine& engine, Decree needed, LearnResponse* response,
                               std::shared_ptr<void>* share);

  // How long a piece of the log may be kept back so that the learner still gains on the group's
  // writes: kLogPauseMax where the last pieces brought it at least twice as far as the group went
  // meanwhile, else kLogPauseMin.
  static constexpr absl::Duration kLogPauseMin = absl::Milliseconds(50);
  static constexpr absl::Duration kLogPauseMax = absl::Seconds(1);
  // One of the two. To be called once for each piece that is sent: it notes the learner's progress.
  absl::Duration LogPatience(Endpoint learner, const ShipState& ship);

  // Serves the files for this learner, in place of what it had before.
  void KeepShare(Endpoint learner, std::shared_ptr<void> share) {
    shares_[learner] = std::move(share);
  }
  // Forgets all who are not learners any more, with their files.
  void KeepOnly(absl::Span<const Endpoint> learners);
  // The engine's content was exchanged: a checkpoint of the same decree is another one now.
  void Forget() {
    tables_.clear();
    newest_share_.reset();
  }

 private:
  // Of one table file: size, and crc32c as 8 hex digits.
  struct Sum {
    int64_t size = 0;
    std::string crc;
  };
  // What is offered of a checkpoint that is held, and of its indexes. Names below data_path_.
  struct Offer {
    std::vector<std::string> names;
    std::vector<int64_t> sizes;
    std::vector<std::string> checksums;
  };
  // Of these files in a directory below data_path_; without sizes and checksums yet.
  static Offer OfferOf(const std::string& directory, const std::vector<std::string>& names);
  absl::Status AddSizesAndChecksums(Offer* offer);
  void NoteIndexStore(const std::weak_ptr<const void>& store);

  FileSystem& files_;
  std::shared_ptr<ServedFiles> served_;
  const PartitionId pid_;
  const std::string data_path_;
  const std::string disk_tag_;
  std::map<Endpoint, std::shared_ptr<void>> shares_;
  // How a learner that takes pieces of the log is getting on.
  struct Progress {
    // The committed point when it got its last piece of the log.
    Decree committed;
    bool is_gaining = true;
  };
  std::map<Endpoint, Progress> progress_;
  // Checksums of the table files of the checkpoint last shipped, by name.
  std::map<std::string, Sum> tables_;
  // The store whose files are among tables_.
  std::weak_ptr<const void> index_store_;
  // The checkpoint last shipped: the next learner of that decree shares it.
  std::weak_ptr<void> newest_share_;
  ServedFiles::Names newest_share_names_;
  Decree newest_share_decree_ = kInvalidDecree;
};

}  // namespace arion
