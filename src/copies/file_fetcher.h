// FileFetcher copies a list of files from another server into a directory of its own, in checked
// chunks.
//
// Shapes    Each file is checked by its length and, where the source named one, by the checksum of
//           the whole file; a chunk by the crc32c that a source may send with it. Chunks go over
//           Lane::kBulk. What an interrupted copy left in the target is taken over where it may be
//           a piece of a file with a checksum, and removed elsewhere.
// Errors    Unavailable: the source can't be reached, no longer has the files, or what it sends
//           stays damaged after the retries. Others: our disk.
// Threads   Strand-bound; `done` comes on the strand, exactly once, never after Cancel. Files are
//           written in the pool.
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
#include "env/file_system.h"
#include "messages/replication_messages.h"
#include "rpc/thrift_codec.h"
#include "rpc/transport.h"

namespace arion {

class WritableFile;

// One file of the list.
struct FileToFetch {
  // Relative to both directories.
  std::string name;
  // nullopt: what the source says when asked.
  std::optional<uint64_t> size;
  // Of the whole file; nullopt: the source named none.
  std::optional<uint32_t> crc32c;
};

// How much of a file is here already, and the checksum of that.
struct FilePiece {
  uint64_t bytes = 0;
  uint32_t crc = 0;
};

// What to copy, from where to where, and by which means.
struct FetchPlan {
  Endpoint source;
  PartitionId pid;
  std::string source_directory;
  std::string source_disk_tag;
  // Holds nothing else: what is there and not wanted is removed.
  std::string target_directory;
  std::string target_disk_tag;
  std::vector<FileToFetch> files;
  // A path that exists on the target's device.
  std::string pool_path;
  // Runs the first function in that path's bulk pool, then the second on the strand with its
  // result.
  std::function<void(absl::AnyInvocable<absl::Status()>, absl::AnyInvocable<void(absl::Status)>)>
      in_pool;
  // How the source encodes its messages.
  PeerGeneration generation = PeerGeneration::k25;
  // How long to wait before so many bytes are asked for. Empty: never.
  std::function<absl::Duration(uint64_t bytes)> pace;
  // Called on the strand for each answer that no correct source gives. May be empty.
  std::function<void()> on_odd_answer;
};

// Held by shared_ptr. One copy: Start once; then either `done` comes, or Cancel is called, or it is
// destroyed. After an error the target holds what came so far; a new fetcher takes that over.
class FileFetcher : public std::enable_shared_from_this<FileFetcher> {
 public:
  using Done = absl::AnyInvocable<void(const absl::Status&)>;

  FileFetcher(Environment& env, Transport& transport, StrandPtr strand, FetchPlan plan);
  ~FileFetcher();
  // Begins. Files are copied one after the other, in chunks of 512 KiB.
  void Start(Done done);
  // Ends the copy: `done` is not called, and no work in the pool begins. What is being written
  // finishes and stays in the target directory.
  void Cancel() {
    done_ = nullptr;
    *cancelled_ = true;
  }
  // Received and written so far.
  uint64_t bytes_fetched() const { return bytes_fetched_; }
  // Found in the target, from an earlier copy; they did not have to be fetched.
  uint64_t bytes_kept() const { return bytes_kept_; }

 private:
  // Shared with jobs in the pool, which may outlive the fetcher.
  struct OpenFile {
    std::unique_ptr<WritableFile> file;
  };
  void InPool(absl::AnyInvocable<absl::Status()> work, absl::AnyInvocable<void()> then);
  // The steps: prepare the target, ask for sizes, then for each file open, chunks, finish.
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
  // Where the copy is, for messages.
  std::string Position() const;
  bool is_cancelled() const { return done_ == nullptr; }

  Environment& env_;
  Transport& transport_;
  StrandPtr strand_;
  const FetchPlan plan_;
  Done done_;
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  // Of plan_.files, as the next.
  std::vector<uint64_t> sizes_;
  std::vector<FilePiece> pieces_;
  size_t file_index_ = 0;
  // Of the next chunk in the current file, and the checksum of what is before it.
  uint64_t offset_ = 0;
  uint32_t crc_ = 0;
  // Of the current chunk: how often it came damaged, and how often it did not come.
  int attempts_ = 0;
  int outages_ = 0;
  uint64_t bytes_fetched_ = 0;
  uint64_t bytes_kept_ = 0;
  // Belongs to the pool.
  std::shared_ptr<OpenFile> open_ = std::make_shared<OpenFile>();
  bool may_be_open_ = false;
};

}  // namespace arion
