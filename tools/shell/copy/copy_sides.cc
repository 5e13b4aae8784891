// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/copy_sides.h"

#include <absl/time/clock.h>

#include <utility>

#include "base/status.h"
#include "tools/shell/progress.h"

namespace arion::shell {
CopyTable::CopyTable(const std::vector<Endpoint>& meta_servers, absl::Duration timeout)
    : cluster_(meta_servers) {
  cluster_.set_timeout(timeout);
  for (const Endpoint server : meta_servers) side_.meta_servers.push_back(server.ToString());
}

absl::StatusOr<std::unique_ptr<CopyTable>> CopyTable::Open(
    const std::vector<Endpoint>& meta_servers, const std::string& table, std::string name,
    absl::Duration timeout) {
  std::unique_ptr<CopyTable> opened(new CopyTable(meta_servers, timeout));
  opened->name_ = std::move(name);
  opened->side_.table = table;
  ASSIGN_OR_RETURN(opened->client_, Client::Create({.meta_servers = opened->side_.meta_servers,
                                                    .timeout = timeout}));
  absl::StatusOr<std::vector<Share>> shares = opened->Ask();
  if (!shares.ok()) return Annotate(shares.status(), absl::StrCat("table ", opened->name_));
  opened->shares_ = *std::move(shares);
  return opened;
}

absl::StatusOr<std::vector<Share>> CopyTable::Ask() {
  ASSIGN_OR_RETURN(AdminClient * admin, cluster_.Admin());
  ASSIGN_OR_RETURN(const QueryConfigResponse answer, admin->QueryTable(side_.table));
  TableRouter router;
  RETURN_IF_ERROR(router.Update(answer));
  if (side_.table_id == 0) side_.table_id = answer.app_id;
  if (side_.table_id != answer.app_id)
    return absl::FailedPreconditionError(
        absl::StrCat("table ", name_, " was dropped meanwhile: it had id ", side_.table_id,
                     ", the one that has its name now has ", answer.app_id));
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, client_->OpenTable(side_.table));
  // The first one stays: what reads and writes refers to it.
  if (table_ == nullptr) table_ = std::move(table);
  return router.Shares();
}

absl::StatusOr<std::vector<Share>> CopyTable::LearnShares(absl::Duration patience) {
  const absl::Time until = absl::Now() + patience;
  for (;;) {
    absl::StatusOr<std::vector<Share>> shares = Ask();
    const bool may_pass =
        absl::IsUnavailable(shares.status()) || absl::IsDeadlineExceeded(shares.status());
    if (shares.ok() || !may_pass || absl::Now() >= until) return shares;
    Interrupts::Sleep(absl::Seconds(1));
    if (Interrupts::IsInterrupted()) return absl::AbortedError("stopped");
  }
}

}  // namespace arion::shell
