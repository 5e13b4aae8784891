// ScannerTable: a replica's scans under way, by the ids clients continue them with.
//
// Shapes    An id is >= 0 and works once; each batch gets a new one. Its high bits are chosen by
//           chance in each life of a replica, so that ids of other servers and lives are not found
//           here.
// Threads   Strand-bound.
// Promises  A scan that is not continued for kLifetime is dropped. Of more than kScansMax scans the
//           one unused for longest is dropped.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "base/instant.h"
#include "data_api/read_operations.h"

namespace arion {

// Life cycle of a scan: NewId, Keep after its batch, Take when the client comes back with the id.
class ScannerTable {
 public:
  static constexpr absl::Duration kLifetime = absl::Minutes(5);
  static constexpr size_t kScansMax = 1000;

  // Before the first id. `chance`: any random number.
  void Seed(uint64_t chance) { life_ = static_cast<uint32_t>(chance) & 0x7fffffff; }
  bool is_seeded() const { return life_ >= 0; }

  // An id that nobody has yet. It counts only once Keep is called with it.
  int64_t NewId() { return IdOf(next_++); }
  // Holds the cursor until its id comes back.
  void Keep(int64_t id, std::unique_ptr<ScanCursor> cursor, Instant now) {
    scans_[SerialOf(id)] = {std::move(cursor), now};
    // The first in the map is the oldest: serial numbers rise.
    while (scans_.size() > kScansMax) scans_.erase(scans_.begin());
  }
  // Takes the cursor out. Null: the id is unknown, was used before, or has expired.
  std::unique_ptr<ScanCursor> Take(int64_t id, Instant now) {
    // Here too, so that a scan is not continued past its time only because nobody looked.
    DropUnused(now);
    const auto it = IsOurs(id) ? scans_.find(SerialOf(id)) : scans_.end();
    if (it == scans_.end()) return nullptr;
    std::unique_ptr<ScanCursor> cursor = std::move(it->second.cursor);
    scans_.erase(it);
    return cursor;
  }
  // The client does not need it any more. Ids that are not known are ignored.
  void Forget(int64_t id) {
    if (IsOurs(id)) scans_.erase(SerialOf(id));
  }
  // Drops the scans that were not continued in time. Later ids are of later use, so the first are
  // the oldest.
  void DropUnused(Instant now) {
    while (!scans_.empty() && now - scans_.begin()->second.used >= kLifetime)
      scans_.erase(scans_.begin());
  }
  // Drops all scans.
  void Clear() { scans_.clear(); }
  size_t size() const { return scans_.size(); }

 private:
  struct Scan {
    std::unique_ptr<ScanCursor> cursor;
    Instant used;
  };
  // An id's high 32 bits are the life's, its low 32 bits the low bits of a serial number.
  int64_t IdOf(uint64_t serial) const { return life_ << 32 | static_cast<uint32_t>(serial); }
  bool IsOurs(int64_t id) const { return id >= 0 && id >> 32 == life_; }
  // The newest serial with those low bits.
  uint64_t SerialOf(int64_t id) const {
    const uint64_t serial = (next_ & ~uint64_t{0xffffffff}) | static_cast<uint32_t>(id);
    // The low bits may have wrapped around since the id was given out: then it belongs to the round
    // before.
    return serial < next_ || serial <= 0xffffffff ? serial : serial - (uint64_t{1} << 32);
  }

  // -1: not seeded.
  int64_t life_ = -1;
  uint64_t next_ = 0;
  std::map<uint64_t, Scan> scans_;
};

}  // namespace arion
