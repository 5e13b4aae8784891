// SPDX-License-Identifier: Apache-2.0
#include "tools/log/verdict.h"

#include <algorithm>

#include "base/status.h"
#include "tools/log/update_text.h"
#include "wal/log_recovery.h"

namespace arion::logtool {
namespace {

Judgement JudgementOf(const absl::Status& status) {
  if (status.ok()) return Judgement::kOk;
  if (absl::IsDataLoss(status)) return Judgement::kDamaged;
  if (absl::IsFailedPrecondition(status)) return Judgement::kRefused;
  return Judgement::kUnreadable;
}

absl::StatusOr<OldRuleReplay> SurveyAll(DryRunFiles& files, const LogPlace& place) {
  ASSIGN_OR_RETURN(const LogFolderNames names, ListLogFolder(files, place.directory));
  return ReplayByOldRule(
      files, place.directory, names,
      [](const std::string&, const SurveyedFile&) { return absl::OkStatus(); },
      [](const std::string&, const LogBlock&) { return absl::OkStatus(); });
}

void TakeReadable(const OldRuleReplay& replay, Verdict* verdict) {
  verdict->readable = {};
  for (const auto& [pid, partition] : replay.partitions) verdict->readable.Add(partition);
  verdict->end_offset = replay.end_offset;
}

class PrivateJudge {
 public:
  PrivateJudge(DryRunFiles& files, const LogPlace& place, Verdict* verdict)
      : files_(files), place_(place), verdict_(*verdict) {}

  void Run(Decree applied) {
    PrivateLogOptions options;
    options.directory = place_.directory;
    options.identity_path = place_.IdentityPath();
    options.pid = place_.pid.value_or(PartitionId{});
    options.applied = applied;
    // Also after a clean stop: a judgement must see damage in the part that a start would skip.
    options.reads_newest_whole = true;
    options.valid_start_offset = place_.valid_start_offset;
    verdict_.pid = options.pid;
    ReplaySummary summary;
    const auto recovered = RecoverLog(
        files_, options, [this](MutationPtr mutation) { return Take(*mutation); }, &summary);
    if (place_.only_file.empty()) verdict_.lost = summary.lost;
    verdict_.judgement = JudgementOf(recovered.status());
    verdict_.reason = std::string(recovered.status().message());
    if (recovered.ok())
      JudgeChanges(summary);
    else
      SayWhatIsReadable();
  }

 private:
  absl::Status Take(const Mutation& mutation) {
    if (verdict_.readable.mutations > 0 && verdict_.hole.empty() &&
        mutation.decree.value() > verdict_.readable.max_decree.value() + 1)
      verdict_.hole = absl::StrCat("after decree ", verdict_.readable.max_decree.value(), " comes ",
                                   mutation.decree.value());
    const size_t bytes = EncodedSize(mutation);
    verdict_.readable.Add(mutation, bytes);
    verdict_.end_offset = mutation.log_offset + static_cast<int64_t>(bytes);
    return absl::OkStatus();
  }

  void JudgeChanges(const ReplaySummary& summary) {
    const std::vector<DryRunFiles::Change> changes = files_.Changes();
    const bool sets_aside = std::any_of(changes.begin(), changes.end(), [](const auto& change) {
      return change.kind == DryRunFiles::Change::Kind::kRename;
    });
    if (!summary.cut_tail && !sets_aside) return;
    verdict_.judgement = Judgement::kTornTail;
    verdict_.reason = summary.cut_tail
                          ? "what a crash left at the end is cut at the next start"
                          : "a file without a first block is set aside at the next start";
  }

  // Recovery may have ended before it read anything.
  void SayWhatIsReadable() {
    const absl::StatusOr<OldRuleReplay> replay = SurveyAll(files_, place_);
    if (replay.ok()) TakeReadable(*replay, &verdict_);
  }

  DryRunFiles& files_;
  const LogPlace& place_;
  Verdict& verdict_;
};

void JudgeShared(DryRunFiles& files, const LogPlace& place, Verdict* verdict) {
  const absl::StatusOr<OldRuleReplay> replay = SurveyAll(files, place);
  verdict->judgement = JudgementOf(replay.status());
  verdict->reason = std::string(replay.status().message());
  if (!replay.ok()) return;
  TakeReadable(*replay, verdict);
  switch (replay->verdict) {
    case OldRuleReplay::Verdict::kOk:
      if (!replay->has_torn_tail && replay->without_first_block.empty()) return;
      verdict->judgement = Judgement::kTornTail;
      verdict->reason = "the end is torn, or a file has no first block: what a crash leaves";
      return;
    case OldRuleReplay::Verdict::kDamaged:
    case OldRuleReplay::Verdict::kHole:
      verdict->judgement = Judgement::kDamaged;
      break;
    case OldRuleReplay::Verdict::kRefused:
      verdict->judgement = Judgement::kRefused;
      break;
  }
  verdict->reason =
      absl::StrCat(JoinPath(place.directory, replay->file_name), ": ", replay->reason);
}

}  // namespace

std::string_view JudgementName(Judgement judgement) {
  switch (judgement) {
    case Judgement::kOk:
      return "OK";
    case Judgement::kTornTail:
      return "TORN TAIL";
    case Judgement::kDamaged:
      return "DAMAGED";
    case Judgement::kRefused:
      return "REFUSED";
    case Judgement::kUnreadable:
      return "UNREADABLE";
  }
  return "?";
}

Verdict Judge(FileSystem& files, const LogPlace& place, const JudgeOptions& options) {
  Verdict verdict;
  DryRunFiles::Options dry_run;
  dry_run.on_read = options.on_read;
  if (!place.only_file.empty()) {
    dry_run.filtered_directory = place.directory;
    // A file that was named alone is judged as if it were the whole log.
    dry_run.shows = [&](const std::string& name) { return name == place.only_file; };
  }
  DryRunFiles dry(files, std::move(dry_run));
  if (const auto names = ListLogFolder(dry, place.directory); names.ok()) {
    verdict.files = static_cast<int64_t>(names->logs.size());
    for (const auto& log : names->logs) verdict.bytes += log.size;
    for (const std::string& name : names->kept)
      verdict.ignored.push_back(name + ": set aside earlier");
    for (const std::string& name : names->strange)
      verdict.ignored.push_back(EscapeBytes(name) + ": no log's name");
  }
  if (place.kind == LogKind::kPrivate)
    PrivateJudge(dry, place, &verdict).Run(options.applied);
  else
    JudgeShared(dry, place, &verdict);
  verdict.at_start = dry.Changes();
  return verdict;
}

}  // namespace arion::logtool
