// The log's reader and recovery on hostile files: no crash, nothing read beyond the file, blocks
// that were read lie one behind the other, a recovery that succeeds can be repeated and yields the
// same mutations, and one that fails has deleted nothing.
//
// Input: byte 0 chooses whose file it is and in which mode; the rest is the content of log.1.0.
// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <memory>

#include "tests/fuzz/allocation_limit.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/log_bytes.h"
#include "tests/fuzz/memory_files.h"
#include "wal/log_format.h"
#include "wal/log_reader.h"
#include "wal/log_recovery.h"

namespace arion {
namespace {

constexpr PartitionId kPid = kFuzzPid;
constexpr size_t kAllocationSlack = 64 << 10;  // what names and messages take besides

class Bytes : public ReadableFile {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  absl::StatusOr<uint64_t> Size() const override { return bytes_.size(); }
  absl::Status ReadAt(uint64_t offset, size_t n, std::string* out) const override {
    FuzzRequire(offset + n <= bytes_.size());
    *out = std::string(bytes_.substr(offset, n));
    return absl::OkStatus();
  }

 private:
  std::string_view bytes_;
};

void CheckReader(std::string_view content) {
  Bytes file(content);
  LogReader reader(file, content.size(), 0);
  LogBlock block;
  uint64_t end = 0;
  while (*reader.Next(&block)) {
    FuzzRequire(block.position == end && block.size >= kBlockHeaderBytes);
    end += block.size;
    FuzzRequire(end == reader.position() && end <= content.size());
    FuzzRequire(block.header.has_value() == (block.position == 0));
    for (const MutationPtr& m : block.mutations)
      FuzzRequire(m->log_offset > static_cast<int64_t>(block.position) &&
                  m->log_offset + static_cast<int64_t>(EncodedSize(*m)) <=
                      static_cast<int64_t>(end));
  }
  FuzzRequire((reader.end() == LogEnd::kEof) == (end == content.size()));
  FuzzCount(LogEndName(reader.end()));
  const auto valid = FindValidBlock(file, 0, content.size(), 0, kPid);
  FuzzRequire(valid.ok() && (!valid->has_value() || **valid < content.size()));
  const auto tail = EndOfNonZeroBytes(file, 0, content.size());
  FuzzRequire(tail.ok() && *tail <= content.size());
}

struct Recovered {
  absl::Status status;
  std::vector<MutationPtr> mutations;
};

Recovered Recover(FileSystem& files) {
  PrivateLogOptions options;
  options.directory = "/plog";
  options.identity_path = "/.arion-log";
  options.pid = kPid;
  Recovered recovered;
  ReplaySummary summary;
  recovered.status = RecoverLog(
                         files, options,
                         [&](MutationPtr m) {
                           recovered.mutations.push_back(std::move(m));
                           return absl::OkStatus();
                         },
                         &summary)
                         .status();
  return recovered;
}

void CheckRecovery(uint8_t origin, std::string_view content) {
  MemoryFiles files;
  files.Put("/plog/log.1.0", std::string(content));
  if (origin != 0) {
    LogIdentity identity;
    identity.Add(*files.Stat("/plog/log.1.0"), origin == 1 ? Durability::kFsync : Durability::kOs);
    files.Put("/.arion-log", identity.Format());
  }
  const Recovered first = Recover(files);
  if (!first.status.ok()) {
    FuzzCount("recovery refused");
    const char* kept = Exists(files, "/plog/log.1.0") ? "/plog/log.1.0" : "/plog/log.1.0.removed";
    FuzzRequire(*ReadFile(files, kept) == content);
    return;
  }
  FuzzCount("recovered");
  const Recovered second = Recover(files);
  FuzzRequire(second.status.ok());
  // What was uncommitted stands there once more, behind.
  FuzzRequire(second.mutations.size() >= first.mutations.size());
  for (size_t i = 0; i < first.mutations.size(); ++i)
    FuzzRequire(*first.mutations[i] == *second.mutations[i]);
}

std::string File(int64_t first, int64_t n) { return FuzzLog({.first_decree = first, .blocks = n}); }

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  const std::string good = File(1, 3);
  std::string flipped = good;
  flipped[100] = static_cast<char>(flipped[100] ^ 1);
  for (const char origin : {'\0', '\1', '\2'}) {
    for (const std::string& file : {good, good.substr(0, good.size() - 9),
                                    good + std::string(64, '\0'), flipped, File(1, 0), good + good})
      seeds.push_back(std::string(1, origin) + file);
  }
  std::error_code missing;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(RealFixtures() + "/upstream-plog", missing)) {
    if (!entry.is_regular_file()) continue;
    seeds.push_back(std::string(1, '\0') + Slurp(entry.path()));
  }
  return seeds;
}

void FuzzMend(std::string* input, FuzzRandom& random) {
  if (input->empty()) return;
  std::string file = input->substr(1);
  MutateLog(0, &file, random);
  *input = input->substr(0, 1) + file;
}

}  // namespace arion

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace arion;
  FLAGS_minloglevel = google::GLOG_FATAL;
  if (size < 1) return 0;
  const std::string_view content(reinterpret_cast<const char*>(data) + 1, size - 1);
  const AllocationLimit limit(size + kAllocationSlack);
  CheckReader(content);
  CheckRecovery(static_cast<uint8_t>(data[0] % 3), content);
  return 0;
}
