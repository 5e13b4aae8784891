// SPDX-License-Identifier: Apache-2.0
#include "client/table_scan.h"

#include <algorithm>
#include <utility>

#include "base/crc.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

// The smallest raw key is two zero bytes, the length of an empty hash key. The length of a hash key
// is below 0xffff, so that lies behind all of them.
const char kFirstRawKey[] = "\0";  // two bytes
const char kBehindRawKeys[] = "\xff\xff";

}  // namespace

TableScan::TableScan(const std::shared_ptr<ClusterClient>& client, std::string table,
                     GetScannerRequest request, AskOptions options)
    : client_(client),
      table_(std::move(table)),
      options_(std::move(options)),
      request_(std::move(request)) {}

std::shared_ptr<TableScan> TableScan::OfHashKey(const std::shared_ptr<ClusterClient>& client,
                                                std::string table, GetScannerRequest request,
                                                AskOptions options) {
  std::shared_ptr<TableScan> scan(
      new TableScan(client, std::move(table), std::move(request), std::move(options)));
  // The partition of the hash key; a key that is none is refused by the server.
  const std::optional<KeyParts> parts = SplitRawKey(scan->request_.start_key);
  scan->partition_hash_ = parts ? Crc64(parts->hash_key) : 0;
  // Keys of one hash key are all of one partition, so the server need not check each.
  scan->request_.validate_partition_hash = false;
  return scan;
}

std::shared_ptr<TableScan> TableScan::OfTable(const std::shared_ptr<ClusterClient>& client,
                                              std::string table, GetScannerRequest request,
                                              AskOptions options, ScanPart part) {
  std::shared_ptr<TableScan> scan(
      new TableScan(client, std::move(table), std::move(request), std::move(options)));
  scan->is_of_table_ = true;
  scan->part_ = std::move(part);
  scan->request_.stop_key = kBehindRawKeys;
  scan->request_.full_scan = true;
  // After an older version's split both halves hold all records.
  scan->request_.validate_partition_hash = true;
  return scan;
}

// The order is from the last partition down.
bool TableScan::ChoosePartition() {
  if (pieces_.empty()) return false;
  piece_ = std::move(pieces_.back());
  pieces_.pop_back();
  partition_hash_ = TableRouter::HashOf(piece_.share);
  request_.start_key = piece_.start_key;
  request_.start_inclusive = piece_.start_inclusive;
  return true;
}

void TableScan::Next(Answered<std::vector<KeyValue>> done) {
  if (is_of_table_ && !is_begun_) return Learn(std::move(done));
  if (scan_id_ == kNotBegun) return Begin(std::move(done));
  if (scan_id_ != kScanEnded)
    return Ask(QuestionOf(ScanRequest{.context_id = scan_id_}, partition_hash_), std::move(done));
  if (ChoosePartition()) return Begin(std::move(done));
  if (auto client = client_.lock())
    client->strand()->Post([done = std::move(done)]() mutable { done(std::vector<KeyValue>()); });
}

void TableScan::Learn(Answered<std::vector<KeyValue>> done) {
  auto client = client_.lock();
  if (client == nullptr) return;
  client->LearnShares(table_, options_,
                      [self = shared_from_this(), done = std::move(done)](
                          const absl::StatusOr<ClusterClient::Shares>& shares) mutable {
                        if (!shares.ok()) return done(shares.status());
                        if (self->is_closed_) return;
                        self->present_count_ = static_cast<int32_t>(shares->size());
                        if (std::exchange(self->is_begun_, true))
                          self->DivideAgain(*shares);
                        else
                          self->Divide(*shares);
                        if (!self->IsExact())
                          return done(absl::AbortedError("the table has other partitions now"));
                        self->scan_id_ = kScanEnded;
                        self->Next(std::move(done));
                      });
}

void TableScan::Divide(const std::vector<TableRouter::Share>& shares) {
  for (const TableRouter::Share share : shares)
    if (share.index % part_.parts == part_.part)
      pieces_.push_back(
          {share, part_.after.value_or(std::string(kFirstRawKey, 2)), !part_.after.has_value()});
}

