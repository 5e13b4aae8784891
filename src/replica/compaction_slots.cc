// SPDX-License-Identifier: Apache-2.0
#include "replica/compaction_slots.h"

namespace arion {

std::shared_ptr<void> CompactionSlots::TryTake(size_t disk, int32_t app_id, int32_t table_max) {
  const MutexLock lock(mutex_);
  int& here = of_disk_[disk];
  int& of_table = of_table_[app_id];
  // Of a table 0 means any number; of a disk the bound is fixed, since compactions compete for it.
  if (here >= kPerDisk || (table_max > 0 && of_table >= table_max)) return nullptr;
  ++here, ++of_table, ++counts_.running;
  // The deleter is the only thing about the pointer that matters: it gives the slot back.
  return {this, [self = shared_from_this(), disk, app_id](void*) {
            const MutexLock lock(self->mutex_);
            --self->of_disk_[disk], --self->counts_.running;
            if (--self->of_table_[app_id] == 0) self->of_table_.erase(app_id);
          }};
}

std::shared_ptr<void> CompactionSlots::Queue() {
  const MutexLock lock(mutex_);
  ++counts_.queued;
  return {this, [self = shared_from_this()](void*) {
            const MutexLock lock(self->mutex_);
            --self->counts_.queued;
          }};
}

CompactionSlots::Counts CompactionSlots::Now() const {
  const MutexLock lock(mutex_);
  return counts_;
}

}  // namespace arion
