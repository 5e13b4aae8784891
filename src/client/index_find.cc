// SPDX-License-Identifier: Apache-2.0
#include "client/index_find.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error_code.h"
#include "base/status.h"
#include "client/cluster_client.h"
#include "client/user_requests.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

// Enough to keep a cluster busy, and a bound for what is under way for tables of many partitions.
constexpr size_t kPartitionsAtOnce = 256;
// How many partitions may be split while one question is answered.
constexpr int kSplitsMax = 100;

struct PartitionQuestion {
  TableRouter::Share share;
  FindRequest request;
};
using PartitionAnswers = std::map<int32_t, absl::StatusOr<FindResponse>>;

absl::StatusOr<FindResponse> ReadAnswer(const Body& body) {
  if (absl::IsUnimplemented(body.status()))
    return absl::UnimplementedError(
        absl::StrCat(body.status().message(), ": servers of an older version have no indexes"));
  if (!body.ok()) return body.status();
  absl::StatusOr<FindResponse> answer = DecodeWrapped<FindResponse>(*body);
  if (answer.ok()) return answer;
  return absl::InternalError(absl::StrCat("unreadable answer: ", answer.status().message()));
}

StorageError ErrorOf(const FindResponse& answer) { return static_cast<StorageError>(answer.error); }

// Asks partitions, each once, kPartitionsAtOnce at a time.
class Round : public std::enable_shared_from_this<Round> {
 public:
  using Done = absl::AnyInvocable<void(PartitionAnswers)>;
  Round(ClusterClient& client, std::string table, std::vector<PartitionQuestion> questions,
        const AskOptions& options, Instant deadline, Done done)
      : client_(client.weak_from_this()),
        table_(std::move(table)),
        questions_(std::move(questions)),
        options_(options),
        deadline_(deadline),
        done_(std::move(done)) {}

  // There is at least one question.
  void Run() {
    while (next_ < std::min(questions_.size(), kPartitionsAtOnce)) AskNext();
  }

 private:
  void AskNext() {
    auto client = client_.lock();
    if (client == nullptr) return;
    const PartitionQuestion& asked = questions_[next_++];
    const int32_t partition = asked.share.index;
    options_.timeout = client->TimeLeft(deadline_);
    client->Ask(table_,
                {.name = kRpcFind,
                 .kind = Question::Kind::kRead,
                 .partition_hash = TableRouter::HashOf(asked.share),
                 .body = EncodeWrapped(asked.request)},
                options_, [self = shared_from_this(), partition](Body body) {
                  self->answers_.emplace(partition, ReadAnswer(body));
                  if (self->next_ < self->questions_.size()) self->AskNext();
                  if (self->answers_.size() == self->questions_.size())
                    self->done_(std::move(self->answers_));
                });
  }

  const std::weak_ptr<ClusterClient> client_;  // which holds this while answers are due
  const std::string table_;
  const std::vector<PartitionQuestion> questions_;
  AskOptions options_;
  const Instant deadline_;
  Done done_;
  PartitionAnswers answers_;
  size_t next_ = 0;
};

// What the answers say together; OK: all of them have rows.
absl::Status Judge(const PartitionAnswers& answers) {
  size_t unaware = 0;
  int32_t percent = 100;
  bool is_building = false;
  for (const auto& [partition, answer] : answers) {
    RETURN_IF_ERROR(answer.status());
    switch (ErrorOf(*answer)) {
      case StorageError::kOk:
        break;
      case StorageError::kNotFound:
        ++unaware;
        break;
      case StorageError::kTryAgain:
        is_building = true;
        percent = std::min(percent, answer->built_percent);
        break;
      case StorageError::kInvalidArgument:
        return absl::InvalidArgumentError(
            "the bounds, the prefix or the position to go on behind do not fit the index");
      default:
        return absl::InternalError(
            absl::StrCat("storage error ", answer->error, " in partition ", partition));
    }
  }
  if (unaware == answers.size()) return absl::NotFoundError("no such index");
  // Made a moment ago: some servers have not heard of it.
  if (unaware > 0) percent = 0;
  if (!is_building && unaware == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("index is being built, ", percent, " %"));
}

