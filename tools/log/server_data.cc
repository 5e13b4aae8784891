// SPDX-License-Identifier: Apache-2.0
#include "tools/log/server_data.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <optional>

#include "base/status.h"
#include "legacy/shared_log_catalog.h"
#include "legacy/take_over_planner.h"
#include "tools/log/dry_run_files.h"
#include "wal/log_recovery.h"
#include "wal/log_survey.h"

namespace arion::logtool {
namespace {

constexpr int kDepthMax = 6;

absl::StatusOr<int64_t> Offset(const rapidjson::Document& info, const std::string& path,
                               const char* key) {
  const auto found = info.FindMember(key);
  if (found == info.MemberEnd()) return 0;
  if (!found->value.IsInt64())
    return absl::DataLossError(absl::StrCat(path, ": ", key, " is no integer"));
  return found->value.GetInt64();
}

class Search {
 public:
  explicit Search(FileSystem& files) : files_(files) {}

  absl::Status Named(const std::string& path) {
    ASSIGN_OR_RETURN(const bool is_shared_log, IsSharedLog(path));
    if (is_shared_log) shared_logs_.push_back(path);
    return Look(path, 0);
  }

  absl::StatusOr<ServerData> Take() {
    std::sort(data_.replicas.begin(), data_.replicas.end(),
              [](const ServerReplica& a, const ServerReplica& b) { return a.pid < b.pid; });
    for (size_t i = 1; i < data_.replicas.size(); ++i)
      if (data_.replicas[i].pid == data_.replicas[i - 1].pid)
        return absl::FailedPreconditionError(
            absl::StrCat(data_.replicas[i].directory, " and ", data_.replicas[i - 1].directory,
                         " are the same replica: set the older one aside"));
    ASSIGN_OR_RETURN(data_.shared_log, FindSharedLog(files_, shared_logs_));
    if (data_.shared_log.empty() && !shared_logs_.empty())
      data_.empty_shared_log = shared_logs_.front();
    return std::move(data_);
  }

 private:
  absl::Status Look(const std::string& path, int depth) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.List(path));
    if (Exists(files_, JoinPath(path, ".kms-info")))
      return absl::FailedPreconditionError(
          absl::StrCat(path, "/.kms-info: these data are encrypted, which is not supported"));
    for (const std::string& name : names) {
      const std::string inner = JoinPath(path, name);
      ASSIGN_OR_RETURN(const FileStatus status, files_.Stat(inner));
      if (!status.is_directory) continue;
      if (name == "slog") {
        shared_logs_.push_back(inner);
      } else if (const auto pid = ParseReplicaName(name)) {
        if (!IsSetAside(name) && Exists(files_, JoinPath(inner, ".init-info")))
          RETURN_IF_ERROR(Replica(*pid, inner));
      } else if (depth < kDepthMax) {
        RETURN_IF_ERROR(Look(inner, depth + 1));
      }
    }
    return absl::OkStatus();
  }

  static bool IsSetAside(const std::string& name) {
    for (const char* suffix : {".err", ".gar", ".tmp", ".ori", ".bak"})
      if (absl::EndsWith(name, suffix)) return true;
    return false;
  }
  // A folder that was named, whatever its name; emptied ones of another name by what was set aside.
  absl::StatusOr<bool> IsSharedLog(const std::string& path) {
    if (BaseName(path) == "slog") return true;
    if (BaseName(path) == "plog" || Exists(files_, JoinPath(ParentDirectory(path), ".init-info")))
      return false;
    ASSIGN_OR_RETURN(const LogFolderNames names, ListLogFolder(files_, path));
    return !names.logs.empty() ||
           std::any_of(names.strange.begin(), names.strange.end(), [](const std::string& name) {
             return absl::StartsWith(name, "log.") && absl::StrContains(name, ".set-aside");
           });
  }
  absl::Status Replica(PartitionId pid, const std::string& path) {
    ServerReplica replica{.pid = pid, .directory = path};
    if (Exists(files_, JoinPath(path, ".arion-log-home")))
      return absl::FailedPreconditionError(
          absl::StrCat(path,
                       ": its log lies elsewhere (log_placement = home); no older version "
                       "looks there: move it back first"));
    ASSIGN_OR_RETURN(const std::string text, ReadFile(files_, replica.InfoPath()));
    rapidjson::Document info;
    info.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
    if (info.HasParseError() || !info.IsObject())
      return absl::DataLossError(absl::StrCat(replica.InfoPath(), ": not a JSON object"));
    ASSIGN_OR_RETURN(replica.valid_start_in_private_log,
                     Offset(info, replica.InfoPath(), "init_offset_in_private_log"));
    ASSIGN_OR_RETURN(replica.valid_start_in_shared_log,
                     Offset(info, replica.InfoPath(), "init_offset_in_shared_log"));
    replica.checkpoint = NewestCheckpoint(files_, path);
    data_.replicas.push_back(std::move(replica));
    return absl::OkStatus();
  }

