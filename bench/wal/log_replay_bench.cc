// Replay without apply: what the log's reading costs beside a raw loop over the same files:
// read 1 MiB, checksum, walk the headers of the mutations, build nothing.
//
//   RawLoop      pread 1 MiB + crc32c + header walk
//   LogReader    blocks as views, as recovery and arion_log read them
//   Objects      LogReader, and a Mutation made of each, as a sink of PrivateLog::Open gets it
//   Open         PrivateLog::Open with a sink that only counts
//
// Arguments: bytes a record, KiB a block, 1 = cold (page cache dropped before each run). Random
// interleaving and repetitions come from the command line:
//   bench_wal --benchmark_filter=Replay --benchmark_enable_random_interleaving=true
//             --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
// TMPDIR chooses the disk. SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_cat.h>
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/coding.h"
#include "base/crc.h"
#include "posix/posix_environment.h"
#include "wal/log_format.h"
#include "wal/log_identity.h"
#include "wal/log_reader.h"
#include "wal/private_log.h"

namespace arion {
namespace {

constexpr PartitionId kPid{1, 0};
constexpr uint64_t kFileBytes = 32 << 20;
constexpr int kFiles = 8;
constexpr size_t kReadBytes = 1 << 20;

struct Shape {
  size_t record_bytes = 0;
  size_t block_bytes = 0;
  bool operator<(const Shape& other) const {
    return std::tie(record_bytes, block_bytes) < std::tie(other.record_bytes, other.block_bytes);
  }
};

// A log of kFiles files in its own directory, as PrivateLog names and fills them.
class LogOnDisk {
 public:
  explicit LogOnDisk(const Shape& shape) {
    const char* base = std::getenv("TMPDIR");
    root_ = std::string(base != nullptr ? base : "/tmp") + "/arion_bench_XXXXXX";
    CHECK(mkdtemp(root_.data()) != nullptr);
    std::filesystem::create_directories(directory());
    LogIdentity identity;
    identity.clean = true;  // so that Open has nothing to repair
    int64_t start = 0, decree = 0;
    PosixFileSystem files;
    for (int i = 1; i <= kFiles; ++i) {
      const LogFileName name{i, start};
      const std::string bytes = FileBytes(shape, start, &decree);
      auto file = *files.OpenForWrite(JoinPath(directory(), name.ToString()),
                                      FileSystem::CreateMode::kTruncate);
      CHECK(file->WriteAt(0, bytes).ok() && file->Sync().ok() && file->Close().ok());
      identity.Add(*files.Stat(PathOf(name)), Durability::kFsync);
      names_.push_back(name);
      start += static_cast<int64_t>(bytes.size());
    }
    CHECK(WriteFileDurably(files, identity_path(), identity.Format()).ok());
    bytes_ = static_cast<uint64_t>(start);
    mutations_ = decree;
  }
  ~LogOnDisk() { std::filesystem::remove_all(root_); }

  std::string identity_path() const { return root_ + "/1.0.pegasus/.arion-log"; }
  std::string directory() const { return root_ + "/1.0.pegasus/plog"; }
  const std::vector<LogFileName>& names() const { return names_; }
  std::string PathOf(const LogFileName& name) const {
    return JoinPath(directory(), name.ToString());
  }
  uint64_t bytes() const { return bytes_; }
  int64_t mutations() const { return mutations_; }

