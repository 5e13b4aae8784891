// SPDX-License-Identifier: Apache-2.0
#include "disks/replica_directory.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "disks/app_info_file.h"
#include "disks/init_info.h"
#include "env/clock.h"
#include "env/file_system.h"

namespace arion {
namespace {

constexpr std::array<std::string_view, 5> kIgnoredSuffixes = {".err", ".gar", ".tmp", ".ori",
                                                              ".bak"};

constexpr char kReplacesName[] = ".arion-replaces";

absl::StatusOr<std::vector<std::string>> LoadReplaced(FileSystem& files, const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(files, JoinPath(path, kReplacesName));
  if (absl::IsNotFound(text.status())) return std::vector<std::string>();
  RETURN_IF_ERROR(text.status());
  return absl::StrSplit(*text, '\n', absl::SkipEmpty());
}

// Decimal digits only, no sign, fits int32 (engine/FORMAT.md 1.2).
std::optional<int32_t> ParseNumber(std::string_view text) {
  int32_t number = 0;
  if (text.empty() ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }) ||
      !absl::SimpleAtoi(Text(text), &number))
    return std::nullopt;
  return number;
}

// For the message about duplicates: what a person needs to see which copy is older.
std::string Described(FileSystem& files, const std::string& path) {
  const absl::StatusOr<InitInfo> info = LoadInitInfo(files, path);
  return info.ok() ? absl::StrCat(path, " (ballot ", info->ballot.value(),
                                  info->is_learner ? ", a learner's)" : ")")
                   : absl::StrCat(path, " (", info.status().message(), ")");
}

}  // namespace

std::optional<ReplicaDirectoryName> ParseReplicaDirectoryName(std::string_view name) {
  // First: such a name looks like a replica's otherwise, its end like a part of the app type.
  for (const std::string_view suffix : kIgnoredSuffixes)
    if (name.ends_with(suffix)) return std::nullopt;
  const size_t first = name.find('.');
  if (first == std::string_view::npos) return std::nullopt;
  const size_t second = name.find('.', first + 1);
  if (second == std::string_view::npos || second + 1 == name.size()) return std::nullopt;
  const auto app_id = ParseNumber(name.substr(0, first));
  const auto index = ParseNumber(name.substr(first + 1, second - first - 1));
  if (!app_id || !index || *app_id < 1) return std::nullopt;
  return ReplicaDirectoryName{{*app_id, *index}, std::string(name.substr(second + 1))};
}

std::string FormatReplicaDirectoryName(PartitionId pid, std::string_view app_type) {
  return absl::StrCat(pid.app_id, ".", pid.index, ".", Text(app_type));
}

absl::StatusOr<std::vector<FoundReplica>> ScanDataDirectory(
    FileSystem& files, const std::string& path, size_t data_directory,
    std::vector<IgnoredDirectory>* ignored) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(path));
  std::vector<FoundReplica> found;
  for (const std::string& name : names) {
    const auto parsed = ParseReplicaDirectoryName(name);
    if (!parsed) continue;
    const std::string directory = JoinPath(path, name);
    const auto status = files.Stat(directory);
    if (absl::IsNotFound(status.status()) || (status.ok() && !status->is_directory)) continue;
    if (IsRefusal(status.status())) return status.status();
    if (!status.ok()) {
      ignored->push_back({directory, std::string(status.status().message())});
      continue;
    }
    absl::StatusOr<AppInfo> app = LoadAppInfo(files, directory);
    if (IsRefusal(app.status())) return app.status();
    if (!app.ok()) {
      ignored->push_back({directory, std::string(app.status().message())});
      continue;
    }
    // Perhaps it was renamed by hand: its content must not serve as another table's.
    if (app->app_type != parsed->app_type || app->app_id != parsed->pid.app_id) {
      ignored->push_back({directory, "its .app-info describes another table"});
      continue;
    }
    // The meta server does not know such a partition.
    if (parsed->pid.index >= app->partition_count) {
      ignored->push_back({directory, "left over from a cancelled split"});
      continue;
    }
    absl::StatusOr<std::vector<std::string>> replaces = LoadReplaced(files, directory);
    if (IsRefusal(replaces.status())) return replaces.status();
    if (!replaces.ok()) {
      ignored->push_back({directory, std::string(replaces.status().message())});
      continue;
    }
    found.push_back(
        {parsed->pid, directory, data_directory, *std::move(app), *std::move(replaces)});
  }
  return found;
}

namespace {

// The order of two copies; the larger one is newer. A former member ranks above a learner, then the
// ballot decides. nullopt: its state can't be read.
using CopyAge = std::optional<std::pair<bool, Ballot>>;
absl::StatusOr<CopyAge> AgeOf(FileSystem& files, const FoundReplica& replica) {
  const absl::StatusOr<InitInfo> info = LoadInitInfo(files, replica.path);
  if (IsRefusal(info.status())) return info.status();
  if (!info.ok()) return CopyAge();
  return CopyAge(std::pair(!info->is_learner, info->ballot));
}

// The one of `copies` that replaces all others. Null: there is none, or they name each other, and a
// person has to decide.
const FoundReplica* ReplacementAmong(absl::Span<const FoundReplica* const> copies) {
  const auto names = [](const FoundReplica& a, const FoundReplica& b) {
    return std::find(a.replaces.begin(), a.replaces.end(), b.path) != a.replaces.end();
  };
  for (const FoundReplica* one : copies)
    if (std::all_of(copies.begin(), copies.end(), [&](const FoundReplica* other) {
          return other == one || (names(*one, *other) && !names(*other, *one));
        }))
      return one;
  return nullptr;
}

}  // namespace

