// ServedFiles: what other servers may copy from this one (RPC_NFS_GET_FILE_SIZE, RPC_NFS_COPY):
// exactly the files that were handed out to a learner, and nothing else of the disk.
//
// Shapes    A file is named by the directory it was handed out with and its relative name. Sizes
//           are those of the moment it was handed out; nothing beyond is served. A file is opened
//           once for all who copy it from the same share. Where the kernel can hand a file's bytes
//           to a socket, they do not pass through the process (env/held_bytes.h) and carry no
//           checksum of their own: the file's counts.
// Errors    In the answers: kObjectNotFound: not handed out; kHandleEof: beyond the file's size;
//           kFileOperationFailed: the disk.
// Threads   Thread-safe. Sizes, Read, Answer wait for the disk.
// Lifetime  Files are served while the returned share lives; it keeps `hold` (a checkpoint's).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "messages/replication_messages.h"

namespace arion {

class FileSystem;
class ReadableFile;
struct ReplyBody;

// One for a server. Held by shared_ptr; shares may outlive it.
class ServedFiles : public std::enable_shared_from_this<ServedFiles> {
 public:
  // The most that one request may ask for.
  static constexpr int32_t kReadBytesMax = 16 << 20;

  explicit ServedFiles(FileSystem& files) : files_(files) {}

  // File name (relative to `directory`) and size.
  using Names = std::map<std::string, uint64_t>;
  // Serves these files of `directory` until the returned object, and all copies of it, are gone.
  std::shared_ptr<void> Share(std::string directory, Names names, std::shared_ptr<void> hold);

  // Whether something of `directory` is served. Then the directory exists.
  bool Serves(const std::string& directory) const;
  // How often something of `directory` was asked for since it is served; it rises as long as
  // somebody copies.
  uint64_t AsksFor(const std::string& directory) const;
  // The sizes of the files named; of all that are served from the directory if none is named.
  GetFileSizeResponse Sizes(const GetFileSizeRequest& request) const;
  // The bytes asked for, all of them or an error, with their crc32c.
  CopyResponse Read(const CopyRequest& request) const;
  // What Read says, wrapped and encoded. Its bytes may be the file's own.
  ReplyBody Answer(const CopyRequest& request) const;

 private:
  // Files of a checkpoint that are served, and those of them that are open.
  struct Shared {
    Names names;
    std::shared_ptr<void> hold;
    mutable std::atomic<uint64_t> asks = 0;
    mutable Mutex mutex = {};
    mutable std::map<std::string, std::shared_ptr<const ReadableFile>> open
        ABSL_GUARDED_BY(mutex) = {};
  };
  // The file that is asked for. nullptr: that part of it is not served, and *refusal says why.
  std::shared_ptr<const ReadableFile> FileFor(const CopyRequest& request, ErrorCode* refusal) const;
  absl::StatusOr<std::shared_ptr<const ReadableFile>> Open(const Shared& shared,
                                                           const CopyRequest& request) const;
  // The share that serves this file; keeps it while the file is read.
  std::shared_ptr<const Shared> Find(const std::string& directory, const std::string& name) const;
  void Unshare(const std::string& directory, const Shared* shared);

  FileSystem& files_;
  mutable Mutex mutex_;
  std::map<std::string, std::vector<std::shared_ptr<const Shared>>> directories_
      ABSL_GUARDED_BY(mutex_);
};

// Whether this is a relative path without empty, "." or ".." parts.
bool IsSafeRelativeName(std::string_view name);

}  // namespace arion
