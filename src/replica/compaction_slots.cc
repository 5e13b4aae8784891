// SPDX-License-Identifier: Apache-2.0
#include "replica/compaction_slots.h"

namespace arion {

std::shared_ptr<void> CompactionSlots::TryTake(size_t disk, int32_t app_id, int32_t table_max) {
  const MutexLock lock(mutex_);
  int& here = of_disk_[disk];
  int& of_table = of_table_[app_id];
  if (here >= kPerDisk || (table_max > 0 && of_table >= table_max)) return nullptr;
  ++here, ++of_table, ++counts_.running;
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