absl::StatusOr<std::vector<FoundReplica>> TakeReplaced(FileSystem& files,
                                                       std::vector<FoundReplica>* found) {
  // First decide for all partitions, then remove: the pointers refer to *found.
  std::map<PartitionId, std::vector<const FoundReplica*>> copies_of;
  for (const FoundReplica& replica : *found) copies_of[replica.pid].push_back(&replica);
  std::set<std::string> leaving;
  for (const auto& [pid, copies] : copies_of) {
    if (copies.size() == 1) continue;
    const FoundReplica* const replacement = ReplacementAmong(copies);
    if (replacement == nullptr) continue;
    const FoundReplica* stays = replacement;
    ASSIGN_OR_RETURN(CopyAge age, AgeOf(files, *stays));
    for (const FoundReplica* copy : copies) {
      // A copy that can't be read ranks below all others.
      ASSIGN_OR_RETURN(const CopyAge its, AgeOf(files, *copy));
      if (its > age) stays = copy, age = its;
    }
    for (const FoundReplica* copy : copies)
      if (copy != stays) leaving.insert(copy->path);
  }
  std::vector<FoundReplica> replaced;
  std::erase_if(*found, [&](FoundReplica& replica) {
    if (!leaving.contains(replica.path)) return false;
    replaced.push_back(std::move(replica));
    return true;
  });
  return replaced;
}

absl::Status NoteReplaced(FileSystem& files, const std::string& temporary,
                          absl::Span<const std::string> replaced) {
  if (replaced.empty()) return absl::OkStatus();
  return WriteFileDurably(files, JoinPath(temporary, kReplacesName), absl::StrJoin(replaced, "\n"));
}

absl::Status ForgetReplaced(FileSystem& files, const std::string& path,
                            const std::string& replaced) {
  ASSIGN_OR_RETURN(std::vector<std::string> left, LoadReplaced(files, path));
  if (std::erase(left, replaced) == 0) return absl::OkStatus();
  // Empty is the same as absent; the file goes, so that a start need not read it.
  if (!left.empty())
    return WriteFileDurably(files, JoinPath(path, kReplacesName), absl::StrJoin(left, "\n"));
  RETURN_IF_ERROR(files.Remove(JoinPath(path, kReplacesName)));
  return files.SyncDirectory(path);
}

absl::Status CheckNoDuplicates(FileSystem& files, absl::Span<const FoundReplica> found) {
  std::map<PartitionId, const FoundReplica*> seen;
  std::vector<std::string> pairs;
  for (const FoundReplica& replica : found) {
    const auto [it, inserted] = seen.emplace(replica.pid, &replica);
    if (!inserted)
      pairs.push_back(absl::StrCat(replica.pid.ToString(), " in ",
                                   Described(files, it->second->path), " and ",
                                   Described(files, replica.path)));
  }
  if (pairs.empty()) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(
      "replicas lie in two directories: ", absl::StrJoin(pairs, "; "),
      ". Of each, rename the older one (the learner's, else the one with the smaller ballot) to "
      "<name>.bak and start again"));
}

std::optional<size_t> ChooseDataDirectory(absl::Span<const DirectoryLoad> loads) {
  std::optional<size_t> best;
  for (size_t i = 0; i < loads.size(); ++i) {
    if (!loads[i].usable) continue;
    const auto rank = [&loads](size_t at) {
      return std::tie(loads[at].is_suspicious, loads[at].replicas_of_table, loads[at].replicas);
    };
    if (!best || rank(i) < rank(*best)) best = i;
  }
  return best;
}

bool IsDamage(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

namespace {

std::string_view SuffixOf(SetAside why) {
  switch (why) {
    case SetAside::kFailed:
      return ".err";
    case SetAside::kGarbage:
    case SetAside::kUnborn:
      return ".gar";
    case SetAside::kDiscarded:
      return ".discarded";
  }
  LOG(FATAL) << "no such reason to set a directory aside";
}

}  // namespace

absl::StatusOr<std::string> SetDirectoryAside(FileSystem& files, const Clock& clock,
                                              const std::string& path, SetAside why) {
  // Microseconds make the name unique and carry the age (garbage_collector.h). What never served is
  // of 1970: it goes at the next look.
  const int64_t micros = AgreedWallMicros(clock) / (why == SetAside::kUnborn ? 1000 : 1);
  const std::string target = absl::StrCat(path, ".", micros, Text(SuffixOf(why)));
  RETURN_IF_ERROR(files.Rename(path, target));
  RETURN_IF_ERROR(files.SyncDirectory(ParentDirectory(path)));
  return target;
}

}  // namespace arion