  FileSystem& files_;
  ServerData data_;
  std::vector<std::string> shared_logs_;
};

absl::Status ReadPrivateLog(FileSystem& files, const ServerReplica& replica,
                            TakeOverPlanner* planner, Coverage* coverage) {
  const LogPlace place = replica.Log();
  if (!Exists(files, place.directory)) return absl::OkStatus();
  DryRunFiles dry(files, {});
  PrivateLogOptions options;
  options.directory = place.directory;
  options.identity_path = place.IdentityPath();
  options.pid = replica.pid;
  options.applied = replica.checkpoint;
  options.reads_newest_whole = true;
  options.valid_start_offset = replica.valid_start_in_private_log;
  ReplaySummary summary;
  const auto recovered = RecoverLog(
      dry, options,
      [&](const MutationPtr& m) {
        planner->OnPrivate(m->ballot, m->decree, m->last_committed, RecordMark(*m));
        return absl::OkStatus();
      },
      &summary);
  coverage->private_max = summary.max_decree;
  return recovered.status();
}

}  // namespace

LogPlace ServerReplica::Log() const {
  LogPlace place;
  place.directory = JoinPath(directory, "plog");
  place.replica_directory = directory;
  place.pid = pid;
  place.valid_start_offset = valid_start_in_private_log;
  return place;
}

Decree NewestCheckpoint(FileSystem& files, const std::string& directory) {
  Decree newest;
  const auto inside = files.List(JoinPath(directory, "data"));
  for (const std::string& name : inside.value_or(std::vector<std::string>())) {
    int64_t decree = 0;
    if (absl::StartsWith(name, "checkpoint.") && absl::SimpleAtoi(name.substr(11), &decree))
      newest = std::max(newest, Decree(decree));
  }
  return newest;
}

absl::StatusOr<ServerData> FindServerData(FileSystem& files,
                                          const std::vector<std::string>& directories) {
  Search search(files);
  for (const std::string& directory : directories) RETURN_IF_ERROR(search.Named(directory));
  return search.Take();
}

absl::StatusOr<std::map<PartitionId, Coverage>> CoverageOf(
    FileSystem& files, const ServerData& data, std::map<PartitionId, Decree>* elsewhere) {
  std::map<PartitionId, Coverage> all;
  std::map<PartitionId, TakeOverPlanner> planners;
  for (const ServerReplica& replica : data.replicas) {
    TakeOverPlanner& planner =
        planners.emplace(replica.pid, TakeOverPlanner(replica.valid_start_in_shared_log))
            .first->second;
    RETURN_IF_ERROR(ReadPrivateLog(files, replica, &planner, &all[replica.pid]));
  }
  if (!data.shared_log.empty()) {
    ASSIGN_OR_RETURN(SharedLogCatalog catalog, ListSharedLog(files, data.shared_log));
    const SharedLogCatalog listed = catalog;
    SharedLogReader reader(files, std::move(catalog), 0);
    absl::Status foreign;
    const auto take = [&](const MutationView& m) {
      const auto planner = planners.find(m.pid());
      if (planner == planners.end()) {
        Decree& max = (*elsewhere)[m.pid()];
        max = std::max(max, m.decree());
        return;
      }
      Coverage& coverage = all[m.pid()];
      switch (planner->second.OnShared(m.ballot(), m.decree(), m.last_committed(), m.log_offset(),
                                       [&m] { return RecordMark(m.ToMutation()); })) {
        case TakeOverPlanner::Verdict::kForeign:
          foreign.Update(ForeignSharedLog(listed, m.pid(), *planner->second.contradiction()));
          break;
        case TakeOverPlanner::Verdict::kVoid:
          ++coverage.voided;
          break;
        case TakeOverPlanner::Verdict::kKnown:
          ++coverage.known;
          break;
        case TakeOverPlanner::Verdict::kTake:
          if (coverage.taken++ == 0) coverage.first_taken = m.decree();
          coverage.first_taken = std::min(coverage.first_taken, m.decree());
          coverage.last_taken = std::max(coverage.last_taken, m.decree());
          coverage.taken_bytes += m.size();
      }
    };
    for (bool more = true; more;) {
      ASSIGN_OR_RETURN(more, reader.Next(4 << 20, take));
      RETURN_IF_ERROR(foreign);
    }
  }
  for (auto& [pid, planner] : planners) all[pid].ballot = planner.max_ballot();
  return all;
}

