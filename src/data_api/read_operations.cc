// SPDX-License-Identifier: Apache-2.0
#include "data_api/read_operations.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/crc.h"
#include "base/error_code.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "base/value_schema.h"
#include "env/clock.h"
#include "rpc/encoded_rows.h"

namespace arion {
namespace {

int32_t Number(StorageError error) { return static_cast<int32_t>(error); }

template <class Response>
Response EmptyAnswer(const ReadTerms& terms, StorageError error = StorageError::kOk) {
  Response response;
  // The answer repeats who answers and for which partition.
  response.error = Number(error);
  response.app_id = terms.pid.app_id;
  response.partition_index = terms.pid.index;
  response.server = terms.server;
  return response;
}

// What one call may still do. Checked before each record, so that the record which crosses the
// limit of bytes is still returned.
class Budget {
 public:
  Budget(const ReadTerms& terms, int64_t returned_max, int64_t examined_max, int64_t bytes_max)
      : terms_(terms),
        returned_left_(returned_max),
        examined_left_(examined_max),
        bytes_left_(bytes_max) {}

  bool IsFull() const { return returned_left_ <= 0 || examined_left_ <= 0 || bytes_left_ <= 0; }
  // Not before the first record: each call gets on.
  bool IsLate() { return ++looks_ % kRecordsPerLook == 0 && terms_.clock.Now() >= terms_.deadline; }
  bool IsSpent() { return IsFull() || IsLate(); }
  void Examined() { --examined_left_; }
  void Returned(size_t bytes) {
    --returned_left_;
    bytes_left_ -= static_cast<int64_t>(bytes);
  }