// One question of a user's, round by round.
class Finding : public std::enable_shared_from_this<Finding> {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<FindResult>)>;
  Finding(ClusterClient& client, std::string table, FindRequest request, const AskOptions& options,
          Done done)
      : client_(client.weak_from_this()),
        table_(std::move(table)),
        request_(std::move(request)),
        options_(options),
        deadline_(client.Deadline(options)),
        done_(std::move(done)) {}

  void Begin() {
    auto client = client_.lock();
    if (client == nullptr) return;
    rows_.clear();
    next_.clear();
    has_more_ = false;
    AskOptions options = options_;
    options.timeout = client->TimeLeft(deadline_);
    client->LearnShares(table_, options,
                        [self = shared_from_this()](absl::StatusOr<ClusterClient::Shares> shares) {
                          if (!shares.ok()) return self->done_(shares.status());
                          self->BeginWith(*std::move(shares));
                        });
  }

 private:
  void BeginWith(ClusterClient::Shares shares) {
    shares_ = std::move(shares);
    std::vector<PartitionQuestion> questions;
    for (const TableRouter::Share share : shares_) questions.push_back({share, request_});
    Ask(std::move(questions));
  }

  void Ask(std::vector<PartitionQuestion> questions) {
    auto client = client_.lock();
    if (client == nullptr) return;
    std::make_shared<Round>(*client, table_, std::move(questions), options_, deadline_,
                            [self = shared_from_this()](PartitionAnswers answers) {
                              self->OnRound(std::move(answers));
                            })
        ->Run();
  }

  void OnRound(PartitionAnswers answers) {
    auto client = client_.lock();
    if (client == nullptr) return;
    // Split meanwhile: partitions are there that nobody has asked. None: not known now.
    const ClusterClient::Shares shares = client->SharesOf(table_);
    if (!shares.empty() && shares != shares_) {
      if (++splits_ > kSplitsMax)
        return done_(absl::UnavailableError("the table is split again and again"));
      return Begin();
    }
    if (absl::Status judged = Judge(answers); !judged.ok()) return done_(std::move(judged));
    for (auto& [partition, answer] : answers) {
      if (absl::Status taken = Take(partition, *std::move(answer)); !taken.ok())
        return done_(std::move(taken));
    }
    Merge();
    std::vector<PartitionQuestion> questions = Missing();
    if (!questions.empty()) return Ask(std::move(questions));
    done_(Result());
  }

  bool IsBefore(std::string_view a, std::string_view b) const {
    return request_.descending ? b < a : a < b;
  }

  absl::Status Take(int32_t partition, FindResponse answer) {
    std::move(answer.rows.begin(), answer.rows.end(), std::back_inserter(rows_));
    const auto before = next_.find(partition);
    const std::string_view from = before != next_.end()        ? std::string_view(before->second)
                                  : request_.after.has_value() ? std::string_view(*request_.after)
                                                               : std::string_view();
    if (!answer.next.has_value()) {
      next_.erase(partition);
      return absl::OkStatus();
    }
    // Else it would be asked the same for ever.
    if (!from.empty() && !IsBefore(from, *answer.next))
      return absl::InternalError(
          absl::StrCat("partition ", partition, " goes on where it had been"));
    next_[partition] = std::move(answer.next->bytes);
    return absl::OkStatus();
  }

  // In order, each record once: both halves of an older version's split hold all of them.
  void Merge() {
    std::sort(rows_.begin(), rows_.end(), [this](const FoundRow& a, const FoundRow& b) {
      return IsBefore(a.position, b.position);
    });
    rows_.erase(
        std::unique(rows_.begin(), rows_.end(),
                    [](const FoundRow& a, const FoundRow& b) { return a.position == b.position; }),
        rows_.end());
    const auto limit = static_cast<size_t>(request_.limit);
    if (rows_.size() <= limit) return;
    has_more_ = true;
    rows_.resize(limit);
  }

  // Who has to be asked on before the rows that are there may be returned: those of whom less than
  // the limit lies within what they have answered for (index_find/F1).
  std::vector<PartitionQuestion> Missing() const {
    std::vector<PartitionQuestion> questions;
    for (const TableRouter::Share share : shares_) {
      const auto goes_on = next_.find(share.index);
      if (goes_on == next_.end()) continue;
      const std::string& next = goes_on->second;
      const auto behind = std::upper_bound(
          rows_.begin(), rows_.end(), next,
          [this](std::string_view at, const FoundRow& row) { return IsBefore(at, row.position); });
      const auto within = static_cast<int32_t>(behind - rows_.begin());
      if (within >= request_.limit) continue;
      FindRequest request = request_;
      request.after = Blob(next);
      request.limit = request_.limit - within;
      questions.push_back({share, std::move(request)});
    }
    return questions;
  }

  absl::StatusOr<FindResult> Result() {
    FindResult result;
    if (!rows_.empty() && (has_more_ || !next_.empty())) result.next = rows_.back().position.bytes;
    result.rows.reserve(rows_.size());
    for (FoundRow& found : rows_) {
      ASSIGN_OR_RETURN(IndexedRow row, RowOf(std::move(found)));
      result.rows.push_back(std::move(row));
    }
    return result;
  }

  const std::weak_ptr<ClusterClient> client_;  // which holds this while answers are due
  const std::string table_;
  const FindRequest request_;
  const AskOptions options_;
  const Instant deadline_;
  Done done_;
  ClusterClient::Shares shares_;
  int splits_ = 0;
  // In order, at most the limit.
  std::vector<FoundRow> rows_;
  // Rows were cut off.
  bool has_more_ = false;
  // Where partitions go on; those that are not named are through.
  std::map<int32_t, std::string> next_;
};

