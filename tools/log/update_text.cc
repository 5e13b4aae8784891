// SPDX-License-Identifier: Apache-2.0
#include "tools/log/update_text.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>

#include "base/status.h"
#include "tools/log/payload_keys.h"

namespace arion::logtool {
namespace {

constexpr size_t kKeysShownMax = 16;
constexpr size_t kUpdatesShownMax = 64;

bool IsNumber(const std::string& cell) {
  return !cell.empty() && std::all_of(cell.begin(), cell.end(),
                                      [](char c) { return (c >= '0' && c <= '9') || c == '-'; });
}

// PUT for RPC_RRDB_RRDB_PUT
std::string_view ShortName(WriteCode code) {
  std::string_view name = WriteCodeName(code);
  for (const std::string_view prefix : {"RPC_RRDB_RRDB_", "RPC_REPLICATION_"})
    if (name.substr(0, prefix.size()) == prefix) return name.substr(prefix.size());
  return name;
}

}  // namespace

std::string EscapeBytes(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else if (c >= ' ' && c <= '~')
      out += c;
    else
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<uint8_t>(c));
  }
  return out;
}

std::string KeysText(const Update& update) {
  const auto keys = PayloadKeys(update.code, update.data, kKeysShownMax);
  if (!keys.ok()) return absl::StrCat("? ", keys.status().message());
  std::string text;
  for (const KeyParts& key : keys->first)
    absl::StrAppend(&text, text.empty() ? "" : ", ", EscapeBytes(key.hash_key), " : ",
                    EscapeBytes(key.sort_key));
  if (keys->count > keys->first.size())
    absl::StrAppend(&text, ", and ", keys->count - keys->first.size(), " more");
  return text;
}

std::string MutationText(const Mutation& mutation, KeyForm keys) {
  std::string text =
      absl::StrCat("  ", mutation.pid.ToString(), "  decree ", mutation.decree.value(), "  ballot ",
                   mutation.ballot.value(), "  committed ", mutation.last_committed.value(),
                   "  time ", mutation.timestamp_us, "  at ", mutation.log_offset, "  ");
  const size_t shown = std::min(mutation.updates.size(), kUpdatesShownMax);
  for (size_t i = 0; i < shown; ++i) {
    const Update& update = mutation.updates[i];
    absl::StrAppend(&text, i == 0 ? "" : ", ", Text(ShortName(update.code)), "(",
                    update.data.size(), ")");
    if (keys == KeyForm::kHidden) continue;
    const std::string named = KeysText(update);
    if (!named.empty()) absl::StrAppend(&text, " [", named, "]");
  }
  if (shown < mutation.updates.size())
    absl::StrAppend(&text, ", and ", mutation.updates.size() - shown, " more");
  return text + "\n";
}

std::string HeaderText(const SurveyedFile& survey) {
  if (!survey.header) return "none";
  std::string text;
  for (const LogFileHeader::Entry& entry : survey.header->entries) {
    if (text.size() > 60) {
      absl::StrAppend(&text, " and ", survey.header->entries.size(), " in all");
      break;
    }
    absl::StrAppend(&text, text.empty() ? "" : " ", entry.pid.ToString(),
                    ":<=", entry.max_decree.value());
    if (entry.valid_start_offset != 0) absl::StrAppend(&text, "@", entry.valid_start_offset);
  }
  return text.empty() ? "no entry" : text;
}

std::string DecreeText(const std::map<PartitionId, SurveyedPartition>& partitions) {
  if (partitions.empty()) return "-";
  std::string text;
  for (const auto& [pid, partition] : partitions) {
    if (text.size() > 60) {
      absl::StrAppend(&text, " and ", partitions.size(), " partitions in all");
      break;
    }
    absl::StrAppend(&text, text.empty() ? "" : " ");
    if (partitions.size() > 1) absl::StrAppend(&text, pid.ToString(), ":");
    absl::StrAppend(&text, partition.min_decree.value(), "-", partition.max_decree.value());
  }
  return text;
}

std::string TableText(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - row[i].size(), ' ');
      absl::StrAppend(&line, " ", IsNumber(row[i]) ? pad + row[i] : row[i] + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

}  // namespace arion::logtool
