// How long the indexes of several tables take to be built: one index after the other, as many walks
// over the data as there are indexes; all of a table in one walk; and that for all partitions
// concurrently. Then what a copy of the built stores takes, as a learner could get them. And what a put
// costs with 0, 1 and 4 indexes. Real RocksDB engines, no cluster.
//
//   index_build_bench --objects 4000000 --tables 6 --indexes 40
//
// Prints JSON. SPDX-License-Identifier: Apache-2.0
#include <gflags/gflags.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/raw_key.h"
#include "engine/engine_directory.h"
#include "engine/rocksdb_engine.h"
#include "env/file_system.h"
#include "indexes/index_build.h"
#include "indexes/index_set.h"
#include "indexes/indexed_engine.h"
#include "posix/posix_environment.h"

DEFINE_int64(objects, 400'000, "JSON objects in all tables");
DEFINE_int32(object_bytes, 1000, "size of each");
DEFINE_int32(tables, 6, "");
DEFINE_int32(partitions, 2, "of each table");
DEFINE_int32(indexes, 40, "over all tables");
DEFINE_int32(threads, 0, "of the concurrent building; 0: one a core");
DEFINE_string(directory, "",
              "where the data lie; empty: the system's directory for temporary files");

namespace arion {
namespace {

constexpr int kFields = 12;
constexpr int64_t kStep = 2000;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double CpuSeconds() {
  rusage use;
  CHECK_EQ(getrusage(RUSAGE_SELF, &use), 0);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

// Fields f0, f1, ... of numbers and words, and a text that fills the rest.
std::string Object(std::mt19937_64& random) {
  std::string value = "{";
  for (int i = 0; i < kFields; ++i) {
    value += "\"f" + std::to_string(i) + "\":";
    const std::string word = std::to_string(random() % 100'000);
    value += i % 2 == 0 ? word : "\"word" + word + "\"";
    value += ',';
  }
  value += "\"text\":\"";
  const size_t length = static_cast<size_t>(FLAGS_object_bytes);
  while (value.size() + 2 < length) value.push_back(static_cast<char>('a' + random() % 26));
  return value + "\"}";
}

struct Partition {
  int table = 0;
  std::shared_ptr<Engine> engine;
};

class Bench {
 public:
  Bench() {
    std::string name =
        FLAGS_directory.empty() ? std::filesystem::temp_directory_path().string() : FLAGS_directory;
    name += "/arion_index_bench.XXXXXX";
    CHECK(mkdtemp(name.data()) != nullptr);
    root_ = name;
    for (int i = 0; i < FLAGS_tables * FLAGS_partitions; ++i)
      partitions_.push_back({.table = i / FLAGS_partitions, .engine = Open(std::to_string(i))});
  }
  ~Bench() {
    partitions_.clear();
    std::filesystem::remove_all(root_);
  }

  void Load() {
    OnThreads(Cores(), [this](Partition& partition, size_t at) {
      std::mt19937_64 random(at);
      const int64_t objects = FLAGS_objects / static_cast<int64_t>(partitions_.size());
      for (int64_t i = 0; i < objects; ++i) Put(*partition.engine, i * 7919 % objects, random);
      CHECK_OK(partition.engine->Flush());
    });
  }

  // Seconds of wall time and of CPU.
  struct Took {
    double wall = 0, cpu = 0;
  };
  Took OneByOne() {
    return Timed([this] {
      for (Partition& partition : partitions_) {
        const std::vector<NamedIndex> all = IndexesOf(partition.table);
        for (size_t i = 1; i <= all.size(); ++i)
          Build(partition, {all.begin(), all.begin() + static_cast<ptrdiff_t>(i)});
      }
    });
  }
  Took InOneWalk(int threads) {
    return Timed([this, threads] {
      OnThreads(threads, [this](Partition& partition, size_t) {
        Build(partition, IndexesOf(partition.table));
      });
    });
  }
  // What was built is copied and made durable, with as many threads. Adds the bytes of stores and of
  // data.
  Took CopyStores(int threads, uint64_t* store_bytes, uint64_t* data_bytes) {
    std::atomic<uint64_t> stores{0}, data{0};
    const std::string to = root_ + "/copied";
    const Took took = Timed([&] {
      OnThreads(threads, [&](Partition& partition, size_t at) {
        const std::string from = root_ + "/" + std::to_string(at) + ".pegasus/index/store/rdb";
        const std::string copy = to + "/" + std::to_string(at);
        CHECK_OK(environment_.files().CreateDirectories(copy));
        const auto names = environment_.files().List(from);
        CHECK_OK(names.status());
        for (const std::string& name : *names) {
          CHECK_OK(CopyFile(environment_.files(), from + "/" + name, copy + "/" + name));
          stores += std::filesystem::file_size(copy + "/" + name);
        }
        CHECK_OK(environment_.files().SyncDirectory(copy));
        data += partition.engine->size_bytes();
      });
    });
    std::filesystem::remove_all(to);
    *store_bytes = stores, *data_bytes = data;
    return took;
  }
  void DropAll() {
    for (Partition& partition : partitions_) Define(partition, {});
  }

  // Microseconds of CPU of one put, flushes and compactions included.
  double PutCost(int indexes) {
    std::shared_ptr<Engine> engine = Open("put" + std::to_string(indexes));
    Partition partition{.engine = engine};
    std::vector<NamedIndex> wanted;
    for (int i = 0; i < indexes; ++i) wanted.push_back(Index(i));
    Build(partition, wanted);
    std::mt19937_64 random(1);
    constexpr int kPuts = 200'000;
    std::vector<std::string> values;
    for (int i = 0; i < 1000; ++i) values.push_back(Object(random));
    const Took took = Timed([&] {
      for (int i = 0; i < kPuts; ++i) Put(*engine, i * 7919 % 50'000, values[i % 1000]);
      CHECK_OK(engine->Flush());
    });
    return 1e6 * took.cpu / kPuts;
  }

  static int Cores() {
    return FLAGS_threads > 0 ? FLAGS_threads
                             : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }

 private:
  static void CHECK_OK(const absl::Status& status) { CHECK(status.ok()) << status; }
  static NamedIndex Index(int field) {
    const std::string name = "f" + std::to_string(field);
    return {name, *IndexDefinition::Parse("$." + name)};
  }
  static std::vector<NamedIndex> IndexesOf(int table) {
    std::vector<NamedIndex> indexes;
    for (int i = table; i < FLAGS_indexes; i += FLAGS_tables)
      indexes.push_back(Index(static_cast<int>(indexes.size()) % kFields));
    return indexes;
  }

  std::shared_ptr<Engine> Open(const std::string& name) {
    auto engine = factory_.Open(root_ + "/" + name + ".pegasus/data");
    CHECK(engine.ok()) << engine.status();
    return *std::move(engine);
  }
  static void Put(Engine& engine, int64_t at, std::mt19937_64& random) {
    Put(engine, at, Object(random));
  }
  static void Put(Engine& engine, int64_t at, const std::string& value) {
    const std::string key = JoinRawKey("user" + std::to_string(at), "object");
    const WriteOp op{.key = key, .value = value};
    CHECK_OK(engine.Apply(engine.last_applied() + 1, 1, {&op, 1}));
  }
  static void Define(Partition& partition, const std::vector<NamedIndex>& indexes) {
    CHECK_OK(partition.engine->indexes()->Define(indexes, *partition.engine));
  }
  static void Build(Partition& partition, const std::vector<NamedIndex>& indexes) {
    Define(partition, indexes);
    auto build = partition.engine->indexes()->BeginBuild(*partition.engine);
    CHECK_OK(build.status());
    while (*build != nullptr && !(*build)->is_done()) CHECK_OK((*build)->Step(kStep));
  }
  template <class Work>
  void OnThreads(int count, Work work) {
    std::atomic<size_t> next{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&] {
        for (size_t at = next++; at < partitions_.size(); at = next++) work(partitions_[at], at);
      });
    for (std::thread& thread : threads) thread.join();
  }
  template <class Work>
  static Took Timed(Work work) {
    const double wall = Now(), cpu = CpuSeconds();
    work();
    return {.wall = Now() - wall, .cpu = CpuSeconds() - cpu};
  }

  std::string root_;
  PosixEnvironment environment_{PosixEnvironmentOptions{.event_loop_threads = 1}};
  RocksdbEngineFactory plain_{environment_, {.write_buffers_total_bytes = uint64_t{1} << 30}};
  IndexedEngineFactory factory_{environment_, plain_};
  std::vector<Partition> partitions_;
};

void Run() {
  Bench bench;
  bench.Load();
  std::fprintf(stderr, "loaded\n");
  const Bench::Took one_by_one = bench.OneByOne();
  bench.DropAll();
  std::fprintf(stderr, "one by one: %.1f s\n", one_by_one.wall);
  const Bench::Took one_walk = bench.InOneWalk(1);
  bench.DropAll();
  std::fprintf(stderr, "one walk a partition: %.1f s\n", one_walk.wall);
  const Bench::Took concurrent = bench.InOneWalk(Bench::Cores());
  uint64_t store_bytes = 0, data_bytes = 0;
  const Bench::Took copied = bench.CopyStores(Bench::Cores(), &store_bytes, &data_bytes);
  bench.DropAll();
  std::printf(
      "{\"objects\":%lld,\"tables\":%d,\"indexes\":%d,\"threads\":%d,\n"
      " \"one_by_one_s\":%.2f,\"one_by_one_cpu_s\":%.2f,\n"
      " \"one_walk_s\":%.2f,\"one_walk_cpu_s\":%.2f,\n"
      " \"concurrent_s\":%.2f,\"concurrent_cpu_s\":%.2f,\n"
      " \"copied_s\":%.2f,\"copied_cpu_s\":%.2f,\"store_bytes\":%llu,\"data_bytes\":%llu,\n"
      " \"speedup\":%.2f,\n \"put_us\":{",
      static_cast<long long>(FLAGS_objects), FLAGS_tables, FLAGS_indexes, Bench::Cores(),
      one_by_one.wall, one_by_one.cpu, one_walk.wall, one_walk.cpu, concurrent.wall, concurrent.cpu,
      copied.wall, copied.cpu, static_cast<unsigned long long>(store_bytes),
      static_cast<unsigned long long>(data_bytes), one_by_one.wall / concurrent.wall);
  for (const int indexes : {0, 1, 4})
    std::printf("%s\"%d\":%.2f", indexes > 0 ? "," : "", indexes, bench.PutCost(indexes));
  std::printf("}}\n");
}

}  // namespace
}  // namespace arion

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  arion::Run();
  return 0;
}