absl::Status PrintWho(FileSystem& files, const std::string& directory, bool json,
                      const Print& print) {
  ASSIGN_OR_RETURN(const LogFolderNames names, ListLogFolder(files, directory));
  if (!json) print(absl::StrCat(directory, "\n"));
  for (const auto& log : names.logs) {
    ASSIGN_OR_RETURN(const SurveyedFile file,
                     SurveyLogFile(files, JoinPath(directory, log.file_name), log.name,
                                   [](const LogBlock&) { return absl::OkStatus(); }));
    for (const auto& [pid, part] : file.partitions) {
      if (json)
        JsonLine(print)
            .Add("file", log.file_name)
            .Add("gpid", pid.ToString())
            .Add("first", part.min_decree.value())
            .Add("last", part.max_decree.value())
            .Add("mutations", part.mutations)
            .Add("bytes", part.bytes)
            .Finish();
      else
        print(absl::StrCat("  ", log.file_name, "  ", pid.ToString(), "  decrees ",
                           part.min_decree.value(), "-", part.max_decree.value(), ", ",
                           part.mutations, " mutations, ", part.bytes, " bytes\n"));
    }
    if (file.end != LogEnd::kEof && !json)
      print(absl::StrCat("  ", log.file_name, "  ends ", Text(LogEndName(file.end)), " ",
                         file.reason, "\n"));
  }
  return absl::OkStatus();
}

void PrintCoverage(const ServerData& data, const std::map<PartitionId, Coverage>& coverage,
                   const std::map<PartitionId, Decree>& elsewhere, bool json, const Print& print) {
  for (const ServerReplica& replica : data.replicas) {
    const Coverage& c = coverage.at(replica.pid);
    if (json) {
      JsonLine(print)
          .Add("gpid", replica.pid.ToString())
          .Add("checkpoint", replica.checkpoint.value())
          .Add("private_max", c.private_max.value())
          .Add("known", c.known)
          .Add("void", c.voided)
          .Add("taken", c.taken)
          .Add("taken_bytes", c.taken_bytes)
          .Add("first", c.first_taken.value())
          .Add("last", c.last_taken.value())
          .Add("ballot", c.ballot.value())
          .Finish();
      continue;
    }
    print(absl::StrCat(replica.pid.ToString(), "  checkpoint ", replica.checkpoint.value(),
                       ", private log to ", c.private_max.value(), "; shared log: ",
                       c.taken == 0 ? std::string("takes nothing")
                                    : absl::StrCat("takes ", c.taken, " mutations (", c.taken_bytes,
                                                   " bytes), decrees ", c.first_taken.value(), "-",
                                                   c.last_taken.value()),
                       ", has ", c.known, ", void ", c.voided, "\n"));
  }
  for (const auto& [pid, max] : elsewhere) {
    if (json)
      JsonLine(print)
          .Add("gpid", pid.ToString())
          .AddTrue("elsewhere")
          .Add("last", max.value())
          .Finish();
    else
      print(absl::StrCat(pid.ToString(), "  not here; the shared log has it to decree ",
                         max.value(),
                         " and is kept until the meta server says that nobody needs it here; are "
                         "all disks mounted?\n"));
  }
}

}  // namespace arion::logtool
