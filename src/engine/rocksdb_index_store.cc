// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_index_store.h"

#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/coding.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "base/value_schema.h"
#include "engine/engine_wrapper.h"
#include "env/blocking_call.h"
#include "env/file_system.h"

namespace arion {
namespace {

constexpr size_t kRunBytes = 64 << 20;
constexpr uint64_t kTableBytes = 64 << 20;
constexpr size_t kMemtableBytes = 16 << 20;

// Records without values, in the order of their keys, into one table file after the other.
class TableWriter {
 public:
  enum class Kind : uint8_t {
    // Read once more, and then no more.
    kRun,
    // For the store: no file holds records of two hash keys, so that a hash key's files can go
    // whole. Nothing else would ever remove what lies so deep (rocksdb: allow_ingest_behind).
    kTable,
  };
  TableWriter(const Database& database, Kind kind, std::string path_prefix)
      : database_(database), kind_(kind), path_prefix_(std::move(path_prefix)) {
    char header[kValueHeaderBytesMax];
    value_.assign(header, StoreValueHeader(ValueSchema::kV1, 0, TimeTag{}, header));
  }

  // Keys rise; one that comes again is passed over.
  absl::Status Add(std::string_view key) {
    if (writer_ != nullptr && key == last_) return absl::OkStatus();
    if (writer_ != nullptr && (writer_->FileSize() >= kTableBytes || IsOfAnother(key)))
      RETURN_IF_ERROR(EndTable());
    if (writer_ == nullptr) RETURN_IF_ERROR(BeginTable());
    last_.assign(key);
    return FromRocksdb(writer_->Put(ToSlice(key), value_), "bulk load");
  }
  // The files.
  absl::StatusOr<std::vector<std::string>> Finish() {
    if (writer_ != nullptr) RETURN_IF_ERROR(EndTable());
    return std::move(paths_);
  }

 private:
  bool IsOfAnother(std::string_view key) const {
    return kind_ == Kind::kTable && SplitRawKey(key)->hash_key != SplitRawKey(last_)->hash_key;
  }
  absl::Status BeginTable() {
    rocksdb::Options options = database_.db().GetOptions(database_.data());
    // As the last level's, where they go.
    if (!options.compression_per_level.empty())
      options.compression = options.compression_per_level.back();
    options.compression_per_level.clear();
    if (kind_ == Kind::kRun) {
      options.compression = rocksdb::kNoCompression;
      options.table_factory.reset(rocksdb::NewBlockBasedTableFactory());
    }
    writer_ =
        std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(), options, database_.data());
    paths_.push_back(absl::StrCat(path_prefix_, paths_.size(), ".sst"));
    return FromRocksdb(writer_->Open(paths_.back()), paths_.back());
  }
  absl::Status EndTable() {
    const rocksdb::Status status = writer_->Finish();
    writer_.reset();
    return FromRocksdb(status, paths_.back());
  }

  const Database& database_;
  const Kind kind_;
  const std::string path_prefix_;
  std::string value_;
  std::unique_ptr<rocksdb::SstFileWriter> writer_;
  std::string last_;
  std::vector<std::string> paths_;
};

class RocksdbBulkWriter : public BulkWriter {
 public:
  RocksdbBulkWriter(std::shared_ptr<Database> database, FileSystem& files, std::string directory)
      : database_(std::move(database)), files_(files), directory_(std::move(directory)) {}
  ~RocksdbBulkWriter() override { RemoveOthers().IgnoreError(); }

  // Before anything is added.
  absl::Status Take(const std::vector<std::string>& saved) {
    for (const std::string& name : saved) {
      saved_.insert(name);
      runs_.push_back(JoinPath(directory_, name));
      RETURN_IF_ERROR(Opened(runs_.back()).status());
    }
    return RemoveOthers();
  }

  absl::Status Add(std::string_view raw_key) override {
    const std::string_view hash_key = HashKeyPart(raw_key);
    auto found = buckets_.find(hash_key);
    if (found == buckets_.end()) found = buckets_.try_emplace(std::string(hash_key)).first;
    found->second.Add(raw_key.substr(hash_key.size()));
    run_bytes_ += raw_key.size() - hash_key.size() + sizeof(Bucket::Place);
    return run_bytes_ < kRunBytes ? absl::OkStatus() : EndRun(TableWriter::Kind::kRun);
  }

