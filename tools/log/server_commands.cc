// SPDX-License-Identifier: Apache-2.0
#include "tools/log/server_commands.h"

#include <map>
#include <memory>
#include <set>

#include "base/status.h"
#include "legacy/shared_log_stats.h"
#include "tools/log/dry_run_files.h"
#include "tools/log/json_line.h"
#include "tools/log/server_data.h"
#include "tools/log/verdict.h"

namespace arion::logtool {
namespace {

constexpr char kLockName[] = ".arion-lock";  // data_directory_claim.h

bool IsJson(const ServerCommand& command) { return command.form == OutputForm::kJson; }

absl::Status Who(FileSystem& files, const ServerCommand& command, const Print& print) {
  ASSIGN_OR_RETURN(const ServerData data, FindServerData(files, command.directories));
  if (data.shared_log.empty()) return absl::NotFoundError("no shared log there");
  return PrintWho(files, data.shared_log, IsJson(command), print);
}

absl::Status Cover(FileSystem& files, const ServerData& data, const ServerCommand& command,
                   const Print& print) {
  std::map<PartitionId, Decree> elsewhere;
  ASSIGN_OR_RETURN(const auto coverage, CoverageOf(files, data, &elsewhere));
  PrintCoverage(data, coverage, elsewhere, IsJson(command), print);
  return absl::OkStatus();
}

// The older server may run meanwhile: what is not fine may have been half seen. It is looked at
// again until it is, or stands still.
constexpr int kLooksMax = 20;

// The sizes of the files in some folders.
using Sight = std::map<std::string, uint64_t>;
Sight SightOf(FileSystem& files, const std::vector<std::string>& folders) {
  Sight sight;
  for (const std::string& folder : folders)
    for (const std::string& name : files.List(folder).value_or(std::vector<std::string>()))
      if (const auto status = files.Stat(JoinPath(folder, name)); status.ok())
        sight[JoinPath(folder, name)] = status->size;
  return sight;
}

absl::StatusOr<ServerData> FindInUse(FileSystem& files, const ServerCommand& command) {
  absl::StatusOr<ServerData> data = FindServerData(files, command.directories);
  for (int looks = 1; looks < kLooksMax && absl::IsNotFound(data.status()); ++looks)
    data = FindServerData(files, command.directories);
  return data;
}

bool IsFine(const Verdict& verdict) {
  return verdict.judgement == Judgement::kOk || verdict.judgement == Judgement::kTornTail;
}

// Of a replica that the server dropped meanwhile there is nothing to say: it is fine.
Verdict JudgeInUse(FileSystem& files, const ServerCommand& command, ServerReplica* replica) {
  const std::string log = replica->Log().directory;
  Verdict verdict;
  for (int looks = 0; looks < kLooksMax; ++looks) {
    if (looks > 0 && command.pause) command.pause();
    if (!Exists(files, log)) return Verdict();
    const Sight before = SightOf(files, {log});
    verdict = Judge(files, replica->Log(), {.applied = replica->checkpoint});
    const Decree checkpoint = NewestCheckpoint(files, replica->directory);
    if (IsFine(verdict) || (SightOf(files, {log}) == before && replica->checkpoint == checkpoint))
      break;
    replica->checkpoint = checkpoint;
  }
  return verdict;
}

absl::Status CoverInUse(FileSystem& files, const ServerCommand& command, const Print& print,
                        ServerData* data) {
  absl::Status covered;
  for (int looks = 0; looks < kLooksMax; ++looks) {
    if (looks > 0) {
      if (command.pause) command.pause();
      ASSIGN_OR_RETURN(*data, FindInUse(files, command));
    }
    std::vector<std::string> folders;
    for (const ServerReplica& replica : data->replicas) folders.push_back(replica.Log().directory);
    if (!data->shared_log.empty()) folders.push_back(data->shared_log);
    const Sight before = SightOf(files, folders);
    covered = Cover(files, *data, command, print);
    if (covered.ok() || SightOf(files, folders) == before) break;
  }
  return covered;
}

// What a start would do, and what would keep it from starting.
absl::Status CheckUpgrade(FileSystem& files, const ServerCommand& command, const Print& print) {
  ASSIGN_OR_RETURN(ServerData data, FindInUse(files, command));
  int damaged = 0;
  for (ServerReplica& replica : data.replicas) {
    const Verdict verdict = JudgeInUse(files, command, &replica);
    if (IsFine(verdict)) continue;
    ++damaged;
    print(absl::StrCat(replica.pid.ToString(), "  ", Text(JudgementName(verdict.judgement)), ": ",
                       verdict.reason, "; it would be set aside and learned anew\n"));
  }
  if (damaged > 0)
    return absl::DataLossError(
        absl::StrCat(damaged, " of ", data.replicas.size(), " replicas can't be opened"));
  RETURN_IF_ERROR(CoverInUse(files, command, print, &data));
  if (!IsJson(command))
    print(absl::StrCat("READY: ", data.replicas.size(), " replicas, shared log ",
                       data.shared_log.empty() ? "none" : data.shared_log, "\n"));
  return absl::OkStatus();
}

std::string SharedLogText(const ServerData& data) {
  if (!data.shared_log.empty()) return data.shared_log;
  return data.empty_shared_log.empty() ? "none"
                                       : absl::StrCat("none left in ", data.empty_shared_log);
}

std::set<std::string> DirectoriesOf(const ServerData& data) {
  std::set<std::string> directories;
  for (const ServerReplica& replica : data.replicas)
    directories.insert(ParentDirectory(replica.directory));
  return directories;
}

using Locks = std::vector<std::unique_ptr<WritableFile>>;
absl::StatusOr<Locks> LockAll(FileSystem& files, const std::set<std::string>& directories) {
  Locks locks;
  for (const std::string& directory : directories) {
    auto lock = files.Lock(JoinPath(directory, kLockName));
    if (!lock.ok())
      return absl::UnavailableError(
          absl::StrCat("a server holds ", directory, ": ", lock.status().message()));
    locks.push_back(*std::move(lock));
  }
  return locks;
}

absl::Status Prepare(FileSystem& files, const ServerCommand& command, const Print& print) {
  const bool does = command.doing == ServerCommand::Doing::kDoes;
  ASSIGN_OR_RETURN(ServerData data, FindServerData(files, command.directories));
  Locks locks;
  if (does) {
    const std::set<std::string> directories = DirectoriesOf(data);
    ASSIGN_OR_RETURN(locks, LockAll(files, directories));
    // A server that was about to stop has done its last work since.
    ASSIGN_OR_RETURN(data, FindServerData(files, command.directories));
    if (DirectoriesOf(data) != directories)
      return absl::UnavailableError(
          "the directories of the data changed during the check; nothing was done: run it again");
  }
  // The whole of it on files that can't be changed first: an error there changes nothing at all.
  DryRunFiles dry(files, {});
  std::vector<std::string> report;
  RETURN_IF_ERROR(PrepareRollback(dry, data, command.rollback, &report));
  if (does) {
    report.clear();
    RETURN_IF_ERROR(PrepareRollback(files, data, command.rollback, &report));
  }
  if (IsJson(command)) {
    for (const std::string& line : report) JsonLine(print).Add("step", line).Finish();
    JsonLine(print).Add("shared_log", data.shared_log).Finish();
    return absl::OkStatus();
  }
  for (const std::string& line : report) print(absl::StrCat(line, "\n"));
  if (report.empty()) print("nothing to do\n");
  print(absl::StrCat("shared log: ", SharedLogText(data), "\n", data.replicas.size(), " replicas ",
                     does ? "prepared" : "looked at; --yes does it", "\n"));
  return absl::OkStatus();
}

}  // namespace

absl::Status RunServerCommand(FileSystem& files, const ServerCommand& command, const Print& print) {
  DryRunFiles looking(files, {});
  switch (command.kind) {
    case ServerCommand::Kind::kWho:
      return Who(looking, command, print);
    case ServerCommand::Kind::kCoverage: {
      ASSIGN_OR_RETURN(const ServerData data, FindServerData(looking, command.directories));
      return Cover(looking, data, command, print);
    }
    case ServerCommand::Kind::kUpgradeCheck:
      return CheckUpgrade(looking, command, print);
    case ServerCommand::Kind::kPrepareRollback:
      return Prepare(files, command, print);
  }
  return absl::InvalidArgumentError("no such command");
}

}  // namespace arion::logtool
