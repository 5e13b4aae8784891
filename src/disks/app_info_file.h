// The table a replica belongs to, as its directory remembers it: file .app-info (engine/FORMAT.md
// 2.1).
//
// Shapes    08 00 00 DE AD BE EF 00, then Thrift-JSON:
//           {"0":{"rec":{"1":{"i32":1},"2":{"str":"pegasus"}, … }}}, fields in id order,
//           compact, then " crc32c:" and the CRC-32C of all before it, eight hex digits. Read
//           tolerantly: absent fields keep their defaults, unknown ids are read over, and older
//           versions write no checksum. Environments are not stored, except
//           rocksdb.allow_ingest_behind.
// Errors    NotFound: no such file. DataLoss: its content can't be understood.
// Threads   Load and Store wait for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>

namespace arion {

struct AppInfo;
class FileSystem;

// The file's name, in the replica's directory.
inline constexpr char kAppInfoName[] = ".app-info";

// The file's bytes without their checksum, as older versions write them.
std::string EncodeAppInfo(const AppInfo& info);
// DataLoss: wrong magic number, no JSON, a field of another type, or another checksum.
absl::StatusOr<AppInfo> DecodeAppInfo(std::string_view bytes);

absl::StatusOr<AppInfo> LoadAppInfo(FileSystem& files, const std::string& replica_directory);
// Atomic and durable: after a crash the file has the old content or the new. Older versions read it
// too, and pass over what stands behind the object.
absl::Status StoreAppInfo(FileSystem& files, const std::string& replica_directory,
                          const AppInfo& info);

}  // namespace arion
