// SPDX-License-Identifier: Apache-2.0
#include "tools/log/log_stat.h"

#include <algorithm>
#include <bit>

#include "base/status.h"
#include "tools/log/progress.h"
#include "tools/log/update_text.h"

namespace arion::logtool {
namespace {

constexpr size_t kPartitionsShownMax = 1000;

std::string Amount(uint64_t bytes) { return BytesText(static_cast<double>(bytes)); }

// Per partition: where its valid records begin, as the newest file that says it says.
using ValidStarts = std::map<PartitionId, int64_t>;

absl::StatusOr<ValidStarts> ReadValidStarts(FileSystem& files, const LogPlace& place,
                                            const LogFolderNames& names) {
  ValidStarts starts;
  for (const auto& log : names.logs) {
    ASSIGN_OR_RETURN(const auto file, files.OpenForRead(JoinPath(place.directory, log.file_name)));
    LogReader reader(*file, log.size, log.name.start_offset);
    LogBlock block;
    ASSIGN_OR_RETURN(const bool has_first, reader.Next(&block));
    if (!has_first) continue;
    for (const auto& entry : block.header->entries) starts[entry.pid] = entry.valid_start_offset;
  }
  if (place.pid && place.kind == LogKind::kPrivate)
    // .init-info may be newer than the newest file's header.
    starts[*place.pid] = std::max(starts[*place.pid], place.valid_start_offset);
  return starts;
}

void AddBlock(const LogBlock& block, const ValidStarts& valid_starts, LogStat* stat) {
  if (!block.header) {
    ++stat->blocks;
    ++stat->block_sizes[std::min<size_t>(std::bit_width(block.size) - 1,
                                         LogStat::kSizeClasses - 1)];
  }
  for (const MutationPtr& mutation : block.mutations) {
    ++stat->mutations;
    const auto valid_start = valid_starts.find(mutation->pid);
    if (valid_start != valid_starts.end() && mutation->log_offset < valid_start->second)
      stat->void_bytes += EncodedSize(*mutation);
    for (const Update& update : mutation->updates) {
      ++stat->updates;
      LogStat::Code& code = stat->codes[static_cast<size_t>(update.code)];
      ++code.updates;
      code.bytes += update.data.size();
    }
  }
}

absl::StatusOr<uint64_t> SizeOfAll(FileSystem& files, const std::string& directory,
                                   const std::vector<std::string>& names) {
  uint64_t bytes = 0;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const FileStatus status, files.Stat(JoinPath(directory, name)));
    bytes += status.size;
  }
  return bytes;
}

}  // namespace

void LogStat::Add(const LogStat& other) {
  for (auto count : {&LogStat::logs, &LogStat::files, &LogStat::blocks, &LogStat::mutations,
                     &LogStat::updates, &LogStat::damaged_files})
    this->*count += other.*count;
  for (auto size : {&LogStat::bytes, &LogStat::content_bytes, &LogStat::void_bytes,
                    &LogStat::set_aside_bytes, &LogStat::spare_bytes})
    this->*size += other.*size;
  for (size_t i = 0; i < kSizeClasses; ++i) block_sizes[i] += other.block_sizes[i];
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i].updates += other.codes[i].updates;
    codes[i].bytes += other.codes[i].bytes;
  }
  for (const auto& [pid, partition] : other.partitions) partitions[pid].Add(partition);
}

absl::StatusOr<LogStat> StatLog(FileSystem& files, const LogPlace& place) {
  LogStat stat;
  stat.logs = 1;
  ASSIGN_OR_RETURN(LogFolderNames names, ListLogFolder(files, place.directory));
  ASSIGN_OR_RETURN(const ValidStarts valid_starts, ReadValidStarts(files, place, names));
  if (!place.only_file.empty()) {
    std::erase_if(names.logs, [&](const auto& log) { return log.file_name != place.only_file; });
  } else {
    ASSIGN_OR_RETURN(stat.set_aside_bytes, SizeOfAll(files, place.directory, names.kept));
    ASSIGN_OR_RETURN(stat.spare_bytes, SizeOfAll(files, place.directory, names.spares));
  }
  for (const auto& log : names.logs) {
    ASSIGN_OR_RETURN(const SurveyedFile survey,
                     SurveyLogFile(files, JoinPath(place.directory, log.file_name), log.name,
                                   [&](const LogBlock& block) {
                                     AddBlock(block, valid_starts, &stat);
                                     return absl::OkStatus();
                                   }));
    ++stat.files;
    stat.bytes += survey.size;
    stat.content_bytes += survey.content_bytes;
    if (survey.end == LogEnd::kCorrupt || survey.end == LogEnd::kUnreadable) ++stat.damaged_files;
    for (const auto& [pid, partition] : survey.partitions) stat.partitions[pid].Add(partition);
  }
  return stat;
}

