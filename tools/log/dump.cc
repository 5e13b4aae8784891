// SPDX-License-Identifier: Apache-2.0
#include "tools/log/dump.h"

#include <absl/strings/escaping.h>

#include <algorithm>

#include "base/status.h"
#include "tools/log/sha256.h"
#include "tools/log/unreadable_block.h"
#include "tools/log/update_text.h"
#include "wal/log_survey.h"

namespace arion::logtool {
namespace {

constexpr size_t kHexBytesMax = 256;  // larger payloads are named by their SHA-256 alone

bool IsDamage(LogEnd end) { return end == LogEnd::kCorrupt || end == LogEnd::kUnreadable; }

const char* OldName(LogEnd end) {
  switch (end) {
    case LogEnd::kEof:
      return "ERR_HANDLE_EOF";
    case LogEnd::kTruncated:
      return "ERR_INCOMPLETE_DATA";
    default:
      return "ERR_INVALID_DATA";
  }
}

const char* OldName(OldRuleReplay::Verdict verdict) {
  switch (verdict) {
    case OldRuleReplay::Verdict::kOk:
      return "ERR_OK";
    case OldRuleReplay::Verdict::kDamaged:
      return "ERR_INVALID_DATA";
    default:
      return "ERR_OBJECT_NOT_FOUND";
  }
}

// The partitions of a header, ordered, so that two dumps of the same log are equal.
std::vector<LogFileHeader::Entry> Ordered(const LogFileHeader& header) {
  std::vector<LogFileHeader::Entry> entries = header.entries;
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return entries;
}

class Dumper {
 public:
  Dumper(FileSystem& files, const LogPlace& place, const DumpOptions& options, const Print& print)
      : files_(files), place_(place), options_(options), print_(print) {}

  absl::StatusOr<bool> Run() {
    ASSIGN_OR_RETURN(names_, ListLogFolder(files_, place_.directory));
    if (!place_.only_file.empty()) {
      std::erase_if(names_.logs, [&](const auto& l) { return l.file_name != place_.only_file; });
      // One file was named: the others' trouble is not asked for.
      names_.refused.clear();
    }
    if (options_.form == OutputForm::kText) RETURN_IF_ERROR(PrintFiles());
    ASSIGN_OR_RETURN(const OldRuleReplay replay,
                     ReplayByOldRule(
                         files_, place_.directory, names_,
                         [&](const std::string& file_name, const SurveyedFile& survey) {
                           return OnFile(file_name, survey);
                         },
                         [&](const std::string& file_name, const LogBlock& block) {
                           return OnBlock(file_name, block);
                         }));
    if (place_.only_file.empty() && options_.form == OutputForm::kJson) PrintReplayLine(replay);
    return is_damaged_ || replay.verdict != OldRuleReplay::Verdict::kOk;
  }

 private:
  std::string Shown(const std::string& file_name) const {
    return absl::StrCat(options_.file_prefix, file_name);
  }

  absl::Status PrintFiles() {
    print_(absl::StrCat(place_.Label(), "\n"));
    std::vector<std::vector<std::string>> rows = {{"FILE", "START", "SIZE", "CONTENT END", "HEADER",
                                                   "BLOCKS", "MUTATIONS", "DECREES", "ENDS"}};
    for (const auto& log : names_.logs) {
      ASSIGN_OR_RETURN(const SurveyedFile survey,
                       SurveyLogFile(files_, JoinPath(place_.directory, log.file_name), log.name,
                                     [](const LogBlock&) { return absl::OkStatus(); }));
      rows.push_back({log.file_name, absl::StrCat(log.name.start_offset), absl::StrCat(survey.size),
                      absl::StrCat(survey.content_end_offset()), HeaderText(survey),
                      absl::StrCat(survey.blocks), absl::StrCat(survey.mutations),
                      DecreeText(survey.partitions),
                      survey.end == LogEnd::kEof
                          ? "EOF"
                          : absl::StrCat(Text(LogEndName(survey.end)), " ", survey.reason)});
    }
    print_(TableText(rows));
    return absl::OkStatus();
  }

  absl::Status OnBlock(const std::string& file_name, const LogBlock& block) {
    if (options_.form == OutputForm::kJson && block.header) pending_header_ = block.header;
    if (options_.form == OutputForm::kJson && block.position == 0) PrintFileLine(file_name);
    for (const MutationPtr& mutation : block.mutations) {
      ++mutations_of_file_;
      if (options_.form == OutputForm::kJson)
        PrintMutationLine(file_name, *mutation);
      else
        print_(MutationText(*mutation, options_.keys));
    }
    return absl::OkStatus();
  }

  const LogFolderNames::Log& LogOf(const std::string& file_name) const {
    return *std::find_if(names_.logs.begin(), names_.logs.end(),
                         [&](const auto& log) { return log.file_name == file_name; });
  }

