// SPDX-License-Identifier: Apache-2.0
#include "tools/log/repair.h"

#include <algorithm>
#include <optional>

#include "base/status.h"
#include "tools/log/dry_run_files.h"
#include "tools/log/update_text.h"
#include "wal/log_identity.h"
#include "wal/log_reader.h"
#include "wal/log_survey.h"
#include "wal/set_aside.h"

namespace arion::logtool {
namespace {

using Step = RepairPlan::Step;

struct File {
  LogFolderNames::Log log;
  SurveyedFile survey;
  bool is_ours = false;
};

bool Joins(const File& before, const File& after) {
  return after.survey.header && after.log.name.index == before.log.name.index + 1 &&
         after.log.name.start_offset == before.survey.content_end_offset();
}

// How many files from `first` on join; the last of them may have to be cut behind its content.
size_t CountJoined(const std::vector<File>& files, size_t first) {
  size_t n = 0;
  for (size_t i = first; i < files.size(); ++i, ++n) {
    if (!files[i].survey.header) break;
    if (i > first && !Joins(files[i - 1], files[i])) break;
  }
  return n;
}

std::string HoldsText(const SurveyedFile& survey) {
  if (!survey.header) return absl::StrCat("no first block: ", survey.reason);
  const std::string decrees = survey.mutations == 0
                                  ? "no mutation"
                                  : absl::StrCat("decrees ", DecreeText(survey.partitions));
  return survey.end == LogEnd::kEof ? decrees
                                    : absl::StrCat(decrees, ", then damage ", survey.reason);
}

absl::Status Rename(FileSystem& files, const Step& step) {
  RETURN_IF_ERROR(files.Rename(step.path, step.to));
  // Each step is durable before the next: it may end anywhere (Promises).
  return files.SyncDirectory(ParentDirectory(step.path));
}

absl::Status Cut(FileSystem& files, const Step& step) {
  if (!step.to.empty()) RETURN_IF_ERROR(SaveTail(files, step.path, step.size, step.saved_end));
  ASSIGN_OR_RETURN(auto file, files.OpenForWrite(step.path, FileSystem::CreateMode::kOpenExisting));
  RETURN_IF_ERROR(file->Truncate(step.size));
  RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

class Planner {
 public:
  Planner(FileSystem& files, const LogPlace& place, const JudgeOptions& options)
      : files_(files), place_(place), options_(options) {}

  absl::StatusOr<RepairPlan> Run() {
    // How it goes about it: recovery judges the log as it is; a plan keeps the longest part that
    // joins; recovery judges the plan in a dry run; if it still refuses, the plan keeps one file
    // less.
    plan_.before = plan_.after = Judge(files_, place_, options_);
    if (!NeedsRepair(plan_.before)) return std::move(plan_);
    RETURN_IF_ERROR(CheckItMay());
    RETURN_IF_ERROR(PlanIdentity());
    RETURN_IF_ERROR(Survey());
    // What the walk over the files keeps, recovery decides on; should it refuse, one file less.
    for (size_t keep_max = all_.size();; --keep_max) {
      RETURN_IF_ERROR(PlanKeeping(keep_max));
      RETURN_IF_ERROR(JudgePlan());
      if (!NeedsRepair(plan_.after)) return std::move(plan_);
      RETURN_IF_ERROR(CheckItMay());
      if (keep_max == 0)
        return absl::InternalError(
            absl::StrCat(place_.Label(), ": no plan helps: ", plan_.after.reason));
    }
  }

 private:
  static bool NeedsRepair(const Verdict& verdict) {
    return verdict.judgement != Judgement::kOk && verdict.judgement != Judgement::kTornTail;
  }

  absl::Status CheckItMay() const {
    if (plan_.after.judgement == Judgement::kDamaged) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(plan_.after.reason, "; repair moves nothing here, do it by hand"));
  }

  absl::Status PlanIdentity() {
    const std::string path = place_.IdentityPath();
    const absl::StatusOr<LogIdentity> identity = ReadLogIdentity(files_, path);
    if (identity.ok()) {
      identity_ = *identity;
      return absl::OkStatus();
    }
    if (!absl::IsDataLoss(identity.status())) return identity.status();
    ASSIGN_OR_RETURN(const std::string removed, FreeName(files_, path + ".removed"));
    identity_step_ = Step{.kind = Step::Kind::kRename,
                          .path = path,
                          .to = removed,
                          .holds = "which files Arion wrote; all count as an older version's now"};
    return absl::OkStatus();
  }

  // A copied folder's files are ours, as recovery says.
  absl::Status FindOwn(const LogFolderNames& names) {
    ASSIGN_OR_RETURN(const FileStatus folder, files_.Stat(place_.directory));
    std::vector<LogIdentity::Log> logs;
    for (const auto& log : names.logs) {
      ASSIGN_OR_RETURN(const FileStatus status,
                       files_.Stat(JoinPath(place_.directory, log.file_name)));
      logs.push_back({status, log.name.index});
    }
    identity_.SetFolder(folder, logs);
    return absl::OkStatus();
  }

  absl::Status Survey() {
    ASSIGN_OR_RETURN(const LogFolderNames names, ListLogFolder(files_, place_.directory));
    RETURN_IF_ERROR(FindOwn(names));
    for (const auto& log : names.logs) {
      File file{.log = log};
      ASSIGN_OR_RETURN(file.survey,
                       SurveyLogFile(files_, JoinPath(place_.directory, log.file_name), log.name,
                                     [](const LogBlock&) { return absl::OkStatus(); }));
      ASSIGN_OR_RETURN(const FileStatus status,
                       files_.Stat(JoinPath(place_.directory, log.file_name)));
      file.is_ours = identity_.Find(status).has_value();
      // Of two files with one index the one that joins what is before counts.
      if (!all_.empty() && all_.back().log.name.index == log.name.index) {
        const bool joins = all_.size() > 1 && Joins(all_[all_.size() - 2], file);
        if (joins) std::swap(all_.back(), file);
        doubles_.push_back(std::move(file));
        continue;
      }
      all_.push_back(std::move(file));
    }
    return absl::OkStatus();
  }

  // The steps that keep at most `keep_max` files.
  absl::Status PlanKeeping(size_t keep_max) {
    plan_.steps.clear();
    if (identity_step_) plan_.steps.push_back(*identity_step_);
    for (const File& file : doubles_) RETURN_IF_ERROR(SetAside(file));
    const size_t first = ChooseFirst();
    const size_t kept = std::min(CountJoined(all_, first), keep_max);
    for (size_t i = 0; i < first; ++i) RETURN_IF_ERROR(SetAside(all_[i]));
    // Newest first: what remains is always a log without a hole.
    for (size_t i = all_.size(); i > first + kept; --i) RETURN_IF_ERROR(SetAside(all_[i - 1]));
    for (size_t i = first; i < first + kept; ++i)
      if (NeedsCut(all_[i])) RETURN_IF_ERROR(PlanCut(all_[i]));
    return absl::OkStatus();
  }

  // 0, or the first of the newest files that join to the end and hold everything the engine lacks.
  size_t ChooseFirst() const {
    if (CountJoined(all_, 0) == all_.size()) return 0;
    for (size_t i = 1; i < all_.size(); ++i) {
      if (CountJoined(all_, i) != all_.size() - i) continue;
      const LogFileHeader::Entry* entry =
          all_[i].survey.header->Find(place_.pid.value_or(PartitionId{}));
      if (entry != nullptr && entry->max_decree <= options_.applied) return i;
    }
    return 0;
  }

  // In an older version's file a torn end is legal, and stays: the next one starts where its
  // content ends.
  static bool NeedsCut(const File& file) {
    return file.survey.end == LogEnd::kCorrupt || file.survey.end == LogEnd::kUnreadable ||
           (file.survey.end == LogEnd::kTruncated && file.is_ours);
  }

  absl::Status SetAside(const File& file) {
    const std::string path = JoinPath(place_.directory, file.log.file_name);
    ASSIGN_OR_RETURN(const std::string removed, FreeName(files_, path + ".removed"));
    plan_.steps.push_back({.kind = Step::Kind::kRename,
                           .path = path,
                           .to = removed,
                           .holds = HoldsText(file.survey)});
    return absl::OkStatus();
  }

  absl::Status PlanCut(const File& file) {
    Step step{.kind = Step::Kind::kCut,
              .path = JoinPath(place_.directory, file.log.file_name),
              .size = file.survey.content_bytes,
              .holds = file.survey.reason};
    ASSIGN_OR_RETURN(const auto bytes, files_.OpenForRead(step.path));
    // A file of ours may have been another log before: what is left of that is not kept.
    ASSIGN_OR_RETURN(step.saved_end, file.is_ours && place_.pid
                                         ? EndOfTornBytes(*bytes, step.size, file.log.size,
                                                          file.log.name.start_offset, *place_.pid)
                                         : EndOfNonZeroBytes(*bytes, step.size, file.log.size));
    if (step.saved_end > step.size) {
      if (!file.is_ours) step.saved_end = file.log.size;  // none of it was written ahead
      ASSIGN_OR_RETURN(const TailPlace place,
                       FindTailPlace(files_, step.path, step.size, step.saved_end));
      step.to = place.path;
    }
    plan_.steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  absl::Status JudgePlan() {
    DryRunFiles planned(files_, {});
    for (const Step& step : plan_.steps) {
      if (step.kind == Step::Kind::kRename) {
        RETURN_IF_ERROR(planned.Rename(step.path, step.to));
        continue;
      }
      ASSIGN_OR_RETURN(auto file,
                       planned.OpenForWrite(step.path, FileSystem::CreateMode::kOpenExisting));
      RETURN_IF_ERROR(file->Truncate(step.size));
    }
    plan_.after = Judge(planned, place_, options_);
    return absl::OkStatus();
  }

  FileSystem& files_;
  const LogPlace& place_;
  const JudgeOptions& options_;
  LogIdentity identity_;
  std::vector<File> all_;      // by index
  std::vector<File> doubles_;  // others with an index that is taken
  std::optional<Step> identity_step_;
  RepairPlan plan_;
};

}  // namespace

absl::StatusOr<RepairPlan> PlanRepair(FileSystem& files, const LogPlace& place,
                                      const JudgeOptions& options) {
  if (place.kind == LogKind::kShared)
    return absl::InvalidArgumentError(absl::StrCat(
        place.Label(), " is a shared log: it belongs to all of its replicas and is not repaired"));
  if (!place.only_file.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(place.Label(), ": a log is repaired as a whole, name its directory"));
  return Planner(files, place, options).Run();
}

absl::Status CarryOut(FileSystem& files, const RepairPlan& plan) {
  for (const Step& step : plan.steps)
    RETURN_IF_ERROR(step.kind == Step::Kind::kRename ? Rename(files, step) : Cut(files, step));
  return absl::OkStatus();
}

}  // namespace arion::logtool
