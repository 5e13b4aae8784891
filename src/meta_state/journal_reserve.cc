// SPDX-License-Identifier: Apache-2.0
#include "meta_state/journal_reserve.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "env/file_system.h"

namespace arion {
namespace {

constexpr uint64_t kLowBytesMax = 4 << 20;
constexpr uint64_t kBlockBytes = 4096;
// A record may need a block of its own, and the file system one to find it again.
constexpr uint64_t kPieceSpareBytes = 2 * kBlockBytes;

std::string MiB(uint64_t bytes) {
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

uint64_t PieceFor(uint64_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes + kPieceSpareBytes;
}

}  // namespace

JournalReserve::JournalReserve(FileSystem& files, const std::string& directory, uint64_t bytes)
    : files_(files), directory_(directory), bytes_(bytes), reserve_(files, directory) {
  room_.path = directory;
}

void JournalReserve::OnNoSpace() { room_.is_short = true; }

bool JournalReserve::GiveUpFor(uint64_t bytes) {
  const absl::StatusOr<uint64_t> before = reserve_.Size();
  if (!before.ok() || *before == 0) return false;
  const absl::StatusOr<uint64_t> left = reserve_.ShrinkBy(PieceFor(bytes));
  if (left.ok()) room_.reserve_bytes = *left;
  return left.ok();
}

bool JournalReserve::GiveUpForAllOf(uint64_t bytes) {
  return reserve_.Size().value_or(0) >= PieceFor(bytes) && GiveUpFor(bytes);
}

void JournalReserve::TakeBack(uint64_t bytes) {
  const absl::StatusOr<uint64_t> size = reserve_.Size();
  if (!is_short() || !size.ok() || *size >= room_.reserve_bytes_wanted) return;
  const absl::StatusOr<uint64_t> grown =
      reserve_.GrowBy(std::min(bytes, room_.reserve_bytes_wanted - *size));
  if (grown.ok()) room_.reserve_bytes = *grown;  // else at the next look
}

StoreRoom JournalReserve::Look() {
  const absl::StatusOr<FileSystem::Space> space = files_.SpaceOf(directory_);
  if (!space.ok()) return room_;
  room_.reserve_bytes_wanted = std::min(bytes_, space->total_bytes / 10);
  const uint64_t low = std::min(kLowBytesMax, space->total_bytes / 50);
  const absl::StatusOr<uint64_t> size = Tend(space->available_bytes, low);
  // Measured again, because the reserve has just grown or shrunk.
  const absl::StatusOr<FileSystem::Space> left = files_.SpaceOf(directory_);
  room_.available_bytes = left.ok() ? left->available_bytes : space->available_bytes;
  if (size.ok()) room_.reserve_bytes = *size;
  // One that can't be made, whatever room there is, is not waited for.
  const bool has_failed = !size.ok() && !absl::IsResourceExhausted(size.status());
  if (has_failed && !std::exchange(said_failed_, true))
    LOG(WARNING) << "meta: no reserve is kept for a full disk: " << size.status();
  const bool is_whole = has_failed || (size.ok() && *size >= room_.reserve_bytes_wanted);
  if (room_.available_bytes < low) room_.is_short = true;
  if (room_.available_bytes >= 2 * low && is_whole) room_.is_short = false;
  if (room_.is_short != std::exchange(said_short_, room_.is_short)) {
    if (room_.is_short)
      LOG(ERROR)
          << "meta: the disk of " << directory_ << " is full: " << MiB(room_.available_bytes)
          << " available; changes of tables are refused, failovers are stored with a reserve of "
          << MiB(room_.reserve_bytes);
    else
      LOG(WARNING) << "meta: the disk of " << directory_
                   << " has room again: " << MiB(room_.available_bytes)
                   << " available; changes of tables are taken";
  }
  return room_;
}

absl::StatusOr<uint64_t> JournalReserve::Tend(uint64_t available_bytes, uint64_t low_bytes) {
  ASSIGN_OR_RETURN(const uint64_t size, reserve_.Size());
  const uint64_t wanted = room_.reserve_bytes_wanted;
  if (size > wanted) return reserve_.ShrinkBy(size - wanted);
  if (size == wanted || available_bytes <= 2 * low_bytes) return size;
  // It takes only what lies above twice the bound: otherwise the reserve itself would make room
  // short.
  return reserve_.GrowBy(std::min(wanted - size, available_bytes - 2 * low_bytes));
}

}  // namespace arion
