// The two tables of a copy, each with a client of its own: so reading and writing have a thread
// each.
//
// Errors    NotFound: there is no such table. FailedPrecondition: the table was dropped meanwhile,
//           and another one has its name.
// Threads   One thread; never a loop thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>
#include <arion/client.h>

#include <memory>
#include <string>
#include <vector>

#include "tools/shell/cluster.h"
#include "tools/shell/copy/copy_position.h"
#include "tools/shell/copy/resume_file.h"

namespace arion::shell {

class CopyTable {
 public:
  // Opens the table. `name` is for people: "t of 10.0.0.1:34601".
  static absl::StatusOr<std::unique_ptr<CopyTable>> Open(const std::vector<Endpoint>& meta_servers,
                                                         const std::string& table, std::string name,
                                                         absl::Duration timeout);

  AsyncTable& table() const { return table_->async(); }
  const std::string& name() const { return name_; }
  const CopySide& side() const { return side_; }
  // As they were when it was opened.
  const std::vector<Share>& shares() const { return shares_; }
  // Asks anew: of the meta server, and has the client forget what it knew. Waits for an answer, up
  // to `patience`, or until Ctrl-C (Aborted).
  absl::StatusOr<std::vector<Share>> LearnShares(absl::Duration patience);

 private:
  CopyTable(const std::vector<Endpoint>& meta_servers, absl::Duration timeout);
  absl::StatusOr<std::vector<Share>> Ask();

  Cluster cluster_;
  std::unique_ptr<Client> client_;
  std::shared_ptr<Table> table_;
  std::string name_;
  CopySide side_;
  std::vector<Share> shares_;
};

}  // namespace arion::shell
