// SPDX-License-Identifier: Apache-2.0
#include "tools/compare/compared_table.h"

#include <utility>

#include "base/crc.h"
#include "base/status.h"
#include "client/client_threads.h"
#include "client/question.h"
#include "rpc/thrift_codec.h"

namespace arion::compare {

// A new scan for each question: nothing is held at a server in between, and each range is read as
// it is then.
class ComparedTable::OnePartition : public ComparedPartition {
 public:
  OnePartition(ComparedTable& table, TableRouter::Share share)
      : table_(table), hash_(TableRouter::HashOf(share)) {}

  absl::StatusOr<RangeSum> Sum(const std::string& first, const std::string& end,
                               int32_t records_max) override {
    ASSIGN_OR_RETURN(const ScanResponse answer, Batch(first, end, records_max, Wanted::kSum));
    if (answer.sum)
      return RangeSum{.records = answer.kv_count.value_or(0),
                      .sum = static_cast<uint64_t>(*answer.sum),
                      .next = answer.next_key ? answer.next_key->bytes : ""};
    RangeSum sum{.records = static_cast<int64_t>(answer.kvs.size()), .next = NextOf(answer)};
    for (const KeyValue& record : answer.kvs) {
      ASSIGN_OR_RETURN(const uint32_t expires, ExpiryOf(record));
      sum.sum += RecordHash(record.key, record.value, expires);
    }
    table_.fetched_ += sum.records;
    return sum;
  }

  absl::StatusOr<RangeRecords> Read(const std::string& first, const std::string& end,
                                    int32_t records_max) override {
    ASSIGN_OR_RETURN(ScanResponse answer, Batch(first, end, records_max, Wanted::kRecords));
    RangeRecords read{.records = {}, .next = NextOf(answer)};
    for (KeyValue& record : answer.kvs) {
      ASSIGN_OR_RETURN(const uint32_t expires, ExpiryOf(record));
      read.records.push_back({std::move(record.key.bytes),
                              {.exists = true,
                               .value_hash = Crc64(record.value),
                               .value_bytes = record.value.bytes.size(),
                               .expires = expires}});
    }
    return read;
  }

 private:
  enum class Wanted { kSum, kRecords };

  // The range's first batch that holds a record, or its end.
  absl::StatusOr<ScanResponse> Batch(const std::string& first, const std::string& end,
                                     int32_t records_max, Wanted wanted) {
    GetScannerRequest request{.start_key = first,
                              .stop_key = end,
                              .start_inclusive = true,
                              .stop_inclusive = false,
                              .batch_size = records_max,
                              .validate_partition_hash = true,
                              .full_scan = true};
    if (table_.options_.expiries == Expiries::kCompared) request.return_expire_ts = true;
    if (wanted == Wanted::kSum) request.only_return_sum = true;
    ASSIGN_OR_RETURN(ScanResponse answer, Answer(QuestionOf(request, hash_)));
    while (!answer.sum && answer.kvs.empty() && answer.context_id != kScanEnded) {
      ASSIGN_OR_RETURN(answer,
                       Answer(QuestionOf(ScanRequest{.context_id = answer.context_id}, hash_)));
    }
    if (answer.context_id != kScanEnded) table_.Forget(answer.context_id, hash_);
    return answer;
  }
  absl::StatusOr<ScanResponse> Answer(Question question) {
    // It is of the keys that the partition has as long as the table is not split.
    question.present_count = static_cast<int32_t>(table_.shares_.size());
    ASSIGN_OR_RETURN(ScanResponse answer, ScanAnswer(table_.Ask(std::move(question))));
    if (answer.error != 0) return absl::UnavailableError("a server forgot a scan under way");
    return answer;
  }
  static std::string NextOf(const ScanResponse& answer) {
    return answer.context_id == kScanEnded || answer.kvs.empty()
               ? ""
               : JustBehind(answer.kvs.back().key.bytes);
  }
  absl::StatusOr<uint32_t> ExpiryOf(const KeyValue& record) const {
    if (table_.options_.expiries == Expiries::kNotCompared) return 0;
    if (!record.expire_ts_seconds)
      return absl::UnimplementedError("a server does not say when records expire");
    return static_cast<uint32_t>(*record.expire_ts_seconds);
  }

  ComparedTable& table_;
  const uint64_t hash_;
};

absl::StatusOr<std::unique_ptr<ComparedTable>> ComparedTable::Create(const Options& options) {
  ASSIGN_OR_RETURN(std::vector<Endpoint> servers,
                   ClientThreads::ParseEndpoints(options.meta_servers));
  const ClusterClientOptions client{.meta_servers = std::move(servers), .timeout = options.timeout};
  return std::unique_ptr<ComparedTable>(
      new ComparedTable(options, std::make_unique<ClientThreads>(client, 1)));
}

ComparedTable::ComparedTable(Options options, std::unique_ptr<ClientThreads> threads)
    : options_(std::move(options)), threads_(std::move(threads)) {}
ComparedTable::~ComparedTable() = default;

absl::StatusOr<int32_t> ComparedTable::Learn() {
  using Shares = absl::StatusOr<ClusterClient::Shares>;
  ASSIGN_OR_RETURN(shares_,
                   threads_->RunAndWait<Shares>([this](ClusterClient& client, TableAdmin&,
                                                       absl::AnyInvocable<void(Shares)> done) {
                     client.LearnShares(options_.table, {}, std::move(done));
                   }));
  return static_cast<int32_t>(shares_.size());
}

std::unique_ptr<ComparedPartition> ComparedTable::Partition(int32_t index) {
  return std::make_unique<OnePartition>(*this, shares_.at(static_cast<size_t>(index)));
}

absl::StatusOr<std::string> ComparedTable::Ask(Question question) {
  // RunAndWait takes what can be copied.
  const auto asked = std::make_shared<Question>(std::move(question));
  return threads_->RunAndWait<absl::StatusOr<std::string>>(
      [this, asked](ClusterClient& client, TableAdmin&,
                    absl::AnyInvocable<void(absl::StatusOr<std::string>)> done) {
        client.Ask(options_.table, std::move(*asked), {}, std::move(done));
      });
}

void ComparedTable::Forget(int64_t scan, uint64_t partition_hash) {
  threads_->runtime()->NearestCore().Run(
      [table = options_.table, scan, partition_hash](ClusterClient& client, TableAdmin&) {
        client.Tell(table, kRpcClearScanner, EncodeWrapped(scan), partition_hash);
      });
}

}  // namespace arion::compare
