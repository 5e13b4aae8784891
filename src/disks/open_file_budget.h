// OpenFileBudget: how many replicas the process's limit of open files carries, and what else may have
// what they leave. Drawn up anew as replicas come and go, and as the limit changes.
//
// Shapes    A replica has kFilesPerReplica of its own: its log's file and a spare, and what its engine
//           keeps open beside tables. Its engine's tables get as many again at least. A quarter of the
//           limit is for connections at least; what all this leaves is shared by tables and
//           connections. Beyond replicas_max no replica is taken, but as many as a start found are
//           carried on: each may leave its group for a moment and come back. Where the limit was met all the same, everybody gets the least
//           until a while after.
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/instant.h"
#include "base/mutex.h"

namespace arion {

struct OpenFileShares {
  int64_t limit = 0;
  int64_t replicas_max = 0;
  int64_t connections = 0;     // more wait until others close
  int tables_per_engine = -1;  // a power of two, or -1: as many as it has
  bool has_spares = true;      // of logs
  bool operator==(const OpenFileShares&) const = default;
};

// For that many replicas.
OpenFileShares ShareOpenFiles(int64_t limit, int64_t replicas);
// The least that a server with that many replicas can start with.
int64_t OpenFilesToStart(int64_t replicas);

class OpenFileBudget {
 public:
  struct Sight {
    int64_t limit = 0;
    bool is_met = false;  // somebody had to do without, or with what is held back
  };
  // `look` is asked now and each second; `changed` hears of shares that differ from those before, on the
  // thread that looked.
  using Look = std::function<Sight()>;
  // `found`: replicas that are here at the start.
  explicit OpenFileBudget(Look look, int64_t found = 0);
  void OnChanged(std::function<void(const OpenFileShares&)> changed);

  // What is here and open, or about to be.
  void SetReplicas(int64_t replicas);
  // Whether what the meta server is told differs now.
  bool OnSecond(Instant now);

  OpenFileShares shares() const;
  int64_t replicas() const;
  // How many this server has at most, new ones included.
  int64_t replicas_max() const;
  bool MayTakeReplica() const { return replicas() < replicas_max(); }
  bool is_short() const;
  // Why one more is not taken: "open files: ...", with the limit and the remedy.
  std::string Refusal() const;

 private:
  OpenFileShares SharesNow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Look look_;
  const int64_t found_;
  std::function<void(const OpenFileShares&)> changed_;
  mutable Mutex mutex_;
  int64_t replicas_ ABSL_GUARDED_BY(mutex_);
  int64_t limit_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_short_ ABSL_GUARDED_BY(mutex_) = false;
  Instant met_ ABSL_GUARDED_BY(mutex_);  // when the limit was met last
  OpenFileShares shares_ ABSL_GUARDED_BY(mutex_);
  int64_t told_max_ ABSL_GUARDED_BY(mutex_) = -1;
};

}  // namespace arion
