// SPDX-License-Identifier: Apache-2.0
#include "client/batches.h"
#include "client/cluster_client.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "base/crc.h"
#include "base/status.h"

namespace arion {
namespace {

// Enough to keep a cluster busy, and a bound for the client's memory.
constexpr size_t kUnderWayMax = 256;
constexpr size_t kKeysPerRequest = 1000;

// Asks questions, kUnderWayMax at a time, and hands each answer on by its question's number.
class Pipeline : public std::enable_shared_from_this<Pipeline> {
 public:
  using OnAnswer = std::function<void(size_t number, const Body& body)>;
  Pipeline(ClusterClient& client, std::string table, std::vector<Question> questions,
           AskOptions options, OnAnswer on_answer, absl::AnyInvocable<void()> done)
      : client_(client.weak_from_this()),
        table_(std::move(table)),
        questions_(std::move(questions)),
        options_(std::move(options)),
        deadline_(client.Deadline(options_)),
        on_answer_(std::move(on_answer)),
        done_(std::move(done)) {}

  void Run() {
    auto client = client_.lock();
    if (client == nullptr) return;
    // Posted, so that the callback never runs inside the call.
    if (questions_.empty())
      return client->strand()->Post([self = shared_from_this()] { self->done_(); });
    while (next_ < std::min(questions_.size(), kUnderWayMax)) AskNext();
  }

 private:
  void AskNext() {
    auto client = client_.lock();
    if (client == nullptr) return;
    const size_t number = next_++;
    // One deadline for the whole batch: later questions get what is left.
    options_.timeout = client->TimeLeft(deadline_);
    client->Ask(table_, std::move(questions_[number]), options_,
                [self = shared_from_this(), number](Body body) {
                  self->on_answer_(number, body);
                  if (self->next_ < self->questions_.size()) self->AskNext();
                  if (++self->answered_ == self->questions_.size()) self->done_();
                });
  }

  const std::weak_ptr<ClusterClient> client_;  // which holds this while answers are due
  const std::string table_;
  std::vector<Question> questions_;
  AskOptions options_;
  const Instant deadline_;
  const OnAnswer on_answer_;
  absl::AnyInvocable<void()> done_;
  size_t next_ = 0;
  size_t answered_ = 0;
};

// The keys of one BATCH_GET, and where their values go.
struct Group {
  BatchGetRequest request;
  std::vector<size_t> places;
};

// The partition that holds the key; there is one.
int32_t PartitionOf(const FullKey& key, const ClusterClient::Shares& shares) {
  const uint64_t hash = Crc64(key.hash_key.bytes.empty() ? key.sort_key : key.hash_key);
  const auto share = std::find_if(shares.begin(), shares.end(), [hash](TableRouter::Share one) {
    return hash % static_cast<uint64_t>(one.count) == static_cast<uint64_t>(one.index);
  });
  return share->index;
}

// `places` are those of the batch, so that values go back in the order in which keys were asked
// for.
std::vector<Group> GroupByPartition(std::vector<FullKey> keys, std::vector<size_t> places,
                                    const ClusterClient::Shares& shares) {
  std::map<int32_t, std::vector<size_t>> of_partition;
  for (size_t i = 0; i < keys.size(); ++i) of_partition[PartitionOf(keys[i], shares)].push_back(i);
  std::vector<Group> groups;
  for (const auto& [partition, of_it] : of_partition) {
    for (size_t i : of_it) {
      // A request is routed by its first key, so all its keys are of one partition
      // (client/question.h).
      const bool is_first = i == of_it.front();
      if (is_first || groups.back().places.size() == kKeysPerRequest) groups.emplace_back();
      groups.back().request.keys.push_back(std::move(keys[i]));
      groups.back().places.push_back(places[i]);
    }
  }
  return groups;
}

// The answer has the records there are, in the keys' order.
void TakeValues(const Group& group, const Body& body, BatchValues& values) {
  absl::StatusOr<BatchGetResponse> answer = BatchGetAnswer(body);
  if (!answer.ok()) {
    for (size_t place : group.places) values[place] = answer.status();
    return;
  }
  auto found = answer->data.begin();
  for (size_t i = 0; i < group.places.size(); ++i) {
    const FullKey& key = group.request.keys[i];
    if (found == answer->data.end() || found->hash_key != key.hash_key ||
        found->sort_key != key.sort_key)
      continue;
    values[group.places[i]] = std::move(found->value.bytes);
    ++found;
  }
}

// One BatchGet. Where the table is split meanwhile, keys that nobody has read are asked for again.
class BatchReading : public std::enable_shared_from_this<BatchReading> {
 public:
  using Done = absl::AnyInvocable<void(BatchValues)>;
  BatchReading(ClusterClient& client, std::string table, std::vector<FullKey> keys,
               const AskOptions& options, Done done)
      : client_(client.weak_from_this()),
        table_(std::move(table)),
        options_(options),
        deadline_(client.Deadline(options)),
        // Answers leave out what does not exist, so every key begins as not found.
        values_(keys.size(), absl::NotFoundError("no such record")),
        keys_(std::move(keys)),
        done_(std::move(done)) {
    for (size_t i = 0; i < keys_.size(); ++i) places_.push_back(i);
  }

