// IndexSet: the indexes of one replica, beside its data: what they are on, their entries, and how
// they keep up with what is applied.
//
// An entry is written when a record is, without a look at what was there before; so an index may
// hold entries whose record has changed or is gone. Whoever finds one looks at the record
// (index_finder.h). What an index never lacks is the entry of a record that is there.
//
// Entries of former fields go when all are built anew: a successor of each whole index is built
// beside it, while it answers, and takes its place. So it is where a person asks for it, and where
// the store has outgrown the data.
//
// Shapes    <replica>/index (index_directory.h). All of it may be lost: it is built anew from the data.
//           An older version passes over the directory.
// Errors    Of the store: what lacks space is told to the caller, who asks again; any other error
//           ends these indexes, and they are built anew, but never the replica.
// Threads   Thread-safe. Define, Renew, Load, Flush, Close and builders wait for the disk.
// Promises  index_set/I1  A listed index holds an entry for each record that was written since it was
//               listed, and a whole one for each record there is; in memory before the data have
//               the record, and on disk before the data are (BeforeFlush).
//           index_set/I2  What is on disk and does not cover the data, was built from later data, or a
//               store that is later than the list, is not used: an older version has written
//               meanwhile, a flush of the store failed, something was put back, or the directory was
//               copied while it was written.
//           index_set/I3  Entries go only once no list on disk says that they are whole.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>
#include <absl/types/span.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "engine/index_store.h"
#include "indexes/field_reader.h"
#include "indexes/index_directory.h"
#include "indexes/index_list.h"

namespace arion {

class Clock;
class FileSystem;
class IndexBuild;

struct IndexOptions {
  // Of a walk's step: a millisecond or two.
  int64_t step_records = 500;
  // A walk is saved each time it has read so much.
  uint64_t save_every_bytes = 512 << 20;
  // Of a store, beyond twice what the data account for: entries of former fields may take it.
  uint64_t former_bytes = 64 << 20;
  // So often is looked whether they take more.
  absl::Duration look_every = absl::Seconds(30);
};

// What one of them is at.
struct IndexProgress {
  std::string name;
  IndexDefinition definition;
  bool is_whole = false;
  // It is whole, and its successor is being built.
  bool is_renewed = false;
  // Of the first building, 0 to 100.
  int percent = 0;
  // Of the data, about: what is to be read until it is built or renewed, and how much of it is read in
  // a second now, for all indexes together.
  uint64_t left_bytes = 0;
  double bytes_per_second = 0;
  // Entries that were put, those of former fields too; records without such a field. About.
  int64_t entries = 0;
  int64_t left_out = 0;
};

// One for each engine; IndexedEngine owns it, and makes the calls that need an order.
class IndexSet : public std::enable_shared_from_this<IndexSet> {
 public:
  // `directory`: <replica>/index.
  IndexSet(FileSystem& files, const Clock& clock, EngineFactory& stores, std::string directory,
           const IndexOptions& options);
  ~IndexSet();

  const IndexOptions& options() const { return options_; }

  // Opens what is on disk, for these data. What can't be used is removed, and said.
  void Load(const Engine& data);
  // Calls `apply` once the entries of the mutations are in the store, or there is nothing to be
  // put. `waits`: Unavailable is not returned for the store's sake.
  absl::Status Around(absl::Span<const Engine::AppliedMutation> mutations, bool waits,
                      absl::FunctionRef<absl::Status()> apply);
  // Makes what is in the store durable. Called before the data are.
  void Flush();
  // These are the table's indexes from now on: records that are written get entries from here on.
  // What was there and is not named goes. In a pool, while no build is under way; `data`: the engine
  // around which it stands.
  absl::Status Define(const std::vector<NamedIndex>& indexes, const Engine& data);
  // Whether Define would change anything, or an index is to be built that is not paused.
  bool IsDefined(const std::vector<NamedIndex>& indexes) const;
  bool IsToBeBuilt() const;
  // The store has grown while the data have not: entries of former fields lie there. In a pool.
  bool IsOutgrown(const Engine& data) const;
  // Those that are whole are built anew from here on. As Define.
  absl::Status Renew(const Engine& data);
  // Begins to build all that are missing and not paused, from what `data` hold now, or goes on where
  // a walk for them was saved. nullptr: there are none. One at a time; it is ended before the engine
  // is.
  absl::StatusOr<std::unique_ptr<IndexBuild>> BeginBuild(Engine& data);

