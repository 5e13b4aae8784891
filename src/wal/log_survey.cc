// SPDX-License-Identifier: Apache-2.0
#include "wal/log_survey.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <limits>

#include "base/log.h"
#include "base/status.h"
#include "wal/log_recovery.h"

namespace arion {

void SurveyedPartition::Add(const Mutation& mutation, size_t mutation_bytes) {
  Add(SurveyedPartition{.mutations = 1,
                        .bytes = mutation_bytes,
                        .min_decree = mutation.decree,
                        .max_decree = mutation.decree,
                        .max_last_committed = mutation.last_committed,
                        .max_ballot = mutation.ballot});
}

void SurveyedPartition::Add(const SurveyedPartition& other) {
  if (other.mutations == 0) return;
  // The minima of nothing are not zero.
  if (mutations == 0) {
    *this = other;
    return;
  }
  mutations += other.mutations;
  bytes += other.bytes;
  min_decree = std::min(min_decree, other.min_decree);
  max_decree = std::max(max_decree, other.max_decree);
  max_last_committed = std::max(max_last_committed, other.max_last_committed);
  max_ballot = std::max(max_ballot, other.max_ballot);
  CHECK_LE(min_decree, max_decree) << "counted wrongly";
}

absl::StatusOr<SurveyedFile> SurveyLogFile(FileSystem& files, const std::string& path,
                                           const LogFileName& name, BlockSink on_block) {
  SurveyedFile survey;
  survey.name = name;
  ASSIGN_OR_RETURN(const auto file, files.OpenForRead(path));
  // The size is taken once: what a writer appends meanwhile is left out.
  ASSIGN_OR_RETURN(survey.size, file->Size());
  if (survey.size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max() - name.start_offset))
    return absl::FailedPreconditionError(absl::StrCat(path, ": offsets beyond 2^63-1"));
  LogReader reader(*file, survey.size, name.start_offset);
  LogBlock block;
  while (true) {
    auto more = reader.Next(&block);
    if (!more.ok()) return Annotate(more.status(), path);
    if (!*more) break;
    if (block.header) survey.header = block.header;
    ++survey.blocks;
    for (const MutationPtr& mutation : block.mutations) {
      ++survey.mutations;
      survey.partitions[mutation->pid].Add(*mutation, EncodedSize(*mutation));
    }
    RETURN_IF_ERROR(on_block(block));
  }
  // The reader stands behind the last whole block, also where what follows is damaged.
  survey.content_bytes = reader.position();
  CHECK_LE(survey.content_bytes, survey.size);
  CHECK_EQ(survey.header.has_value(), survey.blocks > 0) << "a first block without a header";
  survey.end = reader.end();
  survey.reason = reader.reason();
  return survey;
}

absl::StatusOr<LogFolderNames> ListLogFolder(FileSystem& files, const std::string& directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(directory));
  LogFolderNames found;
  for (const std::string& name : names) {
    const auto parsed = ParseLogFileName(name);
    if (!parsed.ok()) {
      found.refused.push_back({name, std::string(parsed.status().message())});
      continue;
    }
    // No log's name: it is sorted by what it may be, and never read.
    if (!parsed->has_value()) {
      if (IsSpareName(name))
        found.spares.push_back(name);
      else if (absl::StartsWith(name, "log.") &&
               (absl::StrContains(name, ".tail") || absl::StrContains(name, ".removed")))
        found.kept.push_back(name);
      else
        found.strange.push_back(name);
      continue;
    }
    ASSIGN_OR_RETURN(const FileStatus status, files.Stat(JoinPath(directory, name)));
    if (status.is_directory || status.is_symlink) {
      found.refused.push_back({name, absl::StrCat("a log's name, but a ",
                                                  status.is_symlink ? "symbolic link" : "directory",
                                                  ", not a regular file")});
    } else if (status.size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max() -
                                                   (*parsed)->start_offset)) {
      found.refused.push_back({name, "offsets beyond 2^63-1"});
    } else {
      found.logs.push_back({**parsed, name, status.size});
    }
  }
  std::sort(found.logs.begin(), found.logs.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return found;
}

