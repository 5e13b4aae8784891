// FileFetcher copies a list of files from another server into an empty directory, in checked
// chunks.
//
// Shapes    Each chunk is checked by the crc32c the source sends with it, each file by its
//           length and, where the source named one, by the checksum of the whole file. Chunks go
//           over Lane::kBulk.
// Errors    Unavailable: the source can't be reached, or what it sends stays damaged after the
//           retries. Others: our disk.
// Threads   Strand-bound; `done` comes on the strand, exactly once, never after Cancel. Files
//           are written in the pool.
// Promises  D1  done(OK): every file is complete, checked and durable, directories included.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "env/environment.h"
#include "messages/replication_messages.h"
#include "rpc/thrift_codec.h"
#include "rpc/transport.h"

namespace arion {

struct FileToFetch {
  std::string name;              // relative to both directories
  std::optional<uint64_t> size;  // nullopt: what the source says when asked
  std::optional<uint32_t> crc32c;
};

struct FetchPlan {
  Endpoint source;
  PartitionId pid;
  std::string source_directory;
  std::string source_disk_tag;
  std::string target_directory;  // removed and made anew
  std::vector<FileToFetch> files;
  std::string pool_path;  // exists, on the target's device
  PeerGeneration generation = PeerGeneration::k25;
};

class FileFetcher : public std::enable_shared_from_this<FileFetcher> {
 public:
  using Done = absl::AnyInvocable<void(const absl::Status&)>;

  FileFetcher(Environment& env, Transport& transport, StrandPtr strand, FetchPlan plan);
  void Start(Done done);
  // Nothing is reported any more; what is being written finishes and stays in the target directory.
  void Cancel() { done_ = nullptr; }
  uint64_t bytes_fetched() const { return bytes_fetched_; }

 private:
  struct OpenFile {
    std::unique_ptr<WritableFile> file;
  };
  void InPool(absl::AnyInvocable<absl::Status()> work, absl::AnyInvocable<void()> then);
  void AskSizes();
  void OnSizes(const RpcResult& result);
  void NextFile();
  void AskChunk();
  void OnChunk(const RpcResult& result);
  void RetryChunk(const std::string& why);
  void StoreChunk(std::string bytes);
  void FinishFile();
  void Finish(const absl::Status& status);
  bool is_cancelled() const { return done_ == nullptr; }

  Environment& env_;
  Transport& transport_;
  StrandPtr strand_;
  const FetchPlan plan_;
  Done done_;
  std::vector<uint64_t> sizes_;  // of plan_.files
  size_t file_index_ = 0;
  uint64_t offset_ = 0;
  uint32_t crc_ = 0;
  int attempts_ = 0;  // of the current chunk
  uint64_t bytes_fetched_ = 0;
  std::shared_ptr<OpenFile> open_ = std::make_shared<OpenFile>();
};

}  // namespace arion
