// SPDX-License-Identifier: Apache-2.0
#include "indexes/index_directory.h"

#include <algorithm>
#include <utility>

#include "base/coding.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "env/file_system.h"

namespace arion {
namespace {

constexpr char kListName[] = "list";
constexpr char kStoreName[] = "store";
constexpr char kMadeSuffix[] = ".tmp";

// All that lie below the directory, empty ones left out, by their names below it.
absl::StatusOr<std::vector<std::string>> FilesBelow(FileSystem& files,
                                                    const std::string& directory) {
  std::vector<std::string> found;
  ASSIGN_OR_RETURN(std::vector<std::string> left, files.List(directory));
  while (!left.empty()) {
    const std::string name = std::move(left.back());
    left.pop_back();
    ASSIGN_OR_RETURN(const FileStatus status, files.Stat(JoinPath(directory, name)));
    if (!status.is_directory) {
      if (status.size > 0) found.push_back(name);
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> below, files.List(JoinPath(directory, name)));
    for (const std::string& one : below) left.push_back(JoinPath(name, one));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

const std::string& CoveredKey() {
  static const std::string key = JoinRawKey({}, "covered");
  return key;
}

std::string EncodeCovered(const Covered& covered) {
  std::string bytes;
  AppendBig(covered.decree.value(), &bytes);
  AppendBig(covered.serial, &bytes);
  return bytes;
}
absl::StatusOr<Covered> CoveredBy(const Engine& store) {
  const absl::StatusOr<Record> record = store.Get(CoveredKey(), 0, ReadTier::kAll);
  if (absl::IsNotFound(record.status())) return Covered{};
  RETURN_IF_ERROR(record.status());
  ByteReader reader(record->value);
  Covered covered;
  covered.decree = Decree(reader.Big<int64_t>());
  covered.serial = reader.Big<int64_t>();
  if (!reader.ok() || !reader.rest().empty()) return absl::DataLossError("no decree");
  return covered;
}

IndexDirectory::IndexDirectory(FileSystem& files, EngineFactory& stores, std::string path)
    : files_(files), stores_(stores), path_(std::move(path)) {}

absl::StatusOr<bool> IndexDirectory::HasList() const {
  return IsThere(files_, JoinPath(path_, kListName));
}

absl::StatusOr<IndexList> IndexDirectory::ReadList() const {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(files_, JoinPath(path_, kListName)));
  return IndexList::Decode(bytes);
}

absl::Status IndexDirectory::WriteList(const IndexList& list) const {
  return WriteFileDurably(files_, JoinPath(path_, kListName), list.Encode());
}

absl::StatusOr<std::unique_ptr<IndexStore>> IndexDirectory::OpenStore() const {
  return stores_.OpenIndexStore(JoinPath(path_, kStoreName));
}

absl::Status IndexDirectory::Create() const {
  RETURN_IF_ERROR(files_.CreateDirectories(path_));
  return files_.SyncDirectory(ParentDirectory(path_));
}

absl::Status IndexDirectory::Remove() const {
  // First what says that there are indexes.
  RETURN_IF_ERROR(files_.RemoveAll(JoinPath(path_, kListName)));
  return files_.RemoveAll(path_);
}

absl::StatusOr<std::vector<std::string>> IndexDirectory::CopyTo(const std::string& to,
                                                                const IndexList& list,
                                                                IndexStore& store) const {
  ASSIGN_OR_RETURN(const bool is_there, HasCopy(to));
  if (is_there) return FilesBelow(files_, to);
  const std::string made = absl::StrCat(to, kMadeSuffix);
  RETURN_IF_ERROR(files_.RemoveAll(made));
  RETURN_IF_ERROR(files_.CreateDirectories(made));
  RETURN_IF_ERROR(store.CopyTo(JoinPath(made, kStoreName)));
  RETURN_IF_ERROR(WriteFileDurably(files_, JoinPath(made, kListName), list.Encode()));
  RETURN_IF_ERROR(files_.Rename(made, to));
  return FilesBelow(files_, to);
}

absl::Status IndexDirectory::RemoveCopy(const std::string& copy) const {
  RETURN_IF_ERROR(files_.RemoveAll(absl::StrCat(copy, kMadeSuffix)));
  return files_.RemoveAll(copy);
}

}  // namespace arion