namespace {

using Verdict = OldRuleReplay::Verdict;

// Gathers what an older version would find, file by file. Only its first verdict counts: there it
// would end.
class OldRule {
 public:
  void End(Verdict verdict, const std::string& file_name, std::string reason) {
    CHECK(verdict != Verdict::kOk) << "nothing ends a sound log";
    if (result_.verdict != Verdict::kOk) return;
    result_.verdict = verdict;
    result_.file_name = file_name;
    result_.reason = std::move(reason);
  }

  // Before any file is read: names, indexes.
  void CheckNames(const LogFolderNames& names) {
    for (const auto& refused : names.refused)
      End(Verdict::kRefused, refused.file_name, refused.why);
    // Sorted by index, so that equal ones are neighbours. Which of the two counts nobody can say.
    for (size_t i = 1; i < names.logs.size(); ++i)
      if (names.logs[i].name.index == names.logs[i - 1].name.index)
        End(Verdict::kHole, names.logs[i].file_name,
            absl::StrCat("same index as ", names.logs[i - 1].file_name));
  }

  void Add(const LogFolderNames::Log& log, const SurveyedFile& survey) {
    CHECK_EQ(survey.name.index, log.name.index) << "another file's survey";
    // An older version sets such a file aside and goes on, unless its bytes are damaged.
    if (!survey.header) {
      result_.without_first_block.push_back(log.file_name);
      if (survey.end == LogEnd::kCorrupt || survey.end == LogEnd::kUnreadable)
        End(Verdict::kDamaged, log.file_name, absl::StrCat("no first block, ", survey.reason));
      return;
    }
    // A file that does not join the one before it is not replayed, and none behind it.
    CheckJoint(log);
    if (result_.verdict != Verdict::kOk) return;
    last_ = log;
    result_.mutations += survey.mutations;
    // Where the next file must start (CheckJoint).
    result_.end_offset = survey.content_end_offset();
    result_.has_torn_tail = survey.end != LogEnd::kEof;
    for (const auto& [pid, partition] : survey.partitions) result_.partitions[pid].Add(partition);
    if (survey.end == LogEnd::kCorrupt || survey.end == LogEnd::kUnreadable)
      End(Verdict::kDamaged, log.file_name,
          absl::StrCat(Text(LogEndName(survey.end)), " ", survey.reason));
  }

  OldRuleReplay Take() { return std::move(result_); }

 private:
  void CheckJoint(const LogFolderNames::Log& log) {
    if (!last_) return;
    if (log.name.index != last_->name.index + 1)
      End(Verdict::kHole, log.file_name,
          absl::StrCat("the file before it is ", last_->file_name, ": a hole"));
    else if (log.name.start_offset != result_.end_offset)
      End(Verdict::kDamaged, log.file_name,
          absl::StrCat("starts at ", log.name.start_offset, ", but the content of ",
                       last_->file_name, " ends at ", result_.end_offset));
  }

  OldRuleReplay result_;
  std::optional<LogFolderNames::Log> last_;
};

}  // namespace

absl::StatusOr<OldRuleReplay> ReplayByOldRule(
    FileSystem& files, const std::string& directory, const LogFolderNames& names,
    absl::FunctionRef<absl::Status(const std::string&, const SurveyedFile&)> on_file,
    absl::FunctionRef<absl::Status(const std::string&, const LogBlock&)> on_block) {
  OldRule rule;
  rule.CheckNames(names);
  for (const auto& log : names.logs) {
    const auto sink = [&](const LogBlock& block) { return on_block(log.file_name, block); };
    ASSIGN_OR_RETURN(const SurveyedFile survey,
                     SurveyLogFile(files, JoinPath(directory, log.file_name), log.name, sink));
    rule.Add(log, survey);
    RETURN_IF_ERROR(on_file(log.file_name, survey));
  }
  return rule.Take();
}

}  // namespace arion
