// SPDX-License-Identifier: Apache-2.0
#include "client/batches.h"
#include "client/cluster_client.h"

#include <algorithm>
#include <functional>
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

// Places are those of the batch, so that values go back in the order in which keys were asked for.
std::vector<Group> GroupByPartition(std::vector<FullKey> keys, int32_t partition_count) {
  std::map<uint64_t, std::vector<size_t>> of_partition;
  for (size_t i = 0; i < keys.size(); ++i) {
    const Blob& hashed = keys[i].hash_key.bytes.empty() ? keys[i].sort_key : keys[i].hash_key;
    of_partition[Crc64(hashed) % static_cast<uint64_t>(partition_count)].push_back(i);
  }
  std::vector<Group> groups;
  for (const auto& [partition, places] : of_partition) {
    for (size_t place : places) {
      // A request is routed by its first key, so all its keys are of one partition
      // (client/question.h).
      const bool is_first = place == places.front();
      if (is_first || groups.back().places.size() == kKeysPerRequest) groups.emplace_back();
      groups.back().request.keys.push_back(std::move(keys[place]));
      groups.back().places.push_back(place);
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

}  // namespace

void BatchGet(ClusterClient& client, const std::string& table, std::vector<FullKey> keys,
              const AskOptions& options, absl::AnyInvocable<void(BatchValues)> done) {
  client.LearnPartitionCount(
      table, options,
      [weak = client.weak_from_this(), table, keys = std::move(keys), rest = options,
       deadline = client.Deadline(options),
       done = std::move(done)](absl::StatusOr<int32_t> count) mutable {
        auto client = weak.lock();
        if (client == nullptr) return;
        if (!count.ok()) return done(BatchValues(keys.size(), count.status()));
        auto values =
            // Answers leave out what does not exist, so every key begins as not found.
            std::make_shared<BatchValues>(keys.size(), absl::NotFoundError("no such record"));
        auto groups =
            std::make_shared<std::vector<Group>>(GroupByPartition(std::move(keys), *count));
        std::vector<Question> questions;
        for (const Group& group : *groups) questions.push_back(QuestionOf(group.request));
        rest.timeout = client->TimeLeft(deadline);
        // The groups keep their keys beside the questions: the answer is matched against them.
        auto take = [groups, values](size_t number, const Body& body) {
          TakeValues((*groups)[number], body, *values);
        };
        auto end = [values, done = std::move(done)]() mutable { done(std::move(*values)); };
        std::make_shared<Pipeline>(*client, table, std::move(questions), rest, std::move(take),
                                   std::move(end))
            ->Run();
      });
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