bool TableScan::IsExact() const {
  return !part_.is_exact ||
         (pieces_.size() == 1 &&
          pieces_.front().share == TableRouter::Share{.index = part_.part, .count = part_.parts});
}

void TableScan::DivideAgain(const std::vector<TableRouter::Share>& shares) {
  piece_.start_key = request_.start_key.bytes;
  piece_.start_inclusive = request_.start_inclusive;
  pieces_.push_back(std::move(piece_));
  // Counts only double, so each share lies in one piece.
  std::vector<Piece> pieces;
  for (const Piece& piece : pieces_)
    for (const TableRouter::Share share : shares)
      if (share.count >= piece.share.count && share.index % piece.share.count == piece.share.index)
        pieces.push_back({share, piece.start_key, piece.start_inclusive});
  pieces_ = std::move(pieces);
  counted_in_partition_ = 0;
}

void TableScan::Begin(Answered<std::vector<KeyValue>> done) {
  // Until it is answered: a caller that asks again begins again.
  scan_id_ = kNotBegun;
  Ask(QuestionOf(request_, partition_hash_), std::move(done));
}

void TableScan::Ask(Question question, Answered<std::vector<KeyValue>> done) {
  auto client = client_.lock();
  if (client == nullptr) return;
  if (is_of_table_) question.present_count = present_count_;
  client->Ask(table_, std::move(question), options_,
              [self = shared_from_this(), done = std::move(done)](auto body) mutable {
                self->OnBatch(std::move(done), body);
              });
}

void TableScan::OnBatch(Answered<std::vector<KeyValue>> done,
                        const absl::StatusOr<std::string>& body) {
  if (is_of_table_ && absl::IsAborted(body.status())) return Learn(std::move(done));
  auto answer = ScanAnswer(body);
  if (!answer.ok()) return done(answer.status());
  if (answer->error != 0) return OnForgotten(std::move(done));
  scan_id_ = answer->context_id;
  if (is_closed_) return Close();  // nobody waits for it any more
  counted_in_partition_ += std::max(0, answer->kv_count.value_or(0));
  // The partition is through: its count can't be lost any more.
  if (scan_id_ == kScanEnded) {
    counted_ += std::exchange(counted_in_partition_, 0);
    forgotten_ = 0;
  }
  // A batch without records is no end: on with this partition or the next one.
  if (answer->kvs.empty()) return Next(std::move(done));
  forgotten_ = 0;
  // From here on it would begin again if the server forgot the scan.
  request_.start_key = answer->kvs.back().key;
  request_.start_inclusive = false;
  done(std::move(answer->kvs));
}

void TableScan::OnForgotten(Answered<std::vector<KeyValue>> done) {
  if (++forgotten_ > kForgottenMax)
    return done(absl::UnavailableError("the server forgot the scan again and again"));
  // A count that is asked for has no record to go on behind, so its start key never moved.
  // The partition is counted from its beginning again.
  counted_in_partition_ = 0;
  Begin(std::move(done));
}

void TableScan::Count(Answered<int64_t> done) {
  // A server that does not know the field sends records, which shows as Unimplemented.
  request_.only_return_count = true;
  Next([self = shared_from_this(), done = std::move(done)](auto rows) mutable {
    if (!rows.ok()) return done(rows.status());
    if (!rows->empty()) return done(absl::UnimplementedError("the server can't only count"));
    done(self->counted_);
  });
}

void TableScan::Close() {
  auto client = client_.lock();
  is_closed_ = true;
  // A server of 2.5.0 has negative ones, too.
  if (client != nullptr && scan_id_ != kNotBegun && scan_id_ != kScanEnded)
    client->Tell(table_, kRpcClearScanner, EncodeWrapped(scan_id_), partition_hash_);
  scan_id_ = kScanEnded;
  pieces_.clear();
}

}  // namespace arion
