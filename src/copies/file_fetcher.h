// FileFetcher copies a list of files from another server into a directory of its own, in checked
// chunks.
//
// Shapes    Each file is checked by its length and, where the source named one, by the checksum
//           of the whole file; a chunk by the crc32c that a source may send with it. Chunks go
//           over Lane::kBulk. What an interrupted copy left in the target is taken over where it
//           may be a piece of a file with a checksum, and removed elsewhere.
// Errors    Unavailable: the source can't be reached, or what it sends stays damaged after the
//           retries. Others: our disk.
// Threads   Strand-bound; `done` comes on the strand, exactly once, never after Cancel. Files
//           are written in the pool.
// Promises  file_fetcher/D1  done(OK): every file is complete, checked and durable, directories
//               included.
//           file_fetcher/D2  Whatever the end, no file stays open, and none is closed on the
//               strand.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

// What of a file is here already.
struct FilePiece {
  uint64_t bytes = 0;
  uint32_t crc = 0;
};

struct FetchPlan {
  Endpoint source;
  PartitionId pid;
  std::string source_directory;
  std::string source_disk_tag;
  std::string target_directory;  // holds nothing else
  std::string target_disk_tag;
  std::vector<FileToFetch> files;
  std::string pool_path;  // exists, on the target's device
  // Runs its work in that path's bulk pool, then the second with what came of it on the strand.
  std::function<void(absl::AnyInvocable<absl::Status()>, absl::AnyInvocable<void(absl::Status)>)>
      in_pool;
  PeerGeneration generation = PeerGeneration::k25;
  // When so many bytes may be asked for; empty: at once.
  std::function<absl::Duration(uint64_t bytes)> pace;
  // Called on the strand for each answer that no correct source gives; may be empty.
  std::function<void()> on_odd_answer;
};

class FileFetcher : public std::enable_shared_from_this<FileFetcher> {
 public:
  using Done = absl::AnyInvocable<void(const absl::Status&)>;

  FileFetcher(Environment& env, Transport& transport, StrandPtr strand, FetchPlan plan);
  ~FileFetcher();
  void Start(Done done);
  // Nothing is reported any more, and no work in the pool begins; what is being written finishes and
  // stays in the target directory.
  void Cancel() {
    done_ = nullptr;
    *cancelled_ = true;
  }
  uint64_t bytes_fetched() const { return bytes_fetched_; }
  // Of an earlier copy; they did not have to be fetched.
  uint64_t bytes_kept() const { return bytes_kept_; }

 private:
  struct OpenFile {
    std::unique_ptr<WritableFile> file;
  };
  void InPool(absl::AnyInvocable<absl::Status()> work, absl::AnyInvocable<void()> then);
  void AskSizes();
  void OnSizes(const RpcResult& result);
  void NextFile();
  void OpenNext();
  void NextChunk();
  void AskChunk();
  void AskChunkAfter(absl::Duration delay);
  struct Chunk;
  static absl::Status Store(WritableFile& file, Chunk* chunk);
  void OnChunk(RpcResult result);
  void RetryChunk(const std::string& why);
  void NoteOddAnswer() const;
  void OnOutage(std::string_view why);
  void FinishFile();
  void LetGoOfFile();
  void Finish(const absl::Status& status);
  std::string Position() const;  // for messages
  bool is_cancelled() const { return done_ == nullptr; }

  Environment& env_;
  Transport& transport_;
  StrandPtr strand_;
  const FetchPlan plan_;
  Done done_;
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  std::vector<uint64_t> sizes_;    // of plan_.files
  std::vector<FilePiece> pieces_;  // of plan_.files
  size_t file_index_ = 0;
  uint64_t offset_ = 0;
  uint32_t crc_ = 0;
  int attempts_ = 0;  // of the current chunk
  int outages_ = 0;   // of the current chunk
  uint64_t bytes_fetched_ = 0;
  uint64_t bytes_kept_ = 0;
  std::shared_ptr<OpenFile> open_ = std::make_shared<OpenFile>();  // the pool's
  bool may_be_open_ = false;
};

}  // namespace arion