std::string StatText(const LogStat& stat) {
  std::string text = absl::StrCat("  ", stat.files, " files, ", Amount(stat.bytes), ", of it ",
                                  Amount(stat.content_bytes), " content");
  if (stat.void_bytes > 0)
    absl::StrAppend(&text, ", ", Amount(stat.void_bytes), " below the valid start");
  if (stat.spare_bytes > 0) absl::StrAppend(&text, "; spares ", Amount(stat.spare_bytes));
  if (stat.set_aside_bytes > 0)
    absl::StrAppend(&text, "; set aside ", Amount(stat.set_aside_bytes));
  if (stat.damaged_files > 0)
    absl::StrAppend(&text, "; ", stat.damaged_files, " files do not end clean (see verify)");
  absl::StrAppend(&text, "\n  ", stat.mutations, " mutations in ", stat.blocks, " blocks");
  if (stat.blocks > 0)
    absl::StrAppendFormat(&text, " (%.2f each)",
                          static_cast<double>(stat.mutations) / static_cast<double>(stat.blocks));
  absl::StrAppend(&text, ", ", stat.updates, " updates\n");
  std::vector<std::vector<std::string>> rows = {
      {"PARTITION", "MUTATIONS", "BYTES", "DECREES", "COMMITTED", "BALLOT"}};
  for (const auto& [pid, partition] : stat.partitions) {
    if (rows.size() > kPartitionsShownMax) break;
    rows.push_back({pid.ToString(), absl::StrCat(partition.mutations), Amount(partition.bytes),
                    absl::StrCat(partition.min_decree.value(), "-", partition.max_decree.value()),
                    absl::StrCat(partition.max_last_committed.value()),
                    absl::StrCat(partition.max_ballot.value())});
  }
  if (rows.size() > 1) text += TableText(rows);
  if (stat.partitions.size() > kPartitionsShownMax)
    absl::StrAppend(&text, "  of ", stat.partitions.size(), " partitions; -j shows all\n");
  rows = {{"CODE", "UPDATES", "BYTES"}};
  for (size_t i = 0; i < stat.codes.size(); ++i)
    if (stat.codes[i].updates > 0)
      rows.push_back({std::string(WriteCodeName(static_cast<WriteCode>(i))),
                      absl::StrCat(stat.codes[i].updates), Amount(stat.codes[i].bytes)});
  if (rows.size() > 1) text += TableText(rows);
  rows = {{"BYTES BELOW", "BLOCKS", ""}};
  const int64_t largest = *std::max_element(stat.block_sizes.begin(), stat.block_sizes.end());
  for (size_t i = 0; i < LogStat::kSizeClasses; ++i)
    if (stat.block_sizes[i] > 0)
      rows.push_back(
          {absl::StrCat(uint64_t{2} << i), absl::StrCat(stat.block_sizes[i]),
           std::string(static_cast<size_t>((stat.block_sizes[i] * 40 + largest - 1) / largest),
                       '#')});
  if (rows.size() > 1) text += TableText(rows);
  return text;
}

void PrintStatJson(const std::string& key, const std::string& name, const LogStat& stat,
                   const Print& print) {
  JsonLine line(print);
  line.Add(key, name)
      .Add("logs", stat.logs)
      .Add("files", stat.files)
      .Add("bytes", stat.bytes)
      .Add("content_bytes", stat.content_bytes)
      .Add("void_bytes", stat.void_bytes)
      .Add("spare_bytes", stat.spare_bytes)
      .Add("set_aside_bytes", stat.set_aside_bytes)
      .Add("damaged_files", stat.damaged_files)
      .Add("blocks", stat.blocks)
      .Add("mutations", stat.mutations)
      .Add("updates", stat.updates)
      .BeginList("partitions");
  for (const auto& [pid, partition] : stat.partitions)
    line.BeginItem()
        .Add("gpid", pid.ToString())
        .Add("mutations", partition.mutations)
        .Add("bytes", partition.bytes)
        .Add("min_decree", partition.min_decree.value())
        .Add("max_decree", partition.max_decree.value())
        .Add("max_last_committed", partition.max_last_committed.value())
        .Add("max_ballot", partition.max_ballot.value())
        .EndItem();
  line.EndList().BeginList("codes");
  for (size_t i = 0; i < stat.codes.size(); ++i)
    if (stat.codes[i].updates > 0)
      line.BeginItem()
          .Add("code", WriteCodeName(static_cast<WriteCode>(i)))
          .Add("updates", stat.codes[i].updates)
          .Add("bytes", stat.codes[i].bytes)
          .EndItem();
  line.EndList().BeginList("block_sizes");
  for (size_t i = 0; i < LogStat::kSizeClasses; ++i)
    if (stat.block_sizes[i] > 0)
      line.BeginItem().Add("below", uint64_t{2} << i).Add("blocks", stat.block_sizes[i]).EndItem();
  line.EndList();
  line.Finish();
}

}  // namespace arion::logtool