  void Begin() {
    auto client = client_.lock();
    if (client == nullptr) return;
    options_.timeout = client->TimeLeft(deadline_);
    client->LearnShares(
        table_, options_,
        [self = shared_from_this()](const absl::StatusOr<ClusterClient::Shares>& shares) {
          if (shares.ok()) return self->Ask(*shares);
          for (const size_t place : self->places_) self->values_[place] = shares.status();
          self->done_(std::move(self->values_));
        });
  }

 private:
  void Ask(const ClusterClient::Shares& shares) {
    auto client = client_.lock();
    if (client == nullptr) return;
    groups_ = GroupByPartition(std::exchange(keys_, {}), std::exchange(places_, {}), shares);
    std::vector<Question> questions;
    for (const Group& group : groups_) {
      questions.push_back(QuestionOf(group.request));
      questions.back().present_count = static_cast<int32_t>(shares.size());
    }
    options_.timeout = client->TimeLeft(deadline_);
    std::make_shared<Pipeline>(
        *client, table_, std::move(questions), options_,
        [self = shared_from_this()](size_t number, const Body& body) {
          self->Take(self->groups_[number], body);
        },
        [self = shared_from_this()] {
          if (!self->keys_.empty()) return self->Begin();
          self->done_(std::move(self->values_));
        })
        ->Run();
  }

  void Take(Group& group, const Body& body) {
    if (!absl::IsAborted(body.status())) return TakeValues(group, body, values_);
    std::move(group.request.keys.begin(), group.request.keys.end(), std::back_inserter(keys_));
    places_.insert(places_.end(), group.places.begin(), group.places.end());
  }

  const std::weak_ptr<ClusterClient> client_;  // which holds this while answers are due
  const std::string table_;
  AskOptions options_;
  const Instant deadline_;
  BatchValues values_;
  // To be asked for, and their places; then by partition.
  std::vector<FullKey> keys_;
  std::vector<size_t> places_;
  std::vector<Group> groups_;
  Done done_;
};

}  // namespace

void BatchGet(ClusterClient& client, const std::string& table, std::vector<FullKey> keys,
              const AskOptions& options, absl::AnyInvocable<void(BatchValues)> done) {
  std::make_shared<BatchReading>(client, table, std::move(keys), options, std::move(done))->Begin();
}

void BatchWrite(ClusterClient& client, const std::string& table, std::vector<Question> writes,
                const AskOptions& options,
                absl::AnyInvocable<void(std::vector<absl::Status>)> done) {
  auto outcomes = std::make_shared<std::vector<absl::Status>>(writes.size());
  auto take = [outcomes](size_t number, const Body& body) {
    (*outcomes)[number] = PutAnswer(body);
  };
  auto end = [outcomes, done = std::move(done)]() mutable { done(std::move(*outcomes)); };
  std::make_shared<Pipeline>(client, table, std::move(writes), options, std::move(take),
                             std::move(end))
      ->Run();
}

}  // namespace arion
