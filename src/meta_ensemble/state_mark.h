// StateMark: what is left while the meta server's state moves between a journal and ZooKeeper, and
// afterwards where it was. By it each meta server knows whether it may begin.
//
// Shapes    In ZooKeeper: node <root>/arion/moved. In the journal's directory: .arion-move. Both as
//           JSON: {"phase":"moving","to":"zookeeper","id":"0123456789abcdef","journal":"10.0.0.1:
//           34601 /data/meta","zookeeper":"z1:2181 /pegasus/c","unix_seconds":1700000000}.
//           As long as the node is there, /apps is "lock": meta servers of 2.5.0, and those of ours
//           that do not know the node, do not begin there.
// Errors    DataLoss: not understood, with what to do.
// Threads   Pure, but for LookAtStateDirectory, which waits for the disk.
// Promises  state_mark/P1  At each moment of a move there is one place from which a meta server
//               begins: while the node says "moving", that is the journal if meta.journal is in its
//               directory. If not, it is ZooKeeper, for the server of that directory: its file has
//               the node's id.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "meta_state/store_change.h"

namespace arion {

class FileSystem;

inline constexpr char kStateMarkKey[] = "/arion/moved";

// One move, as it is written at both ends.
struct StateMark {
  enum class Phase { kMoving, kMoved } phase = Phase::kMoving;
  enum class To { kZooKeeper, kJournal } to = To::kZooKeeper;
  // Of this move alone.
  std::string id;
  // The two ends, for people: whose directory; hosts and root.
  std::string journal, zookeeper;
  int64_t unix_seconds = 0;

  std::string ToJson() const;
  static absl::StatusOr<StateMark> Parse(const std::string& text);
  bool operator==(const StateMark&) const = default;
};

// Whether it belongs to the place, and not to the state: it is not moved elsewhere.
bool IsOfPlace(const std::string& key);
std::map<std::string, std::string> StateIn(const std::map<std::string, std::string>& entries);

// What the directory of a meta server says of where its state is.
struct StateDirectory {
  std::string path;
  bool has_journal = false;
  // One that was moved to ZooKeeper.
  bool has_moved_journal = false;
  std::optional<StateMark> note;
};
absl::StatusOr<StateDirectory> LookAtStateDirectory(FileSystem& files, const std::string& path);
std::string JournalPath(const std::string& directory);
std::string NotePath(const std::string& directory);
std::string MovedJournalPath(const std::string& directory);

// Whether a meta server with a journal may begin there. FailedPrecondition: its state is elsewhere,
// and an empty cluster would begin.
absl::Status MayBeginFromJournal(const StateDirectory& directory);
// Whether the meta server of that directory may lead by what is below a root in ZooKeeper whose
// node `node` has `mark`. OK: the move has ended here, and EndOfMove is to be stored first.
// FailedPrecondition: the state is elsewhere, or the move is to be ended.
absl::Status MayLeadUnder(const std::string& mark, const std::string& node,
                          const StateDirectory& directory);
// Whether it may lead by a root that holds no state. FailedPrecondition: its own directory has one
// that was not moved, and an empty cluster would begin.
absl::Status MayBeginEmpty(const std::string& root, const StateDirectory& directory);
// What lets meta servers begin in ZooKeeper, and what keeps them from it.
std::vector<StoreChange> EndOfMove();
std::vector<StoreChange> BeginOfMove(const StateMark& mark);

}  // namespace arion
