// RocksDB's own iterator over as many rows as a scan of a table sees, spread over as many databases
// as it has partitions, from files in the block cache: CPU a row and MB/s of it. The least any scan
// can cost.
// SPDX-License-Identifier: Apache-2.0
#include <gflags/gflags.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/table.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

DEFINE_int32(rows, 100000, "rows in all");
DEFINE_int32(partitions, 8, "databases");
DEFINE_int32(size, 1000, "bytes of a value");
DEFINE_int32(rounds, 5, "times; the best counts");
DEFINE_bool(memtable, false, "from memtables instead of files in the block cache");

namespace {

double CpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

void Check(const rocksdb::Status& status) {
  if (status.ok()) return;
  fprintf(stderr, "%s\n", status.ToString().c_str());
  exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  std::string root = (std::filesystem::temp_directory_path() / "arion_floor.XXXXXX").string();
  if (mkdtemp(root.data()) == nullptr) return 1;
  std::vector<std::unique_ptr<rocksdb::DB>> databases;
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::BlockBasedTableOptions tables;
  tables.block_cache = rocksdb::NewLRUCache(uint64_t{512} << 20);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(tables));
  rocksdb::WriteOptions write;
  write.disableWAL = true;
  const std::string value(FLAGS_size + 12, 'v');  // with the header of its expiry
  for (int i = 0; i < FLAGS_partitions; ++i) {
    rocksdb::DB* database = nullptr;
    Check(rocksdb::DB::Open(options, root + "/" + std::to_string(i), &database));
    databases.emplace_back(database);
  }
  for (int i = 0; i < FLAGS_rows; ++i) {
    char key[64];
    snprintf(key, sizeof(key), "%cbench-%016dfs%05d", 22, i, 0);
    Check(databases[i % FLAGS_partitions]->Put(write, std::string(1, '\0') + key, value));
  }
  if (!FLAGS_memtable)
    for (auto& database : databases) Check(database->Flush({}));
  double best = 1e9;
  uint64_t rows = 0, bytes = 0;
  for (int round = 0; round < FLAGS_rounds; ++round) {
    rows = bytes = 0;
    const double started = CpuSeconds();
    for (auto& database : databases) {
      std::unique_ptr<rocksdb::Iterator> walk(database->NewIterator({}));
      for (walk->SeekToFirst(); walk->Valid(); walk->Next()) {
        ++rows;
        bytes += walk->key().size() + walk->value().size();
      }
      Check(walk->status());
    }
    best = std::min(best, CpuSeconds() - started);
  }
  printf("floor: rows=%llu bytes=%llu us_per_row=%.3f MB/s=%.0f\n",
         static_cast<unsigned long long>(rows), static_cast<unsigned long long>(bytes),
         best * 1e6 / rows, bytes / best / 1e6);
  databases.clear();
  std::filesystem::remove_all(root);
  return 0;
}
