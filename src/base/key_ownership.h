// KeyOwnership: which keys are a partition's. A split leaves each half with the records of both;
// by this the others are not shown, and are dropped.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "base/crc.h"

namespace arion {

struct KeyOwnership {
  // Of the partition.
  int32_t index = 0;
  // Of the table's partitions; 0: it is not known, or nobody wants it checked. Then all keys are.
  int32_t count = 0;

  bool IsChecked() const { return count > 0; }
  // By the hash of a key, as clients route it (engine/FORMAT.md 5.1).
  bool Owns(uint64_t partition_hash) const {
    return !IsChecked() ||
           partition_hash % static_cast<uint64_t>(count) == static_cast<uint64_t>(index);
  }
  bool OwnsKey(std::string_view raw_key) const {
    return !IsChecked() || Owns(PartitionHash(raw_key));
  }
  bool OwnsKey(std::string_view hash_key, std::string_view sort_key) const {
    return !IsChecked() || Owns(PartitionHash(hash_key, sort_key));
  }
  // Whether it is known well enough to drop what it does not own: a partition that is not among
  // `count` owns nothing, and loses nothing.
  bool MayDrop() const { return 0 <= index && index < count; }
  bool operator==(const KeyOwnership&) const = default;
};

}  // namespace arion
