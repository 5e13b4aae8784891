// LearnSource: what a primary takes from its disk for a learner: a piece of the log, or the
// newest checkpoint, whose files are then served while the learner is one.
//
// Shapes    Files are named relative to the replica's `data` directory:
//           checkpoint.<decree>/<name>. file_sizes is always sent; file_checksums (crc32c, 8 hex
//           digits) while the checkpoint is small enough to read within the learner's patience.
//           Chunks are checksummed in any case.
// Threads   Strand-bound, except the two Read functions: in the pool, one at a time.
// Lifetime  A checkpoint is held, and served, from KeepShare until KeepOnly leaves its learner
//           out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/types/span.h>

#include <map>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "env/file_system.h"
#include "pacifica/effects.h"
#include "replica/served_files.h"
#include "wal/private_log.h"

namespace arion {

class LearnSource {
 public:
  LearnSource(FileSystem& files, std::shared_ptr<ServedFiles> served, PartitionId pid,
              std::string data_path, std::string disk_tag);

  // Fills ship->response.state. OutOfRange: the log no longer goes back that far.
  absl::Status ReadLog(PrivateLog& log, ShipState* ship) const;
  // Fills ship->response; *share serves the files while it lives. Makes a checkpoint when there is
  // none.
  absl::Status ReadCheckpoint(Engine& engine, ShipState* ship, std::shared_ptr<void>* share);

  void KeepShare(Endpoint learner, std::shared_ptr<void> share) {
    shares_[learner] = std::move(share);
  }
  // Learners that are none any more get nothing more.
  void KeepOnly(absl::Span<const Endpoint> learners);
  // The engine's content was exchanged: a checkpoint of the same decree is another one now.
  void Forget() { summed_decree_ = kInvalidDecree; }

 private:
  absl::Status AddChecksums(const Engine::CheckpointFiles& checkpoint, LearnState* state);

  FileSystem& files_;
  std::shared_ptr<ServedFiles> served_;
  const PartitionId pid_;
  const std::string data_path_;
  const std::string disk_tag_;
  std::map<Endpoint, std::shared_ptr<void>> shares_;
  // Of the checkpoint last shipped; its files never change.
  Decree summed_decree_ = kInvalidDecree;
  std::map<std::string, std::string> checksums_;
};

}  // namespace arion