absl::StatusOr<IndexOverview> OverviewOf(const PartitionAnswers& answers) {
  IndexOverview overview{.partitions = static_cast<int32_t>(answers.size()), .lowest_percent = 100};
  int64_t sum = 0;
  for (const auto& [partition, answer] : answers) {
    RETURN_IF_ERROR(answer.status());
    const bool is_unaware = ErrorOf(*answer) == StorageError::kNotFound;
    const int32_t percent = is_unaware ? 0 : answer->built_percent;
    if (!is_unaware && ErrorOf(*answer) != StorageError::kTryAgain && answer->error != 0)
      return absl::InternalError(
          absl::StrCat("storage error ", answer->error, " in partition ", partition));
    overview.unaware += is_unaware ? 1 : 0;
    overview.lowest_percent = std::min(overview.lowest_percent, percent);
    overview.entries += answer->entries;
    overview.left_out += answer->left_out;
    overview.renewed += answer->is_renewed ? 1 : 0;
    sum += percent;
    if (is_unaware || (percent == 100 && !answer->is_renewed)) continue;
    for (IndexPace* pace : {&overview.pace, &overview.servers[answer->server]}) {
      pace->left_bytes += answer->left_bytes;
      pace->bytes_per_second += answer->bytes_per_second;
    }
  }
  if (overview.unaware == overview.partitions) return absl::NotFoundError("no such index");
  overview.mean_percent = static_cast<double>(sum) / overview.partitions;
  return overview;
}

}  // namespace

void FindByIndex(ClusterClient& client, const std::string& table, FindRequest request,
                 const AskOptions& options,
                 absl::AnyInvocable<void(absl::StatusOr<FindResult>)> done) {
  std::make_shared<Finding>(client, table, std::move(request), options, std::move(done))->Begin();
}

void DescribeIndex(ClusterClient& client, const std::string& table, std::string index,
                   const AskOptions& options,
                   absl::AnyInvocable<void(absl::StatusOr<IndexOverview>)> done) {
  const Instant deadline = client.Deadline(options);
  client.LearnShares(
      table, options,
      [weak = client.weak_from_this(), table, index = std::move(index), options, deadline,
       done = std::move(done)](absl::StatusOr<ClusterClient::Shares> shares) mutable {
        auto client = weak.lock();
        if (client == nullptr) return;
        if (!shares.ok()) return done(shares.status());
        std::vector<PartitionQuestion> questions;
        // No rows: only how far it is.
        for (const TableRouter::Share share : *shares)
          questions.push_back({share, {.index = index, .limit = 0, .may_scan = true}});
        std::make_shared<Round>(*client, table, std::move(questions), options, deadline,
                                [done = std::move(done)](PartitionAnswers answers) mutable {
                                  done(OverviewOf(answers));
                                })
            ->Run();
      });
}

}  // namespace arion