  // One index as a reader sees it.
  struct Reading {
    IndexProgress progress;
    uint32_t id = 0;
    // Its entries. Taken after the view of the data that the reader compares with.
    std::shared_ptr<const EngineView> entries;
  };
  // Makes a copy of what is whole at `directory`, as <replica>/index is, unless one is there; for data
  // as of this decree, of now or before. It stays while *hold lives. Its files, below `directory`;
  // none: nothing is whole. In a pool.
  absl::StatusOr<Engine::IndexFiles> Ship(const std::string& directory, Decree decree,
                                          std::shared_ptr<void>* hold);
  // Copies that nobody holds go. In a pool.
  absl::Status RemoveShipped();
  bool HasShipped() const { return has_shipped_.load(); }

  // nullopt: there is none of that name.
  std::optional<Reading> Read(std::string_view name) const;
  // false: entries of that id are about to go, or have; so what was read by them meanwhile may lack
  // some, whatever the view.
  bool IsCurrent(uint32_t id) const;
  std::vector<IndexProgress> Progress() const;
  // They can't be built as they are: from here on nothing is defined, and Define begins anew.
  void Abandon(const absl::Status& why);

  absl::Status Close();

 private:
  friend class IndexBuild;
  struct Counts {
    std::atomic<int64_t> entries{0}, left_out{0};
  };
  // What the writers need of the targets: replaced as a whole.
  struct Live {
    std::shared_ptr<IndexStore> store;
    // The list's.
    int64_t serial = 0;
    // EntryPrefix of each target, and its figures; in the reader's order.
    std::vector<std::string> prefixes;
    std::vector<std::shared_ptr<Counts>> counts;
    FieldReader reader;
  };

  absl::Status Put(absl::Span<const Engine::AppliedMutation> mutations, bool waits)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(apply_mutex_);
  absl::Status LoadList(const Engine& data) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  absl::Status OpenStore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  // Leaves nothing whole or saved that was made from later data than these; names the missing ones
  // anew, if a walk that was not saved may have left entries of theirs.
  absl::Status TakeUp(Decree decree, IndexList* list) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  absl::Status StoreList(IndexList list);
  // Stores it; then writers, readers and the store go by it.
  absl::Status Change(const IndexList& list, const Engine& data)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  IndexProgress ProgressOf(const ListedIndex& index) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // From here on these are the listed ones. `data`: nullptr: the store covers them already.
  absl::Status Install(IndexList list, const Engine* data);
  static absl::Status PutCovered(IndexStore& store, Decree decree, int64_t serial);
  std::shared_ptr<IndexStore> store() const;
  // With its list; nullptr: there is none, or it has failed.
  std::shared_ptr<IndexStore> Usable(IndexList* list) const;
  void GiveUp(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(apply_mutex_);
  absl::Status RemoveAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  absl::Status RemoveOthers(const IndexList& list) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  absl::Status MarkWhole(const std::vector<uint32_t>& ids, Decree at, const Engine& data);
  absl::Status SaveWalk(std::optional<SavedWalk> walk);
  absl::Status SaveWalkLocked(std::optional<SavedWalk> walk)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  void NotePace(uint64_t read_bytes, double bytes_per_second);

  const Clock& clock_;
  const IndexDirectory directory_;
  const IndexOptions options_;
  // Held while the list changes, disk and all.
  Mutex change_mutex_;
  struct Copy {
    std::weak_ptr<void> holder;
    // What it is a copy of.
    std::weak_ptr<const void> store;
  };
  // By directory.
  std::map<std::string, Copy> shipped_ ABSL_GUARDED_BY(change_mutex_);
  // There are some.
  std::atomic<bool> has_shipped_{false};
  // Held around each apply, which may wait for flushes of the data, and so for Flush: between two of
  // them everything is of one list.
  Mutex apply_mutex_ ABSL_ACQUIRED_AFTER(change_mutex_);
  std::unique_ptr<Live> live_ ABSL_GUARDED_BY(apply_mutex_);
  // Of what readers and Flush see; never held for long.
  mutable Mutex mutex_ ABSL_ACQUIRED_AFTER(apply_mutex_);
  IndexList list_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<IndexStore> store_ ABSL_GUARDED_BY(mutex_);
  // By id, of all targets.
  std::map<uint32_t, std::shared_ptr<Counts>> counts_ ABSL_GUARDED_BY(mutex_);
  // The store has failed.
  bool is_given_up_ ABSL_GUARDED_BY(mutex_) = false;
  // Of the data when a walk was last begun; of the walk under way, or that was saved.
  uint64_t data_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t read_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  double bytes_per_second_ ABSL_GUARDED_BY(mutex_) = 0;
  // Memory of Put.
  std::string bytes_ ABSL_GUARDED_BY(apply_mutex_);
  std::vector<WriteOp> ops_ ABSL_GUARDED_BY(apply_mutex_);
  std::vector<size_t> ends_ ABSL_GUARDED_BY(apply_mutex_);
};

}  // namespace arion
