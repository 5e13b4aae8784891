// Three mutexes: change_mutex_ is held for as long as a change of the list takes, apply_mutex_
// around an apply, mutex_ for a moment. A change prepares everything, stores the list, and exchanges
// what writers see between two applies.
// SPDX-License-Identifier: Apache-2.0
#include "indexes/index_set.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/coding.h"
#include "base/log.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "env/file_system.h"
#include "indexes/field_order.h"

namespace arion {
namespace {

// Holds the decree up to which the entries cover the data.
const std::string& CoveredKey() {
  static const std::string key = JoinRawKey({}, "covered");
  return key;
}

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

struct Covered {
  Decree decree{-1};
  int64_t serial = 0;
};
std::string EncodeCovered(const Covered& covered) {
  std::string bytes;
  AppendBig(covered.decree.value(), &bytes);
  AppendBig(covered.serial, &bytes);
  return bytes;
}
absl::StatusOr<Covered> CoveredBy(const Engine& store) {
  const absl::StatusOr<Record> record = store.Get(CoveredKey(), 0, ReadTier::kAll);
  if (absl::IsNotFound(record.status())) return Covered{};
  RETURN_IF_ERROR(record.status());
  ByteReader reader(record->value);
  Covered covered;
  covered.decree = Decree(reader.Big<int64_t>());
  covered.serial = reader.Big<int64_t>();
  if (!reader.ok() || !reader.rest().empty()) return absl::DataLossError("no decree");
  return covered;
}

std::vector<IndexDefinition> DefinitionsOf(const std::vector<ListedIndex>& indexes) {
  std::vector<IndexDefinition> definitions;
  definitions.reserve(indexes.size());
  for (const ListedIndex& index : indexes) definitions.push_back(index.definition);
  return definitions;
}

}  // namespace

IndexSet::IndexSet(FileSystem& files, EngineFactory& stores, std::string directory)
    : files_(files), stores_(stores), directory_(std::move(directory)) {}

IndexSet::~IndexSet() = default;

std::string IndexSet::list_path() const { return JoinPath(directory_, "list"); }
std::string IndexSet::store_path() const { return JoinPath(directory_, "store"); }

void IndexSet::Load(Decree decree) {
  const MutexLock change(change_mutex_);
  const absl::StatusOr<bool> is_there = IsThere(files_, list_path());
  if (is_there.ok() && !*is_there) return;
  const absl::Status loaded = is_there.ok() ? LoadList(decree) : is_there.status();
  if (loaded.ok()) return;
  LOG(WARNING) << directory_ << ": the indexes are built anew: " << loaded;
  const absl::Status removed = RemoveAll();
  LOG_IF(WARNING, !removed.ok()) << directory_ << ": " << removed;
}

absl::Status IndexSet::LoadList(Decree decree) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(files_, list_path()));
  ASSIGN_OR_RETURN(IndexList list, IndexList::Decode(bytes));
  RETURN_IF_ERROR(OpenStore());
  ASSIGN_OR_RETURN(const Covered covered, CoveredBy(*store()));
  // index_set/I2
  if (covered.decree < decree)
    return absl::FailedPreconditionError(absl::StrCat("they cover decree ", covered.decree.value(),
                                                      ", the data stand at ", decree.value()));
  if (covered.serial > list.serial)
    return absl::FailedPreconditionError(absl::StrCat("the list is number ", list.serial,
                                                      ", the store is of number ", covered.serial));
  // A building that did not end may have left entries: it begins anew under another id.
  bool any_begun = false;
  for (ListedIndex& index : list.indexes) {
    if (index.is_whole) continue;
    index.id = list.next_id++;
    index.entries = index.left_out = 0;
    any_begun = true;
  }
  if (any_begun) RETURN_IF_ERROR(StoreList(list));
  RETURN_IF_ERROR(RemoveOthers(list));
  return Install(std::move(list), nullptr);
}

std::shared_ptr<IndexStore> IndexSet::store() const {
  const MutexLock lock(mutex_);
  return store_;
}

absl::Status IndexSet::OpenStore() {
  ASSIGN_OR_RETURN(std::unique_ptr<IndexStore> store, stores_.OpenIndexStore(store_path()));
  const MutexLock lock(mutex_);
  store_ = std::move(store);
  is_given_up_ = false;
  return absl::OkStatus();
}

absl::Status IndexSet::StoreList(IndexList list) {
  {
    const MutexLock lock(mutex_);
    for (ListedIndex& index : list.indexes) {
      const auto known = counts_.find(index.id);
      if (known == counts_.end()) continue;
      index.entries = known->second->entries.load();
      index.left_out = known->second->left_out.load();
    }
  }
  return WriteFileDurably(files_, list_path(), list.Encode());
}