 private:
  static constexpr int kRecordsPerLook = 64;
  const ReadTerms& terms_;
  int64_t returned_left_;
  int64_t examined_left_;
  int64_t bytes_left_;
  int looks_ = 0;
};

// The smaller of the client's limit (<= 0: none) and the server's.
int64_t Limit(int32_t of_request, int64_t of_server) {
  return of_request > 0 ? std::min<int64_t>(of_request, of_server) : of_server;
}

// Who asks for a key of another partition was routed by an older count. To say that there is no
// such record would be wrong.
absl::Status CheckOwned(const ReadTerms& terms, std::string_view hash_key,
                        std::string_view sort_key = {}) {
  return terms.owned.OwnsKey(hash_key, sort_key)
             ? absl::OkStatus()
             : absl::OutOfRangeError("a key of another partition");
}
// Records without a hash key are spread by their sort keys: each is looked at.
absl::Status CheckOwnedHashKey(const ReadTerms& terms, std::string_view hash_key) {
  return hash_key.empty() ? absl::OkStatus() : CheckOwned(terms, hash_key);
}

// Empty where the bounds contradict each other.
KeyRange RangeOf(const MultiGetRequest& request, const KeyFilter& filter) {
  // The client's bounds are sort keys; an empty stop means the end of the hash key. A prefix filter
  // narrows the range, so that a walk does not touch what it would leave out.
  const std::string_view hash_key = request.hash_key;
  const std::string start = JoinRawKey(hash_key, request.start_sort_key);
  KeyRange range;
  range.first = request.start_inclusive ? start : JustBehind(start);
  if (request.stop_sort_key.bytes.empty()) {
    range.end = EndOfPrefix(JoinRawKey(hash_key, ""));
  } else {
    const std::string stop = JoinRawKey(hash_key, request.stop_sort_key);
    range.end = request.stop_inclusive ? JustBehind(stop) : stop;
  }
  if (const std::string_view prefix = filter.prefix(); !prefix.empty()) {
    const std::string first = JoinRawKey(hash_key, prefix);
    range.end = std::min(range.end, EndOfPrefix(first));
    range.first = std::max(range.first, first);
  }
  // Where the bounds contradict each other, first lies behind end, which is an empty range.
  return range;
}

absl::StatusOr<std::optional<MultiGetResponse>> GetPoints(const EngineView& view,
                                                          const MultiGetRequest& request,
                                                          const ReadTerms& terms, ReadTier tier,
                                                          EncodedRows* rows, ReadPlace* place) {
  auto response = EmptyAnswer<MultiGetResponse>(terms);
  // There are no dead records between points, so what is examined needs no limit besides the time.
  Budget budget(terms, Limit(request.max_kv_count, terms.limits.multi_get_records), INT64_MAX,
                Limit(request.max_kv_size, terms.limits.answer_bytes));
  bool has_found = false;
  for (size_t i = place->point; i < request.sort_keys.size(); ++i) {
    const Blob& sort_key = request.sort_keys[i];
    // Late, but nothing found: a turn is over, not the answer (see Promises). Late, with something
    // found: the answer ends here, but only at a point that exists, since clients go on behind the
    // last record that they got.
    const bool is_late = budget.IsLate();
    if (is_late && !has_found) {
      place->point = i;
      return std::nullopt;
    }
    const std::string key = JoinRawKey(request.hash_key, sort_key);
    if (!terms.owned.OwnsKey(key)) continue;
    absl::StatusOr<Record> record = view.Get(key, terms.now, tier);
    if (absl::IsNotFound(record.status()) && !is_late) continue;
    if (!record.ok() && !absl::IsNotFound(record.status())) return record.status();
    if (is_late || budget.IsFull()) {
      response.error = Number(StorageError::kIncomplete);
      break;
    }
    const std::string_view value = request.no_value ? std::string_view() : record->value;
    rows->Add(sort_key, value);
    has_found = true;
    budget.Returned(sort_key.bytes.size() + value.size());
  }
  return response;
}

// The walk's present record; counted if so.
template <class Passes>
bool IsLeftOut(const RecordIterator& walk, const ReadTerms& terms, const Passes& passes) {
  const bool is_expired = IsExpired(walk.expire_ts(), terms.now);
  if (!is_expired && passes()) return false;
  if (terms.tally != nullptr) ++(is_expired ? terms.tally->expired : terms.tally->filtered);
  return true;
}

absl::StatusOr<std::optional<MultiGetResponse>> GetRange(const EngineView& view,
                                                         const MultiGetRequest& request,
                                                         const KeyFilter& filter,
                                                         const ReadTerms& terms, EncodedRows* rows,
                                                         ReadPlace* place) {
  auto response = EmptyAnswer<MultiGetResponse>(terms);
  KeyRange range = RangeOf(request, filter);
  if (range.IsEmpty()) return response;
  // The place is the first key that was not examined. Backwards that is the new end, inclusive.
  if (!place->key.empty()) {
    if (request.reverse)
      range.end = JustBehind(place->key);
    else
      range.first = place->key;
  }
  Budget budget(terms, Limit(request.max_kv_count, terms.limits.multi_get_records),
                terms.limits.multi_get_records,
                Limit(request.max_kv_size, terms.limits.answer_bytes));
  // The length of the hash key, then the hash key.
  const size_t prefix_bytes = 2 + request.hash_key.bytes.size();
  const auto walk =
      view.Walk(std::move(range), request.reverse ? Direction::kBackward : Direction::kForward);
  bool has_found = false;
  for (; walk->Valid(); walk->Next()) {
    if (budget.IsSpent()) {
      // Nothing to return yet: an incomplete answer without records would leave the client no place
      // to go on from.
      if (!has_found) {
        place->key = walk->key();
        return std::nullopt;
      }
      response.error = Number(StorageError::kIncomplete);
      break;
    }
    budget.Examined();
    const std::string_view sort_key = walk->key().substr(prefix_bytes);
    if (IsLeftOut(*walk, terms,
                  [&] { return filter.Passes(sort_key) && terms.owned.OwnsKey(walk->key()); }))
      continue;
    const std::string_view value = request.no_value ? std::string_view() : walk->value();
    rows->Add(sort_key, value);
    has_found = true;
    budget.Returned(sort_key.size() + value.size());
  }
  RETURN_IF_ERROR(walk->status());
  // Clients get ascending keys in both directions.
  if (request.reverse) rows->Reverse();
  return response;
}

}  // namespace

absl::StatusOr<std::optional<MultiGetResponse>> MultiGet(const EngineView& view,
                                                         const MultiGetRequest& request,
                                                         const ReadTerms& terms, ReadTier tier,
                                                         EncodedRows* rows, ReadPlace* place) {
  const auto filter =
      KeyFilter::Make(request.sort_key_filter_type, request.sort_key_filter_pattern.bytes);
  if (!filter || request.hash_key.bytes.size() > kHashKeyBytesMax)
    return EmptyAnswer<MultiGetResponse>(terms, StorageError::kInvalidArgument);
  RETURN_IF_ERROR(CheckOwnedHashKey(terms, request.hash_key));
  return request.sort_keys.empty() ? GetRange(view, request, *filter, terms, rows, place)
                                   : GetPoints(view, request, terms, tier, rows, place);
}

absl::StatusOr<BatchGetResponse> BatchGet(const EngineView& view, const BatchGetRequest& request,
                                          const ReadTerms& terms, ReadTier tier) {
  // A key that is too long cannot be encoded; the whole request is wrong then.
  const auto is_too_long = [](const FullKey& key) {
    return key.hash_key.bytes.size() > kHashKeyBytesMax;
  };
  if (request.keys.empty() || std::any_of(request.keys.begin(), request.keys.end(), is_too_long))
    return EmptyAnswer<BatchGetResponse>(terms, StorageError::kInvalidArgument);
  auto response = EmptyAnswer<BatchGetResponse>(terms);
  // All or none: its clients group keys by partitions.
  for (const FullKey& key : request.keys)
    RETURN_IF_ERROR(CheckOwned(terms, key.hash_key, key.sort_key));
  Budget budget(terms, INT64_MAX, INT64_MAX, terms.limits.batch_get_bytes);
  for (const FullKey& key : request.keys) {
    // A part of it would look like the whole.
    if (budget.IsSpent()) return EmptyAnswer<BatchGetResponse>(terms, StorageError::kIncomplete);
    absl::StatusOr<Record> record =
        view.Get(JoinRawKey(key.hash_key, key.sort_key), terms.now, tier);
    if (absl::IsNotFound(record.status())) continue;
    if (!record.ok()) return record.status();
    budget.Returned(key.hash_key.bytes.size() + key.sort_key.bytes.size() + record->value.size());
    response.data.push_back({key.hash_key, key.sort_key, std::move(record->value)});
  }
  return response;
}

absl::StatusOr<std::optional<CountResponse>> CountSortKeys(const EngineView& view,
                                                           std::string_view hash_key,
                                                           const ReadTerms& terms,
                                                           ReadPlace* place) {
  if (hash_key.size() > kHashKeyBytesMax)
    return EmptyAnswer<CountResponse>(terms, StorageError::kInvalidArgument);
  RETURN_IF_ERROR(CheckOwnedHashKey(terms, hash_key));
  auto response = EmptyAnswer<CountResponse>(terms);
  // One deadline for all turns: a count that takes longer is useless to the client that waits.
  if (!place->deadline) place->deadline = terms.deadline;
  Budget budget(terms, INT64_MAX, terms.limits.count_records, INT64_MAX);
  std::string first = JoinRawKey(hash_key, "");
  std::string end = EndOfPrefix(first);
  // Goes on where the last turn ended.
  if (!place->key.empty()) first = place->key;
  const auto walk = view.Walk({std::move(first), std::move(end)}, Direction::kForward);
  for (; walk->Valid(); walk->Next()) {
    if (budget.IsSpent()) {
      if (terms.clock.Now() >= *place->deadline) {
        // Too many to count in time.
        response.count = -1;
        return response;
      }
      place->key = walk->key();
      return std::nullopt;
    }
    budget.Examined();
    if (!IsLeftOut(*walk, terms, [&] { return terms.owned.OwnsKey(walk->key()); })) ++place->count;
  }
  RETURN_IF_ERROR(walk->status());
  response.count = place->count;
  return response;
}

// ---- scans ----

std::unique_ptr<ScanCursor> ScanCursor::Make(std::shared_ptr<const EngineView> view,
                                             const GetScannerRequest& request,
                                             std::shared_ptr<const KeyOwnership> owned) {
  auto hash_filter =
      KeyFilter::Make(request.hash_key_filter_type, request.hash_key_filter_pattern.bytes);
  auto sort_filter =
      KeyFilter::Make(request.sort_key_filter_type, request.sort_key_filter_pattern.bytes);
  if (!hash_filter || !sort_filter) return nullptr;
  return std::unique_ptr<ScanCursor>(new ScanCursor(std::move(view), request,
                                                    *std::move(hash_filter),
                                                    *std::move(sort_filter), std::move(owned)));
}

ScanCursor::ScanCursor(std::shared_ptr<const EngineView> view, const GetScannerRequest& request,
                       KeyFilter hash_filter, KeyFilter sort_filter,
                       std::shared_ptr<const KeyOwnership> owned)
    : view_(std::move(view)),
      batch_size_(request.batch_size),
      with_value_(!request.no_value),
      with_expiry_(request.return_expire_ts.value_or(false)),
      only_count_(request.only_return_count.value_or(false)),
      only_sum_(request.only_return_sum.value_or(false)),
      hash_filter_(std::move(hash_filter)),
      sort_filter_(std::move(sort_filter)),
      owned_(std::move(owned)) {
  const std::string& start = request.start_key.bytes;
  const std::string& stop = request.stop_key.bytes;
  range_.first = request.start_inclusive ? start : JustBehind(start);
  range_.end = request.stop_inclusive ? JustBehind(stop) : stop;
  if (const std::string_view prefix = hash_filter_.prefix(); !prefix.empty()) {
    // A prefix of the hash key does not bound the end: in raw keys the length comes first, so
    // longer hash keys with the same prefix lie far behind.
    if (prefix.size() <= kHashKeyBytesMax)
      range_.first = std::max(range_.first, JoinRawKey(prefix, ""));
    else
      range_.end.clear();  // no hash key is that long
  }
  // Nothing is before the empty key; in a KeyRange an empty end would mean that there is none.
  if (range_.end.empty()) range_ = {JustBehind(""), JustBehind("")};
  ended_ = range_.IsEmpty();
}

bool ScanCursor::Passes(std::string_view raw_key) const {
  // A key that can't be split is no client's record.
  const std::optional<KeyParts> parts = SplitRawKey(raw_key);
  if (!parts || !hash_filter_.Passes(parts->hash_key) || !sort_filter_.Passes(parts->sort_key))
    return false;
  return owned_ == nullptr || owned_->OwnsKey(raw_key);
}

bool ScanCursor::IsElsewhere() const {
  if (ended_ || owned_ == nullptr || owned_->OwnsKey(range_.first)) return false;
  const std::optional<KeyParts> parts = SplitRawKey(range_.first);
  if (!parts || parts->hash_key.empty()) return false;
  const std::string behind = EndOfPrefix(JoinRawKey(parts->hash_key, ""));
  return !behind.empty() && range_.end <= behind;
}

absl::StatusOr<ScanResponse> ScanCursor::NextBatch(const ReadTerms& terms, int64_t next_id,
                                                   EncodedRows* rows) {
  auto response = EmptyAnswer<ScanResponse>(terms);
  std::unique_ptr<RecordIterator> walk;
  // Each batch walks anew on the same view: an iterator would pin more than the view does.
  // Who adds up reads everything once: that takes no place in caches.
  if (!ended_)
    walk = only_sum_ ? view_->WalkAside(range_) : view_->Walk(range_, Direction::kForward);
  int32_t count = 0;
  uint64_t sum = 0;
  const int64_t records_max = only_sum_ ? terms.limits.count_records : terms.limits.scan_records;
  Budget budget(terms, Limit(batch_size_, records_max), records_max, terms.limits.answer_bytes);
  for (; walk != nullptr && walk->Valid() && !budget.IsSpent(); walk->Next()) {
    budget.Examined();
    if (IsLeftOut(*walk, terms, [&] { return Passes(walk->key()); })) continue;
    ++count;
    if (only_sum_) {
      sum += RecordHash(walk->key(), with_value_ ? walk->value() : std::string_view(),
                        with_expiry_ ? walk->expire_ts() : 0);
      // What is read counts here, as what is returned does elsewhere.
      budget.Returned(walk->key().size() + walk->value().size());
      continue;
    }
    if (only_count_) {
      // Counts against the batch's size all the same.
      budget.Returned(0);
      continue;
    }
    const std::string_view value = with_value_ ? walk->value() : std::string_view();
    rows->Add(walk->key(), value,
              with_expiry_ ? std::optional(static_cast<int32_t>(walk->expire_ts())) : std::nullopt);
    budget.Returned(walk->key().size() + value.size());
  }
  last_answer_bytes_ = rows->bytes();
  if (only_count_ || only_sum_) response.kv_count = count;
  if (only_sum_) response.sum = static_cast<int64_t>(sum);
  if (walk != nullptr) {
    RETURN_IF_ERROR(walk->status());
    ended_ = !walk->Valid();
    // Records that this batch examined and left out are not examined again.
    if (!ended_) range_.first = walk->key();
  }
  if (only_sum_ && !ended_) response.next_key = Blob(range_.first);
  response.context_id = ended_ || only_sum_ ? kScanEnded : next_id;
  return response;
}

}  // namespace arion
