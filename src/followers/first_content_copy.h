// FirstContentCopy: gets what one partition of a follower table begins with: the newest checkpoint
// of its master's primary, in a directory on the replica's disk.
//
// Shapes    A master that holds nothing in that partition has no files: an empty result at decree
//           0. As many copies at a time as the plan's slots allow; who finds none looks again. How
//           far it is goes to the log, every 10 s.
// Errors    Unavailable: the master, with its reason, without what differs from partition to
//           partition. Others: our disk. The scratch directory keeps what came; a new copy to it
//           takes that over.
// Threads   Strand-bound; names are looked up, and files written, in the bulk pool. `done` comes on
//           the strand, exactly once, never after Cancel.
// Promises  first_content_copy/C1  done(OK): every file is complete, checked and durable, and lies
//               directly in the scratch directory.
//           first_content_copy/C2  Whatever the master answers, nothing is written beside the
//               scratch directory, and the process goes on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "env/environment.h"
#include "followers/master_table.h"
#include "messages/replication_messages.h"
#include "rpc/transport.h"

namespace arion {

class FileFetcher;
class MetaCaller;
struct QueryConfigResponse;

// Which partition, to where, and by which means.
struct FirstContentPlan {
  // The follower's.
  PartitionId pid;
  AppInfo app;
  std::string scratch_directory;
  std::string disk_tag;
  // A place among the copies to this server, until it is dropped; null: there is none now.
  std::function<std::shared_ptr<void>()> take_slot;
  // How long to wait before so many bytes are asked for.
  std::function<absl::Duration(uint64_t bytes)> pace;
};

// What is there in the end.
struct CopiedContent {
  // Empty: `decree` is 0.
  std::string checkpoint;
  Decree decree;
};

// Held by shared_ptr. One copy: Start once; then either `done` comes, or Cancel is called, or it is
// destroyed.
class FirstContentCopy : public std::enable_shared_from_this<FirstContentCopy> {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<CopiedContent>)>;

  // `transport`: to the other cluster's servers. Both outlive it.
  FirstContentCopy(Environment& env, Transport& transport, StrandPtr strand, FirstContentPlan plan);
  ~FirstContentCopy();
  void Start(Done done);
  void Cancel();

 private:
  // The steps, in this order.
  void LookUpMetas();
  void AskForPrimary(std::vector<Endpoint> metas);
  void OnPartition(const absl::StatusOr<QueryConfigResponse>& answer);
  void AskForCheckpoint();
  void OnCheckpoint(const RpcResult& result);
  void Copy();
  void Report();
  void Finish(absl::StatusOr<CopiedContent> result);
  void Fail(std::string_view why);
  // Runs `step` on the strand after the pause, unless this has ended by then.
  void After(absl::Duration pause, void (FirstContentCopy::*step)());
  std::string Tag() const;

  Environment& env_;
  Transport& transport_;
  const StrandPtr strand_;
  const FirstContentPlan plan_;
  Done done_;
  MasterTable master_;
  // Its app id differs from ours.
  PartitionId master_pid_;
  Endpoint primary_;
  // How often the primary was busy.
  int busy_ = 0;
  std::shared_ptr<MetaCaller> metas_;
  LearnResponse checkpoint_;
  std::shared_ptr<FileFetcher> fetcher_;
  std::shared_ptr<void> slot_;
  // 0: the master does not tell.
  uint64_t bytes_to_copy_ = 0;
};

}  // namespace arion
