// A log file as text: by our reader, by an independent tool, and as the JSON rows beside the
// real fixtures.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "tests/wal/log_world.h"
#include "tests/wal/memory_file.h"
#include "wal/log_reader.h"

namespace arion {

struct ReadFileResult {
  std::vector<LogBlock> blocks;
  LogEnd end = LogEnd::kEof;
  uint64_t position = 0;
  std::string reason;
};
inline ReadFileResult ReadAll(const std::string& bytes, int64_t start) {
  MemoryFile file(bytes);
  LogReader reader(file, bytes.size(), start);
  ReadFileResult result;
  while (true) {
    LogBlock block;
    auto more = reader.Next(&block);
    EXPECT_TRUE(more.ok());
    if (!more.ok() || !*more) break;
    result.blocks.push_back(std::move(block));
  }
  result.end = reader.end();
  result.position = reader.position();
  result.reason = reader.reason();
  return result;
}

// What spec/fixtures/mlogtool.py prints of a file.
inline std::string Dump(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  const auto parsed = ParseLogFileName(name);
  const std::string bytes = Slurp(path);
  const ReadFileResult read = ReadAll(bytes, (*parsed)->start_offset);
  const char* status = read.end == LogEnd::kEof         ? "EOF"
                       : read.end == LogEnd::kTruncated ? "INCOMPLETE"
                                                        : "INVALID";
  std::string text = absl::StrCat(
      path, " index=", (*parsed)->index, " start=", (*parsed)->start_offset, " size=", bytes.size(),
      " replay_end=", (*parsed)->start_offset + static_cast<int64_t>(read.position),
      " status=", status, "\n");
  for (const LogBlock& block : read.blocks) {
    if (block.header) {
      std::vector<std::string> entries;
      for (const auto& e : block.header->entries)
        entries.push_back(absl::StrCat(e.pid.app_id, ".", e.pid.index, ":{max=",
                                       e.max_decree.value(), ",valid=", e.valid_start_offset, "}"));
      absl::StrAppend(&text, "  header v", block.header->version, " ", absl::StrJoin(entries, " "),
                      "\n");
    }
    for (const MutationPtr& m : block.mutations) {
      std::vector<std::string> updates;
      for (const Update& u : m->updates) {
        std::string hex;
        for (const unsigned char c : u.data) absl::StrAppendFormat(&hex, "%02x", c);
        updates.push_back(absl::StrCat("('", Text(WriteCodeName(u.code)), "', ", u.serialization,
                                       ", '", hex, "')"));
      }
      absl::StrAppend(&text, "  @", m->log_offset, " len=", EncodedSize(*m), " ", m->pid.app_id,
                      ".", m->pid.index, " b=", m->ballot.value(), " d=", m->decree.value(),
                      " lcd=", m->last_committed.value(), " ts=", m->timestamp_us, " [",
                      absl::StrJoin(updates, ", "), "]\n");
    }
  }
  return text;
}

// What a command prints.
inline std::string Output(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string out;
  std::array<char, 4096> buffer;
  while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
    out.append(buffer.data(), n);
  pclose(pipe);
  return out;
}

// What mlogtool.py itself prints of these files.
inline std::string ToolDump(const std::vector<std::string>& paths) {
  return Output(
      absl::StrCat("python3 ", SpecFixtures(), "/mlogtool.py dump ", absl::StrJoin(paths, " ")));
}

inline std::string Hex(std::string_view bytes) {
  std::string hex;
  for (const unsigned char c : bytes) absl::StrAppendFormat(&hex, "%02x", c);
  return hex;
}

// The rows of one file as shared/fixtures' expected.jsonl has them, without the payloads' sha256;
// `with_hex`: payloads up to 256 bytes are shown.
inline std::vector<std::string> JsonRows(const std::string& path, bool with_hex) {
  const std::string name = std::filesystem::path(path).filename();
  const LogFileName parsed = **ParseLogFileName(name);
  const std::string bytes = Slurp(path);
  const ReadFileResult read = ReadAll(bytes, parsed.start_offset);
  const std::string file = absl::StrCat("{\"file\":\"", name, "\",");
  std::vector<std::string> rows;
  int64_t n = 0;
  for (const LogBlock& block : read.blocks) {
    if (block.header) {
      std::vector<std::string> entries;
      auto sorted = block.header->entries;  // as their reader prints its map
      std::sort(sorted.begin(), sorted.end(),
                [](const auto& a, const auto& b) { return a.pid < b.pid; });
      for (const auto& e : sorted)
        entries.push_back(absl::StrCat("{\"gpid\":\"", e.pid.ToString(),
                                       "\",\"max_decree\":", e.max_decree.value(),
                                       ",\"valid_start_offset\":", e.valid_start_offset, "}"));
      rows.push_back(absl::StrCat(
          file, "\"size\":", bytes.size(), ",\"index\":", parsed.index,
          ",\"start_offset\":", parsed.start_offset,
          ",\"end_offset\":", parsed.start_offset + static_cast<int64_t>(bytes.size()),
          ",\"magic\":\"deadbeef\",\"version\":", block.header->version,
          ",\"header_start_global_offset\":", block.header->start_offset,
          ",\"header_size\":", kFileHeaderBytes + kFileHeaderEntryBytes * entries.size(),
          ",\"previous_log_max_decrees\":[", absl::StrJoin(entries, ","), "]}"));
    }
    for (const MutationPtr& m : block.mutations) {
      std::vector<std::string> updates;
      for (const Update& u : m->updates)
        updates.push_back(absl::StrCat(
            "{\"code\":\"", Text(WriteCodeName(u.code)), "\",\"ser\":", u.serialization,
            ",\"len\":", u.data.size(),
            with_hex && u.data.size() <= 256 ? absl::StrCat(",\"hex\":\"", Hex(u.data), "\"") : "",
            "}"));
      rows.push_back(absl::StrCat(
          file, "\"n\":", ++n, ",\"offset\":", m->log_offset, ",\"log_length\":", EncodedSize(*m),
          ",\"gpid\":\"", m->pid.ToString(), "\",\"ballot\":", m->ballot.value(),
          ",\"decree\":", m->decree.value(), ",\"last_committed\":", m->last_committed.value(),
          ",\"timestamp\":", m->timestamp_us, ",\"updates\":[", absl::StrJoin(updates, ","), "]}"));
    }
  }
  const char* error = read.end == LogEnd::kEof         ? "ERR_HANDLE_EOF"
                      : read.end == LogEnd::kTruncated ? "ERR_INCOMPLETE_DATA"
                                                       : "ERR_INVALID_DATA";
  rows.push_back(absl::StrCat(file, "\"end\":true,\"mutations\":", n, ",\"replay_end_offset\":",
                              parsed.start_offset + static_cast<int64_t>(read.position),
                              ",\"replay_error\":\"", error, "\"}"));
  return rows;
}

}  // namespace arion
