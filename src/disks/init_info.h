// InitInfo: the small durable state of one replica, file .init-info (engine/FORMAT.md 2.2).
//
// Shapes    Compact JSON without a newline, these keys in this order:
//           {"init_ballot":3,"init_durable_decree":0,
//            "init_offset_in_shared_log":6500,"init_offset_in_private_log":0}
//           Blanks behind it fill a sector of 512 bytes, so that it can be written in place.
//           Extra keys are read over; missing ones read 0 only when every key present is one of
//           the four.
// Errors    NotFound: no such file. DataLoss: it can't be understood; the file stays as it is.
// Threads   Load and Store wait for the disk.
// Promises  init_info/N1  A crash at any moment leaves the old content or the new one, never
//               something else.
//           init_info/N2  After Store(OK) the new content is there, if the name of what lay there
//               before was durable. At an open it may not be, and content may be what a killed
//               process wrote and never synced: Settle makes both durable.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace arion {

class FileSystem;

// The file's name, in the replica's directory.
inline constexpr char kInitInfoName[] = ".init-info";

// What a replica must know of itself before it reads its log.
struct InitInfo {
  // The highest ballot this replica ever adopted.
  Ballot ballot;
  // An engine that stands below this decree is incomplete: data were lost.
  Decree durable;
  // Records of this replica below this offset of an older version's shared log are void.
  int64_t offset_in_shared_log = 0;
  // Records below this offset of the private log are void.
  int64_t offset_in_private_log = 0;
  // The state is a learner's (Standing in pacifica/effects.h): after a crash the replica may only
  // learn. Written as a fifth key, "arion_learner":1, only while it is so.
  bool is_learner = false;
  // A split made it, and no configuration has named it yet. Written as a key "arion_unborn":1, only
  // while it is so.
  bool is_unborn = false;
  // The data are another cluster's, and this replica has not been a member since: worth something
  // only if it becomes its partition's first primary. Written as a key "arion_foreign":1, only
  // while it is so.
  bool is_foreign = false;

  bool operator==(const InitInfo&) const = default;
};

// The JSON without the blanks behind it.
std::string EncodeInitInfo(const InitInfo& info);
// DataLoss: not such an object, or a key is missing beside keys that are not known.
absl::StatusOr<InitInfo> DecodeInitInfo(std::string_view bytes);

absl::StatusOr<InitInfo> LoadInitInfo(FileSystem& files, const std::string& replica_directory);
// Writes the sector in place where the file has its size, which costs one flush; else makes the
// file anew. Durable when it returns OK, in the bounds of init_info/N2.
absl::Status StoreInitInfo(FileSystem& files, const std::string& replica_directory,
                           const InitInfo& info);
// Store, and then a sync of the directory: at an open, for a state that Load returned.
absl::Status SettleInitInfo(FileSystem& files, const std::string& replica_directory,
                            const InitInfo& info);

}  // namespace arion