  void DropCache() const {
    for (const LogFileName& name : names_) {
      const int fd = ::open(PathOf(name).c_str(), O_RDONLY);
      CHECK(fd >= 0);
      CHECK(::fdatasync(fd) == 0);
      CHECK(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
      ::close(fd);
    }
  }

 private:
  static std::string FileBytes(const Shape& shape, int64_t start, int64_t* decree) {
    std::string file(kFirstBlockBytes, '\0');
    uint32_t crc =
        StoreFirstBlock(start, {.pid = kPid, .max_decree = Decree(*decree)}, file.data());
    Mutation m;
    m.pid = kPid;
    m.ballot = Ballot(1);
    m.updates.push_back({.code = WriteCode::kPut,
                         .serialization = 1,
                         .data = std::string(shape.record_bytes, 'x')});
    while (file.size() < kFileBytes) {
      const size_t block = file.size();
      file.resize(block + kBlockHeaderBytes);
      while (file.size() - block < shape.block_bytes) {
        m.decree = Decree(++*decree);
        m.last_committed = m.decree - 1;
        AppendMutation(m, start + static_cast<int64_t>(file.size()), &file);
      }
      const std::string_view body = std::string_view(file).substr(block + kBlockHeaderBytes);
      crc = Crc32c(body, crc);
      StoreBlockHeader({.length = static_cast<int32_t>(body.size()),
                        .body_crc = crc,
                        .position = static_cast<uint32_t>(block)},
                       file.data() + block);
    }
    return file;
  }

  std::string root_;
  std::vector<LogFileName> names_;
  uint64_t bytes_ = 0;
  int64_t mutations_ = 0;
};

const LogOnDisk& TheLog(const benchmark::State& state) {
  static auto& logs = *new std::map<Shape, std::unique_ptr<LogOnDisk>>;
  static const int at_exit = std::atexit([] { logs.clear(); });
  (void)at_exit;
  const Shape shape{static_cast<size_t>(state.range(0)), static_cast<size_t>(state.range(1)) << 10};
  std::unique_ptr<LogOnDisk>& log = logs[shape];
  if (log == nullptr) log = std::make_unique<LogOnDisk>(shape);
  return *log;
}

// Runs `read`, which returns how many mutations it saw, over the whole log.
template <class Read>
void Measure(benchmark::State& state, Read read) {
  const LogOnDisk& log = TheLog(state);
  const bool cold = state.range(2) != 0;
  if (!cold) read(log);
  for (auto _ : state) {
    if (cold) {
      state.PauseTiming();
      log.DropCache();
      state.ResumeTiming();
    }
    const int64_t mutations = read(log);
    CHECK_EQ(mutations, log.mutations());
  }
  state.SetBytesProcessed(static_cast<int64_t>(log.bytes()) * state.iterations());
  state.SetItemsProcessed(log.mutations() * state.iterations());
}

// How many mutations fill the body; -1: something does not fit.
int64_t WalkHeaders(std::string_view body, int64_t at) {
  int64_t count = 0;
  for (size_t i = 0; i < body.size(); ++count) {
    if (body.size() - i < kMutationHeaderBytes) return -1;
    const char* raw = body.data() + i;
    if (LoadLittle<int64_t>(raw) != 0 || LoadLittle<int32_t>(raw + 8) != kPid.app_id ||
        LoadLittle<int64_t>(raw + 32) != at + static_cast<int64_t>(i))
      return -1;
    const auto updates = LoadLittle<int32_t>(raw + 56);
    size_t descriptors = kMutationHeaderBytes, data = 0;
    for (int32_t u = 0; u < updates; ++u) {
      if (body.size() - i < descriptors + 12) return -1;
      const auto name = static_cast<size_t>(LoadLittle<int32_t>(raw + descriptors));
      if (body.size() - i < descriptors + 12 + name) return -1;
      data += static_cast<size_t>(LoadLittle<int32_t>(raw + descriptors + name + 8));
      descriptors += 12 + name;
    }
    if (body.size() - i < descriptors + data) return -1;
    i += descriptors + data;
  }
  return count;
}

int64_t RawRead(const std::string& path, int64_t start, std::vector<char>* buffer) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  CHECK(fd >= 0);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  int64_t mutations = 0;
  uint32_t crc = 0;
  uint64_t file_at = 0;  // of the buffer's first byte
  size_t held = 0;
  while (true) {
    const ssize_t got =
        ::pread(fd, buffer->data() + held, kReadBytes, static_cast<off_t>(file_at + held));
    CHECK(got >= 0);
    if (got == 0) break;
    held += static_cast<size_t>(got);
    size_t used = 0;
    while (held - used >= kBlockHeaderBytes) {
      const BlockHeader header = LoadBlockHeader(buffer->data() + used);
      const size_t size = kBlockHeaderBytes + static_cast<size_t>(header.length);
      if (held - used < size) break;
      const std::string_view body(buffer->data() + used + kBlockHeaderBytes,
                                  static_cast<size_t>(header.length));
      crc = Crc32c(body, crc);
      CHECK_EQ(crc, header.body_crc);
      const uint64_t position = file_at + used;
      if (position > 0)
        mutations += WalkHeaders(body, start + static_cast<int64_t>(position + kBlockHeaderBytes));
      used += size;
    }
    std::memmove(buffer->data(), buffer->data() + used, held - used);
    held -= used;
    file_at += used;
  }
  ::close(fd);
  return mutations;
}

void BM_ReplayRawLoop(benchmark::State& state) {
  std::vector<char> buffer(4 * kReadBytes);
  Measure(state, [&buffer](const LogOnDisk& log) {
    int64_t mutations = 0;
    for (const LogFileName& name : log.names())
      mutations += RawRead(log.PathOf(name), name.start_offset, &buffer);
    return mutations;
  });
}

template <class Block>
int64_t ReadAll(const LogOnDisk& log) {
  PosixFileSystem files;
  int64_t mutations = 0;
  Block block;
  for (const LogFileName& name : log.names()) {
    const auto file = *files.OpenForRead(log.PathOf(name));
    LogReader reader(*file, *file->Size(), name.start_offset);
    while (*reader.Next(&block)) mutations += static_cast<int64_t>(block.mutations.size());
    CHECK(reader.end() == LogEnd::kEof) << reader.reason();
  }
  return mutations;
}

void BM_ReplayLogReader(benchmark::State& state) { Measure(state, ReadAll<LogBlockView>); }
void BM_ReplayObjects(benchmark::State& state) { Measure(state, ReadAll<LogBlock>); }

void BM_ReplayOpen(benchmark::State& state) {
  PosixEnvironment env({});
  const StrandPtr strand = env.NewStrand("log");
  Measure(state, [&](const LogOnDisk& log) {
    ReplaySummary summary;
    const auto opened = PrivateLog::Open(
        env, strand,
        {.directory = log.directory(), .identity_path = log.identity_path(), .pid = kPid},
        [](MutationPtr) { return absl::OkStatus(); }, &summary);
    CHECK(opened.ok()) << opened.status();
    return summary.mutations;
  });
}

void Shapes(benchmark::internal::Benchmark* bench) {
  for (const int64_t cold : {0, 1})
    for (const auto& [record, block] :
         {std::pair<int64_t, int64_t>{1000, 64}, {1000, 1024}, {128, 16}, {16384, 256}})
      bench->Args({record, block, cold});
  bench->Unit(benchmark::kMillisecond)->UseRealTime();
}
BENCHMARK(BM_ReplayRawLoop)->Apply(Shapes);
BENCHMARK(BM_ReplayLogReader)->Apply(Shapes);
BENCHMARK(BM_ReplayObjects)->Apply(Shapes);
BENCHMARK(BM_ReplayOpen)->Apply(Shapes);

}  // namespace
}  // namespace arion
