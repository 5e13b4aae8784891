// SPDX-License-Identifier: Apache-2.0
#include "tools/log/prepare_rollback.h"

#include "base/status.h"
#include "legacy/shared_log_catalog.h"
#include "legacy/shared_log_removal.h"
#include "wal/log_recovery.h"
#include "wal/log_survey.h"

namespace arion::logtool {
namespace {

constexpr std::string_view kSharedOffset = "\"init_offset_in_shared_log\":";

// Sizes of the logs' files in a folder, and its spares.
absl::StatusOr<LogFolderNames> Look(FileSystem& files, const LogPlace& place) {
  return ListLogFolder(files, place.directory);
}

absl::Status PrepareLog(FileSystem& files, const ServerReplica& replica,
                        std::vector<std::string>* report) {
  const LogPlace place = replica.Log();
  const std::string name = replica.pid.ToString();
  // Without .arion-log nothing in it is ours, or we were here before.
  if (!Exists(files, place.IdentityPath())) return absl::OkStatus();
  if (Exists(files, place.directory)) {
    ASSIGN_OR_RETURN(const LogFolderNames before, Look(files, place));
    PrivateLogOptions options;
    options.directory = place.directory;
    options.identity_path = place.IdentityPath();
    options.pid = replica.pid;
    options.applied = replica.checkpoint;
    options.valid_start_offset = replica.valid_start_in_private_log;
    ReplaySummary summary;
    RETURN_IF_ERROR(
        RecoverLog(
            files, options, [](const MutationPtr&) { return absl::OkStatus(); }, &summary)
            .status());
    ASSIGN_OR_RETURN(const LogFolderNames after, Look(files, place));
    for (const auto& log : before.logs)
      for (const auto& now : after.logs)
        if (now.file_name == log.file_name && now.size != log.size)
          report->push_back(absl::StrCat(name, ": ", log.file_name, " cut from ", log.size, " to ",
                                         now.size, " bytes"));
    for (const std::string& spare : before.spares)
      report->push_back(absl::StrCat(name, ": ", spare, " removed"));
    for (const std::string& spare : after.spares)
      RETURN_IF_ERROR(files.Remove(JoinPath(place.directory, spare)));
    RETURN_IF_ERROR(files.SyncDirectory(place.directory));
  }
  RETURN_IF_ERROR(files.Remove(place.IdentityPath()));
  RETURN_IF_ERROR(files.SyncDirectory(replica.directory));
  report->push_back(absl::StrCat(name, ": .arion-log removed"));
  return absl::OkStatus();
}

absl::Status ZeroSharedOffset(FileSystem& files, const ServerReplica& replica,
                              std::vector<std::string>* report) {
  if (replica.valid_start_in_shared_log == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(files, replica.InfoPath()));
  const size_t at = text.find(kSharedOffset);
  if (at == std::string::npos)
    return absl::DataLossError(absl::StrCat(replica.InfoPath(), ": not as a server writes it"));
  const size_t begin = at + kSharedOffset.size();
  const size_t end = text.find_first_of(",}", begin);
  if (end == std::string::npos)
    return absl::DataLossError(absl::StrCat(replica.InfoPath(), ": not as a server writes it"));
  RETURN_IF_ERROR(WriteFileDurably(files, replica.InfoPath(),
                                   absl::StrCat(text.substr(0, begin), "0", text.substr(end))));
  report->push_back(absl::StrCat(replica.pid.ToString(), ": init_offset_in_shared_log ",
                                 replica.valid_start_in_shared_log, " -> 0"));
  return absl::OkStatus();
}

absl::Status CheckNothingIsLacking(FileSystem& files, const ServerData& data,
                                   std::vector<std::string>* report) {
  std::map<PartitionId, Decree> elsewhere;
  ASSIGN_OR_RETURN(const auto coverage, CoverageOf(files, data, &elsewhere));
  for (const auto& [pid, c] : coverage)
    if (c.taken > 0)
      return absl::FailedPreconditionError(
          absl::StrCat(pid.ToString(), " would take decrees ", c.first_taken.value(), "-",
                       c.last_taken.value(), " from the shared log ", data.shared_log,
                       ": start our server on these data once, stop it, and try again; nothing was "
                       "changed"));
  for (const auto& [pid, max] : elsewhere)
    report->push_back(absl::StrCat(pid.ToString(), ": not in these directories; its mutations to ",
                                   max.value(), " stay in the files that are set aside"));
  return absl::OkStatus();
}

// Before an offset becomes 0: nothing may be left for which it mattered.
absl::Status CheckSharedLogIsKnown(const ServerData& data, RollbackOrder::SharedLog said) {
  if (said == RollbackOrder::SharedLog::kIsGone) {
    if (data.shared_log.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("there is a shared log, ", data.shared_log,
                     ": do without --no_shared_log; nothing was changed"));
  }
  if (!data.shared_log.empty() || !data.empty_shared_log.empty()) return absl::OkStatus();
  for (const ServerReplica& replica : data.replicas)
    if (replica.valid_start_in_shared_log != 0)
      return absl::FailedPreconditionError(absl::StrCat(
          "no shared log was found, but ", replica.pid.ToString(),
          " has init_offset_in_shared_log ", replica.valid_start_in_shared_log,
          ": name the shared log's folder as well (slog_dir of the older version, as a "
          "rule <slog_dir>/replica/slog), or say --no_shared_log if its files are "
          "gone; nothing was changed"));
  return absl::OkStatus();
}

}  // namespace

absl::Status PrepareRollback(FileSystem& files, const ServerData& data, const RollbackOrder& order,
                             std::vector<std::string>* report) {
  const bool is_for_23 = order.target == RollbackTarget::k23;
  if (is_for_23) RETURN_IF_ERROR(CheckSharedLogIsKnown(data, order.shared_log));
  const bool empties = is_for_23 && !data.shared_log.empty();
  if (empties) RETURN_IF_ERROR(CheckNothingIsLacking(files, data, report));
  for (const ServerReplica& replica : data.replicas)
    if (absl::Status prepared = PrepareLog(files, replica, report); !prepared.ok())
      return Annotate(prepared, replica.directory);
  if (!is_for_23) return absl::OkStatus();
  if (empties) {
    ASSIGN_OR_RETURN(const LogFolderNames names, ListLogFolder(files, data.shared_log));
    std::vector<std::string> logs;
    for (const auto& log : names.logs) logs.push_back(log.file_name);
    size_t done = 0;
    RETURN_IF_ERROR(SetSharedLogFilesAside(files, data.shared_log, logs, &done));
    for (const std::string& log : logs)
      report->push_back(absl::StrCat("shared log: ", log, " renamed to ", log, ".set-aside"));
  }
  // Only now: with files left, a smaller offset would bring void mutations back.
  for (const ServerReplica& replica : data.replicas)
    RETURN_IF_ERROR(ZeroSharedOffset(files, replica, report));
  return absl::OkStatus();
}

}  // namespace arion::logtool
