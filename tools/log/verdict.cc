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

void JudgePrivate(DryRunFiles& files, const LogPlace& place, Decree applied, Verdict* verdict) {
  PrivateLogOptions options;
  options.directory = place.directory;
  options.identity_path = place.IdentityPath();
  options.pid = place.pid.value_or(PartitionId{});
  options.applied = applied;
  options.valid_start_offset = place.valid_start_offset;
  verdict->pid = options.pid;
  ReplaySummary summary;
  const auto recovered = RecoverLog(
      files, options,
      [&](MutationPtr mutation) {
        verdict->readable.Add(*mutation, EncodedSize(*mutation));
        return absl::OkStatus();
      },
      &summary);
  verdict->was_clean = summary.was_clean;
  verdict->judgement = JudgementOf(recovered.status());
  verdict->reason = std::string(recovered.status().message());
  if (!recovered.ok()) return;
  const std::vector<DryRunFiles::Change> changes = files.Changes();
  const bool sets_aside = std::any_of(changes.begin(), changes.end(), [](const auto& change) {
    return change.kind == DryRunFiles::Change::Kind::kRename;
  });
  if (!summary.cut_tail && !sets_aside) return;
  verdict->judgement = Judgement::kTornTail;
  verdict->reason = summary.cut_tail
                        ? "what a crash left at the end is cut at the next start"
                        : "a file without a first block is set aside at the next start";
}

absl::StatusOr<OldRuleReplay> ReplayShared(DryRunFiles& files, const LogPlace& place) {
  ASSIGN_OR_RETURN(const LogFolderNames names, ListLogFolder(files, place.directory));
  return ReplayByOldRule(
      files, place.directory, names,
      [](const std::string&, const SurveyedFile&) { return absl::OkStatus(); },
      [](const std::string&, const LogBlock&) { return absl::OkStatus(); });
}

void JudgeShared(DryRunFiles& files, const LogPlace& place, Verdict* verdict) {
  const absl::StatusOr<OldRuleReplay> replay = ReplayShared(files, place);
  verdict->judgement = JudgementOf(replay.status());
  verdict->reason = std::string(replay.status().message());
  if (!replay.ok()) return;
  for (const auto& [pid, partition] : replay->partitions) verdict->readable.Add(partition);
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
    JudgePrivate(dry, place, options.applied, &verdict);
  else
    JudgeShared(dry, place, &verdict);
  verdict.at_start = dry.Changes();
  return verdict;
}

}  // namespace arion::logtool
