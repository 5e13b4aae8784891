// DataDirectoryClaim: this server's exclusive right to one data directory, held while it lives.
//
// Shapes    .arion-lock (locked), .arion-server (the address of the server the data belong to,
//           written at first use, and the CRC-32C of that line in hex). A damaged .arion-server is
//           kept as .arion-server.damaged and written anew.
// Errors    FailedPrecondition: locked by a running server (its pid is named), of another server,
//           or encrypted by an older version; the message says what to do. PermissionDenied: the
//           directory may not be written. Others: the disk.
// Threads   Claim and destruction wait for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>

#include "base/ids.h"
#include "env/file_system.h"

namespace arion {

// The file that names the server a directory belongs to.
inline constexpr char kDataDirectoryOwnerName[] = ".arion-server";

// Destroying it unlocks the directory; the files stay. A process that dies unlocks it too.
class DataDirectoryClaim {
 public:
  // Creates the directory if it is missing, locks it, checks whose it is, and proves that it can be
  // written and read. A full disk is no error: what it holds can still be served.
  static absl::StatusOr<std::unique_ptr<DataDirectoryClaim>> Claim(FileSystem& files,
                                                                   const std::string& path,
                                                                   Endpoint server);

 private:
  explicit DataDirectoryClaim(std::unique_ptr<WritableFile> lock) : lock_(std::move(lock)) {}
  std::unique_ptr<WritableFile> lock_;
};

}  // namespace arion
