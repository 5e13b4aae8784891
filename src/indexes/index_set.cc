// Three mutexes: change_mutex_ is held for as long as a change of the list takes, apply_mutex_
// around an apply, mutex_ for a moment. A change prepares everything, stores the list, and exchanges
// what writers see between two applies.
// SPDX-License-Identifier: Apache-2.0
#include "indexes/index_set.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "env/file_system.h"
#include "indexes/field_order.h"
#include "indexes/index_build.h"

namespace arion {
namespace {

// A view of a store, which it keeps.
class HeldView : public EngineView {
 public:
  explicit HeldView(std::shared_ptr<IndexStore> store)
      : store_(std::move(store)), view_(store_->View()) {}
  absl::StatusOr<Record> Get(std::string_view raw_key, uint32_t now, ReadTier tier) const override {
    return view_->Get(raw_key, now, tier);
  }
  std::unique_ptr<RecordIterator> Walk(KeyRange range, Direction direction) const override {
    return view_->Walk(std::move(range), direction);
  }

 private:
  const std::shared_ptr<IndexStore> store_;
  const std::shared_ptr<const EngineView> view_;
};

std::vector<IndexDefinition> DefinitionsOf(const std::vector<IndexTarget>& targets) {
  std::vector<IndexDefinition> definitions;
  definitions.reserve(targets.size());
  for (const IndexTarget& target : targets) definitions.push_back(target.definition);
  return definitions;
}

}  // namespace

IndexSet::IndexSet(FileSystem& files, const Clock& clock, EngineFactory& stores,
                   std::string directory, const IndexOptions& options)
    : clock_(clock), directory_(files, stores, std::move(directory)), options_(options) {}

IndexSet::~IndexSet() = default;

void IndexSet::Load(const Engine& data) {
  const MutexLock change(change_mutex_);
  const absl::StatusOr<bool> is_there = directory_.HasList();
  if (is_there.ok() && !*is_there) return;
  const absl::Status loaded = is_there.ok() ? LoadList(data) : is_there.status();
  if (loaded.ok()) return;
  LOG(WARNING) << directory_.path() << ": the indexes are built anew: " << loaded;
  const absl::Status removed = RemoveAll();
  LOG_IF(WARNING, !removed.ok()) << directory_.path() << ": " << removed;
}

absl::Status IndexSet::LoadList(const Engine& data) {
  ASSIGN_OR_RETURN(IndexList list, directory_.ReadList());
  RETURN_IF_ERROR(OpenStore());
  ASSIGN_OR_RETURN(const Covered covered, CoveredBy(*store()));
  const Decree decree = data.last_applied();
  // index_set/I2
  if (covered.decree < decree)
    return absl::FailedPreconditionError(absl::StrCat("they cover decree ", covered.decree.value(),
                                                      ", the data stand at ", decree.value()));
  if (covered.serial > list.serial)
    return absl::FailedPreconditionError(absl::StrCat("the list is number ", list.serial,
                                                      ", the store is of number ", covered.serial));
  RETURN_IF_ERROR(TakeUp(decree, &list));
  {
    const MutexLock lock(mutex_);
    data_bytes_ = data.size_bytes();
    read_bytes_ = list.walk ? list.walk->bytes : 0;
  }
  RETURN_IF_ERROR(RemoveOthers(list));
  return Install(std::move(list), nullptr);
}

absl::Status IndexSet::TakeUp(Decree decree, IndexList* list) {
  if (list->walk && list->walk->at > decree) list->walk = std::nullopt;
  const auto is_of_walk = [&list](uint32_t id) {
    return std::find(list->walk->ids.begin(), list->walk->ids.end(), id) != list->walk->ids.end();
  };
  bool any_renamed = false;
  for (ListedIndex& index : list->indexes) {
    if (index.whole_at > decree) {
      index.whole_at = kInvalidDecree;
      index.successor = std::nullopt;
    }
    if (index.missing() == nullptr || (list->walk && is_of_walk(index.missing()->id))) continue;
    (index.is_whole() ? *index.successor : index.current) = {.id = list->next_id++};
    any_renamed = true;
  }
  if (any_renamed) RETURN_IF_ERROR(StoreList(*list));
  // Nothing else removes what an earlier one left.
  return list->walk ? absl::OkStatus() : store()->NewBulkWriter({}).status();
}

std::shared_ptr<IndexStore> IndexSet::store() const {
  const MutexLock lock(mutex_);
  return store_;
}

absl::Status IndexSet::OpenStore() {
  ASSIGN_OR_RETURN(std::unique_ptr<IndexStore> store, directory_.OpenStore());
  const MutexLock lock(mutex_);
  store_ = std::move(store);
  is_given_up_ = false;
  return absl::OkStatus();
}

absl::Status IndexSet::StoreList(IndexList list) {
  {
    const MutexLock lock(mutex_);
    for (ListedIndex& index : list.indexes) {
      for (IndexGeneration* generation :
           {&index.current, index.successor ? &*index.successor : nullptr}) {
        if (generation == nullptr) continue;
        const auto known = counts_.find(generation->id);
        if (known == counts_.end()) continue;
        generation->entries = known->second->entries.load();
        generation->left_out = known->second->left_out.load();
      }
    }
  }
  return directory_.WriteList(list);
}

absl::Status IndexSet::Install(IndexList list, const Engine* data) {
  const std::vector<IndexTarget> targets = list.Targets();
  std::unique_ptr<Live> live;
  if (!targets.empty())
    live.reset(new Live{.store = store(),
                        .serial = list.serial,
                        .prefixes = {},
                        .counts = {},
                        .reader = FieldReader(DefinitionsOf(targets))});
  std::map<uint32_t, std::shared_ptr<Counts>> counts;
  for (const auto& [generation, definition] : targets) {
    std::shared_ptr<Counts>& its = counts[generation.id];
    {
      const MutexLock lock(mutex_);
      if (const auto known = counts_.find(generation.id); known != counts_.end())
        its = known->second;
    }
    if (its == nullptr) {
      its = std::make_shared<Counts>();
      its->entries = generation.entries;
      its->left_out = generation.left_out;
    }
    live->prefixes.push_back(EntryPrefix(generation.id));
    live->counts.push_back(its);
  }
  const MutexLock apply(apply_mutex_);
  // Before that the former list's entries cover the data, or nothing does.
  if (data != nullptr) RETURN_IF_ERROR(PutCovered(*store(), data->last_applied(), list.serial));
  live_ = std::move(live);
  const MutexLock lock(mutex_);
  list_ = std::move(list);
  counts_ = std::move(counts);
  return absl::OkStatus();
}

absl::Status IndexSet::Change(const IndexList& list, const Engine& data) {
  RETURN_IF_ERROR(StoreList(list));
  RETURN_IF_ERROR(Install(list, &data));
  return RemoveOthers(list);
}

absl::Status IndexSet::PutCovered(IndexStore& store, Decree decree, int64_t serial) {
  const std::string value = EncodeCovered({.decree = decree, .serial = serial});
  const WriteOp op{.key = CoveredKey(), .value = value};
  // Writers wait meanwhile: it must not.
  const Engine::AppliedMutation batch{.decree = store.last_applied() + 1, .ops = {&op, 1}};
  return store.TryApplyAll({&batch, 1});
}

// Entries of no target: of indexes that were dropped, of former generations, or of a building that
// did not end.
absl::Status IndexSet::RemoveOthers(const IndexList& list) {
  const std::shared_ptr<IndexStore> store = this->store();
  std::set<std::string> kept;
  for (const IndexTarget& target : list.Targets()) kept.insert(EntryPrefix(target.generation.id));
  std::vector<KeyRange> gone;
  const std::shared_ptr<const EngineView> view = store->View();
  std::string from = EntryPrefix(0);
  for (;;) {
    const auto at = view->Walk({.first = from, .end = {}}, Direction::kForward);
    RETURN_IF_ERROR(at->status());
    if (!at->Valid()) break;
    std::string prefix(at->key().substr(0, EntryPrefix(0).size()));
    from = EndOfPrefix(prefix);
    if (!kept.contains(prefix)) gone.push_back({.first = std::move(prefix), .end = from});
  }
  // index_set/I3: the store on disk is of this list's serial from here on.
  if (!gone.empty()) RETURN_IF_ERROR(store->Flush());
  for (const KeyRange& range : gone) RETURN_IF_ERROR(store->RemoveRange(range));
  return absl::OkStatus();
}

absl::Status IndexSet::RemoveAll() {
  std::shared_ptr<IndexStore> store;
  {
    const MutexLock apply(apply_mutex_);
    live_ = nullptr;
    const MutexLock lock(mutex_);
    store = std::move(store_);
    list_ = {};
  }
  // Who reads still holds it; then it ends with the last of them.
  store.reset();
  return directory_.Remove();
}

absl::Status IndexSet::Around(absl::Span<const Engine::AppliedMutation> mutations, bool waits,
                              absl::FunctionRef<absl::Status()> apply) {
  const MutexLock lock(apply_mutex_);
  // index_set/I1: the entries first.
  if (live_ != nullptr) RETURN_IF_ERROR(Put(mutations, waits));
  return apply();
}

absl::Status IndexSet::Put(absl::Span<const Engine::AppliedMutation> mutations, bool waits) {
  if (mutations.empty()) return absl::OkStatus();
  bytes_.clear();
  ops_.clear();
  // Where each key ends: the bytes move while they grow.
  ends_.clear();
  for (const Engine::AppliedMutation& mutation : mutations) {
    for (const WriteOp& op : mutation.ops) {
      if (op.kind != WriteOp::Kind::kPut) continue;
      // All are without it until it is found.
      for (const auto& counts : live_->counts) ++counts->left_out;
      for (const FieldReader::Found& found : live_->reader.Read(op.value)) {
        const size_t begin = bytes_.size();
        bytes_ += live_->prefixes[found.at];
        if (!AppendField(found.field, &bytes_)) {
          bytes_.resize(begin);
          continue;
        }
        bytes_ += op.key;
        ends_.push_back(bytes_.size());
        ++live_->counts[found.at]->entries;
        --live_->counts[found.at]->left_out;
      }
    }
  }
  size_t begin = 0;
  for (const size_t end : ends_) {
    ops_.push_back({.key = std::string_view(bytes_).substr(begin, end - begin)});
    begin = end;
  }
  const std::string covered =
      EncodeCovered({.decree = mutations.back().decree, .serial = live_->serial});
  ops_.push_back({.key = CoveredKey(), .value = covered});
  // The store counts its own batches.
  IndexStore& store = *live_->store;
  const Engine::AppliedMutation batch{.decree = store.last_applied() + 1, .ops = ops_};
  const absl::Span<const Engine::AppliedMutation> batches(&batch, 1);
  const absl::Status put = waits ? store.ApplyAll(batches) : store.TryApplyAll(batches);
  if (put.ok() || absl::IsUnavailable(put) || IsRefusal(put)) return put;
  GiveUp(put);
  return absl::OkStatus();
}

std::shared_ptr<IndexStore> IndexSet::Usable(IndexList* list) const {
  const MutexLock lock(mutex_);
  if (store_ == nullptr || is_given_up_) return nullptr;
  *list = list_;
  return store_;
}

void IndexSet::GiveUp(const absl::Status& why) {
  LOG(ERROR) << directory_.path() << ": the indexes are given up and built anew: " << why;
  live_ = nullptr;
  const MutexLock lock(mutex_);
  is_given_up_ = true;
  for (ListedIndex& index : list_.indexes) index.whole_at = kInvalidDecree;
}

void IndexSet::Abandon(const absl::Status& why) {
  const MutexLock lock(apply_mutex_);
  GiveUp(why);
}

void IndexSet::Flush() {
  std::shared_ptr<IndexStore> store;
  {
    const MutexLock lock(mutex_);
    if (is_given_up_) return;
    store = store_;
  }
  if (store == nullptr) return;
  const absl::Status flushed = store->Flush();
  // What is on disk now does not cover the data, which shows at the next start (index_set/I2).
  LOG_IF(WARNING, !flushed.ok()) << directory_.path() << ": flush: " << flushed;
}

bool IndexSet::IsDefined(const std::vector<NamedIndex>& indexes) const {
  const MutexLock lock(mutex_);
  return !is_given_up_ &&
         std::equal(indexes.begin(), indexes.end(), list_.indexes.begin(), list_.indexes.end(),
                    [](const NamedIndex& wanted, const ListedIndex& listed) {
                      return wanted.name == listed.name && wanted.definition == listed.definition;
                    });
}

bool IndexSet::IsToBeBuilt() const {
  const MutexLock lock(mutex_);
  return !list_.Missing().empty();
}

bool IndexSet::IsCurrent(uint32_t id) const {
  const MutexLock lock(mutex_);
  return std::any_of(list_.indexes.begin(), list_.indexes.end(),
                     [id](const ListedIndex& index) { return index.current.id == id; });
}

absl::Status IndexSet::Define(const std::vector<NamedIndex>& indexes, const Engine& data) {
  const MutexLock change(change_mutex_);
  IndexList former;
  bool is_open = false;
  {
    const MutexLock lock(mutex_);
    if (!is_given_up_) former = list_;
    is_open = store_ != nullptr && !is_given_up_;
  }
  if (indexes.empty() || !is_open) RETURN_IF_ERROR(RemoveAll());
  if (indexes.empty()) {
    const MutexLock lock(mutex_);
    is_given_up_ = false;
    return absl::OkStatus();
  }
  // Where the former list is gone its number is not known: the decree has not been passed by many.
  IndexList list{.next_id = former.next_id,
                 .serial = std::max(former.serial + 1, data.last_applied().value()),
                 .built_store_bytes = former.built_store_bytes,
                 .built_data_bytes = former.built_data_bytes,
                 .indexes = {},
                 .walk = former.walk};
  for (const NamedIndex& wanted : indexes) {
    const auto same =
        std::find_if(former.indexes.begin(), former.indexes.end(), [&](const ListedIndex& listed) {
          return listed.name == wanted.name && listed.definition.IsSameContent(wanted.definition);
        });
    ListedIndex next{.name = wanted.name, .definition = wanted.definition};
    if (same == former.indexes.end()) {
      next.current.id = list.next_id++;
    } else {
      next.whole_at = same->whole_at;
      next.current = same->current;
      next.successor = same->successor;
      // Somebody has asked for it to be built anew.
      if (same->definition.generation != wanted.definition.generation)
        (next.is_whole() ? next.successor.emplace() : next.current) = {.id = list.next_id++};
    }
    list.indexes.push_back(std::move(next));
  }
  if (!is_open) {
    RETURN_IF_ERROR(directory_.Create());
    RETURN_IF_ERROR(OpenStore());
  }
  return Change(list, data);
}

bool IndexSet::IsOutgrown(const Engine& data) const {
  const std::shared_ptr<IndexStore> store = this->store();
  if (store == nullptr) return false;
  const auto store_bytes = static_cast<double>(store->size_bytes());
  const auto data_bytes = static_cast<double>(data.size_bytes());
  const MutexLock lock(mutex_);
  // What was built on few data tells nothing of what more of them need.
  const double growth =
      data_bytes /
      static_cast<double>(std::max<uint64_t>({list_.built_data_bytes, options_.former_bytes, 1}));
  const double accounted = 2 * static_cast<double>(list_.built_store_bytes) * std::max(1.0, growth);
  return !is_given_up_ && store_bytes > accounted + static_cast<double>(options_.former_bytes) &&
         std::all_of(list_.indexes.begin(), list_.indexes.end(), [](const ListedIndex& index) {
           return index.missing() == nullptr && !index.definition.is_paused;
         });
}

absl::Status IndexSet::Renew(const Engine& data) {
  const MutexLock change(change_mutex_);
  IndexList list;
  if (Usable(&list) == nullptr) return absl::OkStatus();
  ++list.serial;
  for (ListedIndex& index : list.indexes)
    if (index.missing() == nullptr) index.successor = {.id = list.next_id++};
  return Change(list, data);
}

absl::StatusOr<std::unique_ptr<IndexBuild>> IndexSet::BeginBuild(Engine& data) {
  const MutexLock change(change_mutex_);
  IndexList list;
  std::shared_ptr<IndexStore> store;
  {
    const MutexLock lock(mutex_);
    if (store_ == nullptr || is_given_up_) return nullptr;
    list = list_;
    store = store_;
    data_bytes_ = data.size_bytes();
  }
  const std::vector<IndexTarget> missing = list.Missing();
  if (missing.empty()) return nullptr;
  SavedWalk walk;
  for (const IndexTarget& target : missing) walk.ids.push_back(target.generation.id);
  absl::StatusOr<std::unique_ptr<BulkWriter>> writer = nullptr;
  if (list.walk && list.walk->ids == walk.ids) {
    writer = store->NewBulkWriter(list.walk->files);
    LOG_IF(WARNING, !writer.ok()) << directory_.path()
                                  << ": a walk begins anew: " << writer.status();
    if (writer.ok()) {
      walk = *list.walk;
      LOG(INFO) << directory_.path() << ": a walk goes on behind " << walk.records << " records";
    }
  }
  if (walk.from.empty()) {
    // Before its files go.
    if (list.walk) RETURN_IF_ERROR(SaveWalkLocked(std::nullopt));
    writer = store->NewBulkWriter({});
  }
  RETURN_IF_ERROR(writer.status());
  std::vector<std::shared_ptr<Counts>> counts;
  // After the definition: what is applied since has its entries.
  std::shared_ptr<const EngineView> view;
  {
    const MutexLock apply(apply_mutex_);
    view = data.View();
    walk.at = data.last_applied();
    const MutexLock lock(mutex_);
    for (const uint32_t id : walk.ids) counts.push_back(counts_.at(id));
  }
  return std::unique_ptr<IndexBuild>(new IndexBuild({.set = shared_from_this(),
                                                     .definitions = DefinitionsOf(missing),
                                                     .counts = std::move(counts),
                                                     .store = std::move(store),
                                                     .writer = *std::move(writer),
                                                     .view = std::move(view),
                                                     .walk = std::move(walk)},
                                                    data));
}

absl::Status IndexSet::MarkWhole(const std::vector<uint32_t>& ids, Decree at, const Engine& data) {
  const auto is_built = [&ids](uint32_t id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  const MutexLock change(change_mutex_);
  IndexList list;
  const std::shared_ptr<IndexStore> store = Usable(&list);
  if (store == nullptr) return absl::OkStatus();
  // One that was dropped meanwhile is not listed any more.
  for (ListedIndex& index : list.indexes) {
    if (index.successor && is_built(index.successor->id))
      index.current = *std::exchange(index.successor, std::nullopt);
    if (is_built(index.current.id)) index.whole_at = at;
  }
  ++list.serial;
  RETURN_IF_ERROR(Change(list, data));
  if (std::any_of(list.indexes.begin(), list.indexes.end(),
                  [](const ListedIndex& index) { return index.missing() != nullptr; }))
    return absl::OkStatus();
  // Without what was removed just now.
  list.built_store_bytes = store->size_bytes();
  list.built_data_bytes = data.size_bytes();
  RETURN_IF_ERROR(StoreList(list));
  const MutexLock lock(mutex_);
  if (!is_given_up_) list_ = std::move(list);
  return absl::OkStatus();
}

absl::Status IndexSet::SaveWalk(std::optional<SavedWalk> walk) {
  const MutexLock change(change_mutex_);
  return SaveWalkLocked(std::move(walk));
}

absl::Status IndexSet::SaveWalkLocked(std::optional<SavedWalk> walk) {
  IndexList list;
  {
    const MutexLock lock(mutex_);
    if (is_given_up_) return absl::OkStatus();
    list = list_;
  }
  list.walk = std::move(walk);
  RETURN_IF_ERROR(StoreList(list));
  const MutexLock lock(mutex_);
  if (!is_given_up_) list_ = std::move(list);
  return absl::OkStatus();
}

void IndexSet::NotePace(uint64_t read_bytes, double bytes_per_second) {
  const MutexLock lock(mutex_);
  read_bytes_ = read_bytes;
  bytes_per_second_ = bytes_per_second;
}

absl::StatusOr<Engine::IndexFiles> IndexSet::Ship(const std::string& directory, Decree decree,
                                                  std::shared_ptr<void>* hold) {
  const MutexLock change(change_mutex_);
  IndexList list;
  const std::shared_ptr<IndexStore> store = Usable(&list);
  if (store == nullptr) return Engine::IndexFiles();
  if (std::none_of(list.indexes.begin(), list.indexes.end(), [decree](const ListedIndex& index) {
        return index.is_whole() && index.whole_at <= decree;
      }))
    return Engine::IndexFiles();
  // Its files stay here. What is not whole the receiver builds.
  list.walk = std::nullopt;
  has_shipped_.store(true);
  // One that is there may be of a former store.
  ASSIGN_OR_RETURN(const bool is_there, directory_.HasCopy(directory));
  Copy& copy = shipped_[directory];
  if (!is_there) copy.store = store;
  *hold = copy.holder.lock();
  if (*hold == nullptr) copy.holder = *hold = std::make_shared<char>();
  ASSIGN_OR_RETURN(std::vector<std::string> names, directory_.CopyTo(directory, list, *store));
  return Engine::IndexFiles{.names = std::move(names), .store = copy.store};
}

absl::Status IndexSet::RemoveShipped() {
  const MutexLock change(change_mutex_);
  for (auto it = shipped_.begin(); it != shipped_.end();) {
    if (!it->second.holder.expired()) {
      ++it;
      continue;
    }
    RETURN_IF_ERROR(directory_.RemoveCopy(it->first));
    it = shipped_.erase(it);
  }
  has_shipped_.store(!shipped_.empty());
  return absl::OkStatus();
}

IndexProgress IndexSet::ProgressOf(const ListedIndex& index) const {
  IndexProgress progress{.name = index.name,
                         .definition = index.definition,
                         .is_whole = index.is_whole(),
                         .is_renewed = index.successor.has_value(),
                         .percent = 100};
  if (index.missing() != nullptr) {
    progress.left_bytes = data_bytes_ - std::min(data_bytes_, read_bytes_);
    progress.bytes_per_second = bytes_per_second_;
  }
  if (!index.is_whole())
    progress.percent = static_cast<int>(
        std::min<uint64_t>(99, 100 * read_bytes_ / std::max<uint64_t>(data_bytes_, 1)));
  if (const auto known = counts_.find(index.current.id); known != counts_.end()) {
    progress.entries = known->second->entries.load();
    progress.left_out = known->second->left_out.load();
  }
  return progress;
}

std::optional<IndexSet::Reading> IndexSet::Read(std::string_view name) const {
  const MutexLock lock(mutex_);
  for (const ListedIndex& index : list_.indexes) {
    if (index.name != name) continue;
    Reading reading{.progress = ProgressOf(index), .id = index.current.id, .entries = nullptr};
    if (store_ != nullptr) reading.entries = std::make_shared<HeldView>(store_);
    return reading;
  }
  return std::nullopt;
}

std::vector<IndexProgress> IndexSet::Progress() const {
  const MutexLock lock(mutex_);
  std::vector<IndexProgress> all;
  for (const ListedIndex& index : list_.indexes) all.push_back(ProgressOf(index));
  return all;
}

absl::Status IndexSet::Close() {
  const MutexLock change(change_mutex_);
  std::shared_ptr<IndexStore> store;
  IndexList list;
  {
    const MutexLock apply(apply_mutex_);
    live_ = nullptr;
    const MutexLock lock(mutex_);
    store = std::move(store_);
    list = std::exchange(list_, {});
    if (is_given_up_) return absl::OkStatus();
  }
  if (store == nullptr) return absl::OkStatus();
  // Its figures only: what it says of the store is on disk already.
  StoreList(std::move(list)).IgnoreError();
  return store->Close();
}

}  // namespace arion
