// JournalMetaStore keeps the meta state in one file, `meta.journal`: every commit is one
// checksummed record, appended and synced; when most of the file is history it is written anew and
// replaced atomically.
//
// Shapes    File: 8 bytes "ARIONMJ1", then records. Record, little endian:
//             0 u32 length of the payload (> 0) · 4 u32 crc32c of bytes 8 .. end · 8 u64 serial ·
//             16 payload
//           Serials rise by one from record to record. Payload: u32 n, then n changes:
//             u8 1 = set, 0 = remove · u32 length, key · [u32 length, value]
//           Commits that arrive while one is being written share the next record: a record is all
//           or nothing.
// Errors    Load: DataLoss for a damaged record with a valid one behind it (durable bytes were
//           damaged: never guessed over) and for a damaged beginning. FailedPrecondition: another
//           process holds the directory. A damaged end is an interrupted commit: its bytes go to
//           `meta.journal.tail` (where there is room), then it is cut; this is reported. A new file
//           that can't be written is no failure: the old one grows on.
// Threads   Load: once, may wait for the disk. Commit: on the strand given there, always the same
//           one.
// Lifetime  The Environment outlives it. Destroyed with commits on their way: they may or may not
//           become durable.
// Promises  Those of MetaStore (meta_store/D1, meta_store/D2, meta_store/D3). After the first sync
//           that failed every Commit fails; what could not be appended is cut off before the next
//           record.
//           journal_meta_store/J1  What Load returned is durable: it was written again, for a sync
//               that failed in an earlier life leaves bytes that can be read and never reach the
//               disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "meta_state/meta_store.h"

namespace arion {

class Environment;
struct StoreRoom;

// Settings of one store.
struct JournalMetaStoreOptions {
  // Bytes. The file is written anew when it exceeds this and four times what a fresh one would
  // hold.
  uint64_t history_bytes_max = 1 << 20;
  // Bytes kept free for failovers on a full disk. At most a tenth of the disk; 0: none.
  uint64_t reserve_bytes = 64 << 20;
};

// The meta server's store. main makes it for the meta server's directory and owns it; it is
// destroyed after the MetaServer. Work that waits for the disk runs in the directory's pool.
//
//   JournalMetaStore store(env, "/data/meta");
//   ASSIGN_OR_RETURN(auto entries, store.Load());       // once; may wait
//   store.Commit({{"/apps/2", json}}, StoreNeed::kWhileRoom, strand,
//                [](const absl::Status& stored) { ... });  // meta_store/D1
class JournalMetaStore : public MetaStore {
 public:
  // `directory` is created by Load where it is missing.
  JournalMetaStore(Environment& env, std::string directory, JournalMetaStoreOptions options = {});
  ~JournalMetaStore() override;
  // A whole meta.journal that holds just these.
  static std::string FileOf(const std::map<std::string, std::string>& entries);

  absl::StatusOr<std::map<std::string, std::string>> Load() override;
  void Commit(std::vector<Change> batch, StoreNeed need, StrandPtr reply_on,
              absl::AnyInvocable<void(const absl::Status&)> done) override;
  void Look(StrandPtr reply_on, absl::AnyInvocable<void(const StoreRoom&)> done) override;
  std::string WayBack() const override;

 private:
  class Journal;
  class Queue;
  std::shared_ptr<Queue> queue_;
};

}  // namespace arion