  void PrintFileLine(const std::string& file_name) {
    const LogFolderNames::Log& log = LogOf(file_name);
    const LogFileHeader& header = *pending_header_;
    JsonLine line(print_);
    line.Add("file", Shown(file_name))
        .Add("size", log.size)
        .Add("index", log.name.index)
        .Add("start_offset", log.name.start_offset)
        .Add("end_offset", log.name.start_offset + static_cast<int64_t>(log.size))
        .Add("magic", "deadbeef")
        .Add("version", header.version)
        .Add("header_start_global_offset", header.start_offset)
        .Add("header_size", static_cast<uint64_t>(kFileHeaderBytes +
                                                  kFileHeaderEntryBytes * header.entries.size()))
        .BeginList("previous_log_max_decrees");
    for (const LogFileHeader::Entry& entry : Ordered(header))
      line.BeginItem()
          .Add("gpid", entry.pid.ToString())
          .Add("max_decree", entry.max_decree.value())
          .Add("valid_start_offset", entry.valid_start_offset)
          .EndItem();
    line.EndList();
    line.Finish();
  }

  void PrintMutationLine(const std::string& file_name, const Mutation& mutation) const {
    JsonLine line(print_);
    line.Add("file", Shown(file_name))
        .Add("n", mutations_of_file_)
        .Add("offset", mutation.log_offset)
        .Add("log_length", static_cast<uint64_t>(EncodedSize(mutation)))
        .Add("gpid", mutation.pid.ToString())
        .Add("ballot", mutation.ballot.value())
        .Add("decree", mutation.decree.value())
        .Add("last_committed", mutation.last_committed.value())
        .Add("timestamp", mutation.timestamp_us)
        .BeginList("updates");
    for (const Update& update : mutation.updates) {
      line.BeginItem()
          .Add("code", WriteCodeName(update.code))
          .Add("ser", update.serialization)
          .Add("len", static_cast<uint64_t>(update.data.size()))
          .Add("sha256", Sha256Hex(update.data));
      if (update.data.size() <= kHexBytesMax) line.Add("hex", absl::BytesToHexString(update.data));
      line.EndItem();
    }
    line.EndList();
    line.Finish();
  }

  absl::Status OnFile(const std::string& file_name, const SurveyedFile& survey) {
    is_damaged_ = is_damaged_ || IsDamage(survey.end);
    if (options_.form == OutputForm::kJson) {
      JsonLine line(print_);
      line.Add("file", Shown(file_name));
      if (survey.header)
        line.AddTrue("end")
            .Add("mutations", survey.mutations)
            .Add("replay_end_offset", survey.content_end_offset())
            .Add("replay_error", OldName(survey.end));
      else
        line.Add("size", survey.size).Add("open_error", OldName(survey.end));
      line.Finish();
    } else if (survey.end != LogEnd::kEof) {
      print_(absl::StrCat("  ", file_name, ": ", Text(LogEndName(survey.end)), " ", survey.reason,
                          "\n"));
      if (survey.end == LogEnd::kUnreadable && survey.header)
        RETURN_IF_ERROR(PrintUnreadableBlock(file_name, survey.content_bytes));
    }
    mutations_of_file_ = 0;
    return absl::OkStatus();
  }

  absl::Status PrintUnreadableBlock(const std::string& file_name, uint64_t position) {
    ASSIGN_OR_RETURN(const auto file, files_.OpenForRead(JoinPath(place_.directory, file_name)));
    std::string bytes;
    RETURN_IF_ERROR(file->ReadAt(position, kBlockHeaderBytes, &bytes));
    if (bytes.size() < kBlockHeaderBytes) return absl::OkStatus();
    const int32_t length = LoadBlockHeader(bytes.data()).length;
    // A damaged length must not take all memory.
    if (length <= 0 || static_cast<uint64_t>(length) > LogOf(file_name).size)
      return absl::OkStatus();
    RETURN_IF_ERROR(
        file->ReadAt(position + kBlockHeaderBytes, static_cast<size_t>(length), &bytes));
    print_(UnreadableBlockText(bytes));
    return absl::OkStatus();
  }

  void PrintReplayLine(OldRuleReplay replay) {
    // An old version does not begin to read it.
    if (replay.verdict == OldRuleReplay::Verdict::kHole ||
        replay.verdict == OldRuleReplay::Verdict::kRefused)
      replay = OldRuleReplay{.verdict = replay.verdict};
    JsonLine line(print_);
    line.AddTrue("dir_replay")
        .Add("files", static_cast<uint64_t>(names_.logs.size()))
        .Add("mutations", replay.mutations)
        .Add("end_offset", replay.end_offset)
        .Add("error", OldName(replay.verdict))
        .BeginList("gpids");
    for (const auto& [pid, partition] : replay.partitions)
      line.BeginItem()
          .Add("gpid", pid.ToString())
          .Add("max_decree", partition.max_decree.value())
          .Add("max_last_committed", partition.max_last_committed.value())
          .EndItem();
    line.EndList();
    line.Finish();
  }

  FileSystem& files_;
  const LogPlace& place_;
  const DumpOptions& options_;
  const Print& print_;
  LogFolderNames names_;
  std::optional<LogFileHeader> pending_header_;
  int64_t mutations_of_file_ = 0;
  bool is_damaged_ = false;
};

}  // namespace

absl::StatusOr<bool> Dump(FileSystem& files, const LogPlace& place, const DumpOptions& options,
                          const Print& print) {
  return Dumper(files, place, options, print).Run();
}

}  // namespace arion::logtool
