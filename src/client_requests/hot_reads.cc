// SPDX-License-Identifier: Apache-2.0
#include "client_requests/hot_reads.h"

#include <set>
#include <utility>

#include "base/coding.h"
#include "base/crc.h"
#include "base/status.h"
#include "env/file_system.h"

namespace arion {
namespace {

constexpr size_t kKeyBytesMax = 1024;
constexpr uint64_t kOneIn = 8;
constexpr std::string_view kMagic = "ARHR";
constexpr uint32_t kVersion = 1;
constexpr char kName[] = ".arion-hot-reads";

}  // namespace

void HotReads::Note(std::string_view raw_key) {
  // Long keys would fill the sample.
  if (seen_++ % kOneIn != 0 || raw_key.size() > kKeyBytesMax) return;
  while (last_.size() == kKeysMax || bytes_ + raw_key.size() > kBytesMax) {
    bytes_ -= last_.front().size();
    last_.pop_front();
  }
  bytes_ += raw_key.size();
  last_.emplace_back(raw_key);
}

std::vector<std::string> HotReads::Keys() const {
  // Sorted as well: neighbouring keys share blocks, so warming reads them once.
  const std::set<std::string> once(last_.begin(), last_.end());
  return {once.begin(), once.end()};
}

absl::Status StoreHotReads(FileSystem& files, const std::string& replica_directory,
                           const std::vector<std::string>& keys) {
  std::string bytes(kMagic);
  AppendLittle(kVersion, &bytes);
  for (const std::string& key : keys) {
    AppendLittle(static_cast<uint32_t>(key.size()), &bytes);
    bytes += key;
  }
  AppendLittle(Crc32c(bytes), &bytes);
  return WriteFileDurably(files, JoinPath(replica_directory, kName), bytes);
}

absl::StatusOr<std::vector<std::string>> LoadHotReads(FileSystem& files,
                                                      const std::string& replica_directory) {
  const std::string path = JoinPath(replica_directory, kName);
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(files, path));
  const absl::Status damaged = absl::DataLossError(absl::StrCat(path, " is damaged"));
  // Shorter than its own checksum.
  if (bytes.size() < sizeof(uint32_t)) return damaged;
  const std::string_view content = std::string_view(bytes).substr(0, bytes.size() - 4);
  if (Crc32c(content) != LoadLittle<uint32_t>(bytes.data() + content.size())) return damaged;
  ByteReader reader(content);
  if (reader.Bytes(kMagic.size()) != kMagic || reader.Little<uint32_t>() != kVersion)
    return damaged;
  std::vector<std::string> keys;
  while (!reader.rest().empty()) {
    // A length beyond the end makes the reader fail.
    keys.emplace_back(reader.Bytes(reader.Little<uint32_t>()));
    if (!reader.ok()) return damaged;
  }
  return keys;
}

}  // namespace arion