absl::Status IndexSet::Install(IndexList list, const Engine* data) {
  std::unique_ptr<Live> live;
  if (!list.indexes.empty())
    live.reset(new Live{.store = store(),
                        .serial = list.serial,
                        .prefixes = {},
                        .counts = {},
                        .reader = FieldReader(DefinitionsOf(list.indexes))});
  std::map<uint32_t, std::shared_ptr<Counts>> counts;
  for (const ListedIndex& index : list.indexes) {
    std::shared_ptr<Counts>& its = counts[index.id];
    {
      const MutexLock lock(mutex_);
      if (const auto known = counts_.find(index.id); known != counts_.end()) its = known->second;
    }
    if (its == nullptr) {
      its = std::make_shared<Counts>();
      its->entries = index.entries;
      its->left_out = index.left_out;
    }
    live->prefixes.push_back(EntryPrefix(index.id));
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

absl::Status IndexSet::PutCovered(IndexStore& store, Decree decree, int64_t serial) {
  const std::string value = EncodeCovered({.decree = decree, .serial = serial});
  const WriteOp op{.key = CoveredKey(), .value = value};
  // Writers wait meanwhile: it must not.
  const Engine::AppliedMutation batch{.decree = store.last_applied() + 1, .ops = {&op, 1}};
  return store.TryApplyAll({&batch, 1});
}

// Entries of no listed index: of those that were dropped, or whose building did not end.
absl::Status IndexSet::RemoveOthers(const IndexList& list) {
  const std::shared_ptr<IndexStore> store = this->store();
  std::set<uint32_t> kept;
  for (const ListedIndex& index : list.indexes) kept.insert(index.id);
  const std::shared_ptr<const EngineView> view = store->View();
  for (uint32_t id = 1; id < list.next_id; ++id) {
    if (kept.contains(id)) continue;
    KeyRange range{.first = EntryPrefix(id), .end = EndOfPrefix(EntryPrefix(id))};
    // Ranges that went are passed over: to remove one costs each later read a little.
    if (!view->Walk(range, Direction::kForward)->Valid()) continue;
    RETURN_IF_ERROR(store->RemoveRange(range));
  }
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
  // First what says that there are indexes.
  RETURN_IF_ERROR(files_.RemoveAll(list_path()));
  return files_.RemoveAll(directory_);
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

void IndexSet::GiveUp(const absl::Status& why) {
  LOG(ERROR) << directory_ << ": the indexes are given up and built anew: " << why;
  live_ = nullptr;
  const MutexLock lock(mutex_);
  is_given_up_ = true;
  for (ListedIndex& index : list_.indexes) index.is_whole = false;
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
  LOG_IF(WARNING, !flushed.ok()) << directory_ << ": flush: " << flushed;
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
  return std::any_of(list_.indexes.begin(), list_.indexes.end(), [](const ListedIndex& index) {
    return !index.is_whole && !index.definition.is_paused;
  });
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
                 .indexes = {}};
  for (const NamedIndex& wanted : indexes) {
    const auto same =
        std::find_if(former.indexes.begin(), former.indexes.end(), [&](const ListedIndex& listed) {
          return listed.name == wanted.name && listed.definition.IsSameContent(wanted.definition);
        });
    ListedIndex next{.name = wanted.name, .definition = wanted.definition};
    if (same != former.indexes.end()) {
      next.id = same->id;
      next.is_whole = same->is_whole;
    } else {
      next.id = list.next_id++;
    }
    list.indexes.push_back(std::move(next));
  }
  if (!is_open) {
    RETURN_IF_ERROR(files_.CreateDirectories(directory_));
    RETURN_IF_ERROR(files_.SyncDirectory(ParentDirectory(directory_)));
    RETURN_IF_ERROR(OpenStore());
  }
  RETURN_IF_ERROR(StoreList(list));
  RETURN_IF_ERROR(Install(list, &data));
  return RemoveOthers(list);
}

absl::StatusOr<std::unique_ptr<IndexBuild>> IndexSet::BeginBuild(Engine& data) {
  const MutexLock change(change_mutex_);
  std::vector<ListedIndex> missing;
  std::shared_ptr<IndexStore> store;
  {
    const MutexLock lock(mutex_);
    if (store_ == nullptr || is_given_up_) return nullptr;
    for (ListedIndex& index : list_.indexes)
      if (!index.is_whole && !index.definition.is_paused) missing.push_back(index);
    store = store_;
  }
  if (missing.empty()) return nullptr;
  ASSIGN_OR_RETURN(std::unique_ptr<BulkWriter> writer, store->NewBulkWriter());
  std::vector<uint32_t> ids;
  for (const ListedIndex& index : missing) ids.push_back(index.id);
  percent_.store(0);
  // After the definition: what is applied since has its entries.
  std::shared_ptr<const EngineView> view;
  {
    const MutexLock lock(apply_mutex_);
    view = data.View();
  }
  return std::unique_ptr<IndexBuild>(
      new IndexBuild(shared_from_this(), std::move(ids), FieldReader(DefinitionsOf(missing)), data,
                     std::move(store), std::move(writer), std::move(view)));
}

absl::Status IndexSet::MarkWhole(const std::vector<uint32_t>& ids) {
  const MutexLock change(change_mutex_);
  IndexList list;
  {
    const MutexLock lock(mutex_);
    if (is_given_up_) return absl::OkStatus();
    list = list_;
  }
  // One that was dropped meanwhile is not listed any more.
  for (ListedIndex& index : list.indexes)
    if (std::find(ids.begin(), ids.end(), index.id) != ids.end()) index.is_whole = true;
  RETURN_IF_ERROR(StoreList(list));
  const MutexLock lock(mutex_);
  if (!is_given_up_) list_ = std::move(list);
  return absl::OkStatus();
}

IndexProgress IndexSet::ProgressOf(const ListedIndex& index) const {
  IndexProgress progress{.name = index.name,
                         .definition = index.definition,
                         .is_whole = index.is_whole,
                         .percent = index.is_whole ? 100 : percent_.load()};
  if (const auto known = counts_.find(index.id); known != counts_.end()) {
    progress.entries = known->second->entries.load();
    progress.left_out = known->second->left_out.load();
  }
  return progress;
}

std::vector<std::shared_ptr<IndexSet::Counts>> IndexSet::CountsOf(
    const std::vector<uint32_t>& ids) const {
  const MutexLock lock(mutex_);
  std::vector<std::shared_ptr<Counts>> counts;
  for (const uint32_t id : ids) counts.push_back(counts_.at(id));
  return counts;
}

std::optional<IndexSet::Reading> IndexSet::Read(std::string_view name) const {
  const MutexLock lock(mutex_);
  for (const ListedIndex& index : list_.indexes) {
    if (index.name != name) continue;
    Reading reading{.progress = ProgressOf(index), .id = index.id, .entries = nullptr};
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

// ---- building ----

IndexBuild::IndexBuild(std::shared_ptr<IndexSet> set, std::vector<uint32_t> ids, FieldReader reader,
                       Engine& data, std::shared_ptr<IndexStore> store,
                       std::unique_ptr<BulkWriter> writer, std::shared_ptr<const EngineView> view)
    : set_(std::move(set)),
      ids_(std::move(ids)),
      counts_(set_->CountsOf(ids_)),
      reader_(std::move(reader)),
      data_(data),
      data_bytes_(data.size_bytes()),
      store_(std::move(store)),
      writer_(std::move(writer)),
      view_(std::move(view)) {
  for (const uint32_t id : ids_) prefixes_.push_back(EntryPrefix(id));
}

IndexBuild::~IndexBuild() = default;

absl::Status IndexBuild::Step(int64_t records) {
  if (writer_ != nullptr) RETURN_IF_ERROR(Walk(records));
  if (writer_ != nullptr) return absl::OkStatus();
  // The data first, which flush the store before themselves: were they lost back to a moment before
  // the view, records of then would be there without their entries.
  RETURN_IF_ERROR(data_.Flush());
  RETURN_IF_ERROR(store_->Flush());
  RETURN_IF_ERROR(set_->MarkWhole(ids_));
  is_done_ = true;
  return absl::OkStatus();
}

absl::Status IndexBuild::Walk(int64_t records) {
  std::string entry;
  const std::unique_ptr<RecordIterator> at = view_->WalkAside({.first = from_, .end = {}});
  for (; at->Valid() && records > 0; at->Next(), --records) {
    // The record without a key carries the decree.
    if (!IsRawKey(at->key())) continue;
    for (const auto& counts : counts_) ++counts->left_out;
    for (const FieldReader::Found& found : reader_.Read(at->value())) {
      entry = prefixes_[found.at];
      if (!AppendField(found.field, &entry)) continue;
      entry += at->key();
      RETURN_IF_ERROR(writer_->Add(entry));
      ++counts_[found.at]->entries;
      --counts_[found.at]->left_out;
    }
    ++records_;
    read_bytes_ += at->key().size() + at->value().size();
  }
  RETURN_IF_ERROR(at->status());
  if (at->Valid()) {
    from_ = at->key();
    const uint64_t all = std::max<uint64_t>(data_bytes_, 1);
    set_->percent_.store(static_cast<int>(std::min<uint64_t>(99, 100 * read_bytes_ / all)));
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(writer_->Finish());
  writer_ = nullptr;
  view_ = nullptr;
  return absl::OkStatus();
}

}  // namespace arion