  absl::StatusOr<std::vector<std::string>> Save() override {
    RETURN_IF_ERROR(EndRun(TableWriter::Kind::kRun));
    if (!runs_.empty()) {
      RETURN_IF_ERROR(files_.SyncDirectory(directory_));
      RETURN_IF_ERROR(files_.SyncDirectory(ParentDirectory(directory_)));
    }
    std::vector<std::string> names;
    for (const std::string& path : runs_) names.push_back(path.substr(directory_.size() + 1));
    saved_.insert(names.begin(), names.end());
    return names;
  }

  absl::Status Sort() override {
    // A run is sorted, but not beside another.
    const bool is_one = runs_.empty();
    RETURN_IF_ERROR(EndRun(is_one ? TableWriter::Kind::kTable : TableWriter::Kind::kRun));
    tables_ = runs_;
    if (!is_one) {
      ASSIGN_OR_RETURN(tables_, Merged(runs_));
    }
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    saved_.clear();
    if (tables_.empty()) return absl::OkStatus();
    rocksdb::IngestExternalFileOptions options;
    options.move_files = true;
    options.ingest_behind = true;
    const BlockingCall call("bulk load", directory_);
    return FromRocksdb(database_->db().IngestExternalFile(database_->data(), tables_, options),
                       absl::StrCat("take the tables of ", directory_));
  }

 private:
  // Sort keys of one hash key: most of them differ in their first bytes.
  struct Bucket {
    struct Place {
      uint64_t head;
      uint32_t offset;
      uint32_t bytes;
    };
    void Add(std::string_view rest) {
      places.push_back({.head = HeadOf(rest),
                        .offset = static_cast<uint32_t>(keys.size()),
                        .bytes = static_cast<uint32_t>(rest.size())});
      keys.append(rest);
    }
    std::string_view At(const Place& place) const {
      return std::string_view(keys).substr(place.offset, place.bytes);
    }
    void Sort() {
      std::sort(places.begin(), places.end(), [this](const Place& a, const Place& b) {
        return a.head != b.head ? a.head < b.head : At(a) < At(b);
      });
    }
    // As a number that has their order.
    static uint64_t HeadOf(std::string_view rest) {
      char bytes[sizeof(uint64_t)] = {};
      rest.copy(bytes, sizeof(bytes));
      return LoadBig<uint64_t>(bytes);
    }

    std::string keys;
    std::vector<Place> places;
  };
  // With its length in front.
  static std::string_view HashKeyPart(std::string_view raw_key) {
    return raw_key.substr(0, sizeof(uint16_t) + SplitRawKey(raw_key)->hash_key.size());
  }

  // All that is not saved.
  absl::Status RemoveOthers() {
    if (saved_.empty()) return files_.RemoveAll(directory_);
    ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.List(directory_));
    for (const std::string& name : names)
      if (!saved_.contains(name)) RETURN_IF_ERROR(files_.Remove(JoinPath(directory_, name)));
    return absl::OkStatus();
  }

