// Changes a record of a stopped server's replica as a fault below it would: its decree stays, and nobody is told.
//
//   change_record <replica directory>/data change|remove HASH_KEY SORT_KEY
//
// SPDX-License-Identifier: Apache-2.0
#include <rocksdb/db.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/raw_key.h"

namespace {

int Fail(const std::string& what) {
  fprintf(stderr, "%s\n", what.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return Fail("change_record DATA_DIRECTORY change|remove HASH_KEY SORT_KEY");
  const std::string path = std::string(argv[1]) + "/rdb", what = argv[2];
  const std::string key = arion::JoinRawKey(argv[3], argv[4]);
  rocksdb::DBOptions options;
  std::vector<std::string> names;
  rocksdb::Status status = rocksdb::DB::ListColumnFamilies(options, path, &names);
  if (!status.ok()) return Fail(status.ToString());
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.emplace_back(name, rocksdb::ColumnFamilyOptions());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  status = rocksdb::DB::Open(options, path, families, &handles, &db);
  if (!status.ok()) return Fail(status.ToString());
  rocksdb::WriteOptions write;
  write.disableWAL = true;
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    if (handle->GetName() != rocksdb::kDefaultColumnFamilyName) continue;
    std::string value;
    status = db->Get(rocksdb::ReadOptions(), handle, key, &value);
    if (!status.ok()) return Fail(status.ToString());
    value.back() = static_cast<char>(value.back() ^ 1);
    status = what == "remove" ? db->Delete(write, handle, key) : db->Put(write, handle, key, value);
    if (status.ok()) status = db->Flush(rocksdb::FlushOptions(), handle);
  }
  if (!status.ok()) return Fail(status.ToString());
  for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
  delete db;
  return 0;
}
