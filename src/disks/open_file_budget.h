// OpenFileBudget: how many replicas the process's limit of open files allows, and how the rest of
// the files is shared between tables and connections. It computes the shares anew as replicas come
// and go, and as the limit changes.
//
// Shapes    A replica has kFilesPerReplica files of its own: its log's file and a spare, and what
//           its engine keeps open beside tables. Its engine's tables get kTablesMin more at least.
//           A quarter of the limit is for connections at least; what all this leaves is shared by
//           tables and connections. Beyond replicas_max no new replica is taken, but replicas that
//           a start found are kept: each may leave its group for a moment and come back. When the
//           limit was met all the same, everybody gets the least until 30 s after.
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/instant.h"
#include "base/mutex.h"

namespace arion {

// What each kind of user may have.
struct OpenFileShares {
  // Of the process, as the system says.
  int64_t limit = 0;
  int64_t replicas_max = 0;
  // Connections beyond this wait until others close.
  int64_t connections = 0;
  // A power of two, or -1: as many as the engine has tables.
  int tables_per_engine = -1;
  // Whether logs make spare files.
  bool has_spares = true;
  bool operator==(const OpenFileShares&) const = default;
};

// The shares with `replicas` replicas. Pure.
OpenFileShares ShareOpenFiles(int64_t limit, int64_t replicas);
// The least limit that a server with that many replicas can start with.
int64_t OpenFilesToStart(int64_t replicas);

// Life cycle: construct, OnChanged before other threads use it, then OnSecond once a second.
class OpenFileBudget {
 public:
  // What is seen of the process's open files.
  struct Sight {
    int64_t limit = 0;
    // Somebody had to do without since the last look, or lives on files that are held back for
    // that.
    bool is_met = false;
  };
  // Asked at construction and each second.
  using Look = std::function<Sight()>;
  // `found`: replicas that are here at the start.
  explicit OpenFileBudget(Look look, int64_t found = 0);
  // `changed` is called by OnSecond, on its thread and without locks, with shares that differ from
  // those before.
  void OnChanged(std::function<void(const OpenFileShares&)> changed);

  // How many replicas are open here, or about to be.
  void SetReplicas(int64_t replicas);
  // Looks, and draws the shares up anew. True: replicas_max() differs from what it was after the
  // last call, so the meta server is to be told.
  bool OnSecond(Instant now);

  // As of the last OnSecond.
  OpenFileShares shares() const;
  int64_t replicas() const;
  // How many replicas this server may have, new ones included. While files are short: no more than
  // it has.
  int64_t replicas_max() const;
  bool MayTakeReplica() const { return replicas() < replicas_max(); }
  // The limit was met within the last 30 s.
  bool is_short() const;
  // Why one more is not taken, with the limit and the remedy: "open files: ...".
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
  // When the limit was met last; 0: never.
  Instant met_ ABSL_GUARDED_BY(mutex_);
  OpenFileShares shares_ ABSL_GUARDED_BY(mutex_);
  int64_t told_max_ ABSL_GUARDED_BY(mutex_) = -1;
};

}  // namespace arion