  absl::Status EndRun(TableWriter::Kind kind) {
    if (buckets_.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(files_.CreateDirectories(directory_));
    TableWriter writer(*database_, kind,
                       JoinPath(directory_, absl::StrCat("run", runs_.size(), ".")));
    std::string key;
    for (auto& [hash_key, bucket] : buckets_) {
      bucket.Sort();
      for (const Bucket::Place& place : bucket.places) {
        key = hash_key;
        key += bucket.At(place);
        RETURN_IF_ERROR(writer.Add(key));
      }
    }
    ASSIGN_OR_RETURN(std::vector<std::string> paths, writer.Finish());
    runs_.insert(runs_.end(), paths.begin(), paths.end());
    buckets_.clear();
    run_bytes_ = 0;
    return absl::OkStatus();
  }

  struct Run {
    std::unique_ptr<rocksdb::SstFileReader> reader;
    std::unique_ptr<rocksdb::Iterator> at;
  };
  absl::StatusOr<Run> Opened(const std::string& path) const {
    rocksdb::ReadOptions reading;
    reading.total_order_seek = true;
    reading.fill_cache = false;
    Run run{.reader = std::make_unique<rocksdb::SstFileReader>(
                database_->db().GetOptions(database_->data()))};
    RETURN_IF_ERROR(FromRocksdb(run.reader->Open(path), path));
    run.at.reset(run.reader->NewIterator(reading));
    run.at->SeekToFirst();
    return run;
  }

  absl::StatusOr<std::vector<std::string>> Merged(const std::vector<std::string>& runs) {
    std::vector<Run> open;
    const auto is_behind = [&open](size_t a, size_t b) {
      return open[a].at->key().compare(open[b].at->key()) > 0;
    };
    std::priority_queue<size_t, std::vector<size_t>, decltype(is_behind)> next(is_behind);
    for (const std::string& path : runs) {
      ASSIGN_OR_RETURN(open.emplace_back(), Opened(path));
      if (open.back().at->Valid()) next.push(open.size() - 1);
    }
    TableWriter writer(*database_, TableWriter::Kind::kTable, JoinPath(directory_, "merged."));
    while (!next.empty()) {
      const size_t first = next.top();
      next.pop();
      rocksdb::Iterator& at = *open[first].at;
      RETURN_IF_ERROR(writer.Add({at.key().data(), at.key().size()}));
      at.Next();
      if (at.Valid()) next.push(first);
    }
    for (const Run& run : open) RETURN_IF_ERROR(FromRocksdb(run.at->status(), "merge a bulk load"));
    return writer.Finish();
  }

  const std::shared_ptr<Database> database_;
  FileSystem& files_;
  const std::string directory_;
  // Of the run under way, by hash key: in the order of raw keys.
  std::map<std::string, Bucket, std::less<>> buckets_;
  size_t run_bytes_ = 0;
  std::vector<std::string> runs_;
  std::set<std::string> saved_;
  // Sorted.
  std::vector<std::string> tables_;
};

class RocksdbIndexStore : public EngineWrapper<IndexStore> {
 public:
  RocksdbIndexStore(std::unique_ptr<Engine> engine, std::shared_ptr<Database> database,
                    FileSystem& files, std::string bulk_directory)
      : EngineWrapper(std::move(engine)),
        database_(std::move(database)),
        files_(files),
        bulk_directory_(std::move(bulk_directory)) {}

  absl::StatusOr<std::unique_ptr<BulkWriter>> NewBulkWriter(
      const std::vector<std::string>& saved) override {
    auto writer = std::make_unique<RocksdbBulkWriter>(database_, files_, bulk_directory_);
    RETURN_IF_ERROR(writer->Take(saved));
    return writer;
  }

  absl::Status CopyTo(const std::string& directory) override {
    RETURN_IF_ERROR(Flush());
    RETURN_IF_ERROR(files_.CreateDirectories(directory));
    return database_->CopyFilesTo(JoinPath(directory, kRocksdbContent));
  }

  absl::Status RemoveRange(const KeyRange& range) override {
    CHECK(!range.end.empty());
    const rocksdb::Slice first = ToSlice(range.first), end = ToSlice(range.end);
    RETURN_IF_ERROR(FromRocksdb(
        rocksdb::DeleteFilesInRange(&database_->db(), database_->data(), &first, &end, false),
        "drop an index"));
    rocksdb::WriteOptions options;
    options.disableWAL = true;
    return FromRocksdb(database_->db().DeleteRange(options, database_->data(), first, end),
                       "drop an index");
  }

  absl::Status Close() override {
    database_.reset();
    return EngineWrapper::Close();
  }

 private:
  // Goes before the engine, which waits for its work to end.
  std::shared_ptr<Database> database_;
  FileSystem& files_;
  const std::string bulk_directory_;
};

}  // namespace

void MakeIndexStoreOptions(DatabaseOptions* options) {
  options->db.allow_ingest_behind = true;
  // Bulk loads' tables have none, and RocksDB would say so at each open.
  options->db.verify_sst_unique_id_in_manifest = false;
  options->data.write_buffer_size = kMemtableBytes;
}

std::unique_ptr<IndexStore> MakeIndexStore(std::unique_ptr<Engine> engine,
                                           std::shared_ptr<Database> database, FileSystem& files,
                                           const std::string& directory) {
  return std::make_unique<RocksdbIndexStore>(std::move(engine), std::move(database), files,
                                             JoinPath(directory, "bulk"));
}

}  // namespace arion
