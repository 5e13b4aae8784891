// SPDX-License-Identifier: Apache-2.0
#include "client_requests/owned_keys.h"

#include <utility>

#include "base/log.h"
#include "client_requests/admission.h"
#include "client_requests/client_reads.h"
#include "client_requests/office.h"
#include "data_api/compaction_wishes.h"

namespace arion {

KeyOwnership OwnedKeys::Told() {
  // owned_keys/K1: only Arion's meta servers number what they tell.
  if (!partition_.office.app().version) return {};
  return admission_.Settings().KeysOf(partition_.pid.index);
}

void OwnedKeys::Consider() {
  CHECK_ON_STRAND(partition_.strand);
  if (partition_.office.IsClosed() || partition_.engine == nullptr) return;
  const KeyOwnership told = Told();
  partition_.figures().SetOthersThere(AreOthersThere());
  if (told == partition_.engine->ownership()) return;
  if (!told.MayDrop() || !reads_.HasFormerScans()) {
    partition_.engine->SetOwnership(told);
    return on_told_();
  }
  if (std::exchange(is_looked_for_, true)) return;
  partition_.strand->PostAfter(kLookAgain, [this, weak = partition_.owner()] {
    const std::shared_ptr<void> owner = weak.lock();
    if (owner == nullptr) return;
    is_looked_for_ = false;
    Consider();
  });
}

int32_t OwnedKeys::DueCompaction() {
  partition_.figures().SetOthersThere(AreOthersThere());
  // An operator's brake stops this one too.
  if (partition_.engine == nullptr || admission_.Settings().compaction.is_disabled) return 0;
  return CompactionAfterSplit(admission_.Settings().was_split, partition_.engine->ownership(),
                              partition_.engine->compacted_for());
}

bool OwnedKeys::AreOthersThere() {
  return partition_.engine != nullptr &&
         CompactionAfterSplit(admission_.Settings().was_split, Told(),
                              partition_.engine->compacted_for()) > 0;
}

}  // namespace arion
