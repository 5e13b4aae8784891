// SPDX-License-Identifier: Apache-2.0
#include "sim_workloads/workload.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "base/crc.h"
#include "base/raw_key.h"
#include "client/cluster_client.h"
#include "sim/sim_environment.h"
#include "sim_checkers/history.h"
#include "sim_workloads/probe_client.h"

namespace arion::sim {
namespace {

constexpr char kSortKey[] = "s";

// The data workload's share of the options: the same tables, the same percentage of expiring
// records.
DataWorkloadOptions DataOptions(const WorkloadOptions& options) {
  DataWorkloadOptions data;
  for (const WorkloadTable& table : options.tables) data.tables.push_back(table.name);
  data.expiry_percent = options.expiry_percent;
  data.object_percent = options.object_percent;
  return data;
}

// Tries names until each partition has one.
std::vector<std::string> OneKeyOfEachPartition(const WorkloadTable& table) {
  std::vector<std::string> keys(static_cast<size_t>(table.partition_count));
  for (size_t left = keys.size(), i = 0; left > 0; ++i) {
    std::string key = absl::StrCat("v", i);
    std::string& place = keys[PartitionHash(key, "") % keys.size()];
    if (!place.empty()) continue;
    place = std::move(key);
    --left;
  }
  return keys;
}

// What a server's refusal leaves open about a write that was sent to it once.
bool MayHaveHappened(ErrorCode error) {
  return error == ErrorCode::kTimeout || error == ErrorCode::kNetworkFailure ||
         error == ErrorCode::kInvalidData;
}

}  // namespace

void WriteRegister(SimWorld& world, History& history, SimClient& client, const Register& record,
                   std::string value, absl::AnyInvocable<void(bool ok)> done) {
  // Recorded before it is sent: a write whose client dies meanwhile may have happened.
  size_t index = history.Invoke(Operation::Kind::kWrite, record.name, value, world.now());
  const absl::Duration ttl =
      record.ttl_seconds > 0 ? absl::Seconds(record.ttl_seconds) : absl::InfiniteDuration();
  client.table(record.table)
      .Put(record.hash_key, kSortKey, value, {.ttl = ttl},
           client.Heard(
               [&world, &history, index, done = std::move(done)](absl::Status status) mutable {
                 // Only a deadline leaves open whether a write happened; every other error is a
                 // promise that it did not.
                 auto outcome = status.ok()                        ? Operation::Outcome::kOk
                                : absl::IsDeadlineExceeded(status) ? Operation::Outcome::kUndecided
                                                                   : Operation::Outcome::kRefused;
                 history.Return(index, outcome, world.now());
                 done(status.ok());
               }));
}

void ReadRegister(SimWorld& world, History& history, SimClient& client, const Register& record,
                  absl::AnyInvocable<void(bool ok)> done) {
  size_t index = history.Invoke(Operation::Kind::kRead, record.name, "", world.now());
  client.table(record.table)
      .Get(record.hash_key, kSortKey, {},
           client.Heard([&world, &history, index, may_seem_expired = record.may_seem_expired,
                         done = std::move(done)](absl::StatusOr<std::string> value) mutable {
             // A read without an answer says nothing. So does one that finds no record where a
             // server's clock may run ahead of the record's expiry.
             bool answered = value.ok() || (absl::IsNotFound(value.status()) && !may_seem_expired);
             if (answered) history.ReturnRead(index, value.ok() ? *value : "", world.now());
             done(answered);
           }));
}

Workload::Workload(SimWorld& world, SimNetwork& network, History& history,
                   DataHistory& data_history, WorkloadOptions options)
    : world_(world),
      network_(network),
      history_(history),
      options_(std::move(options)),
      data_(world, data_history, DataOptions(options_)) {
  // One more than there are clients: the prober.
  for (int i = 0; i <= options_.clients; ++i) {
    auto client = std::make_unique<ClientNode>();
    client->node = &world.AddNode(absl::StrCat("client", i + 1));
    client->endpoint = Endpoint{0x0a000100u + static_cast<uint32_t>(i), 1000};
    clients_.push_back(std::move(client));
  }
}

Workload::~Workload() {
  for (auto& client : clients_) End(*client);
}

std::string Workload::RawKey(const std::string& key) { return JoinRawKey(key, kSortKey); }

// By the number at its end.
const WorkloadTable& Workload::TableOf(const std::string& key) const {
  return options_.tables[static_cast<size_t>(key.back()) % options_.tables.size()];
}

Register Workload::RegisterOf(const std::string& key) const {
  return {.table = TableOf(key).name,
          .hash_key = key,
          .name = key,
          .ttl_seconds = options_.ttl_seconds,
          .may_seem_expired = options_.ttl_seconds > 0 && !are_clocks_right_};
}

std::vector<std::string> Workload::Keys() const {
  std::vector<std::string> keys;
  for (int i = 0; i < options_.keys; ++i) keys.push_back(absl::StrCat("k", i));
  return keys;
}

std::vector<std::string> Workload::Counters() const {
  std::vector<std::string> counters;
  for (int i = 0; i < options_.counters; ++i) counters.push_back(absl::StrCat("n", i));
  return counters;
}

std::string Workload::NewValue(const ClientNode& client) {
  std::string value = absl::StrCat(client.node->name(), ".", next_value_++);
  // Padding comes behind the distinct part, where messages about a value cut it off.
  if (options_.value_bytes_max > 0)
    value.append(world_.random().Below(options_.value_bytes_max), '~');
  return value;
}

void Workload::Begin(ClientNode& client) {
  // A new process: nothing of the former life is known to it.
  client.environment = &client.node->Start();
  ++client.lives;
  client.transport = std::make_unique<SimTransport>(network_, *client.node, client.endpoint);
  client.strand = client.environment->NewStrand("client");
  ClusterClientOptions options;
  options.meta_servers = options_.meta_servers;
  options.timeout = options_.timeout;
  // A write is sent again only where it surely did not happen, so each value is written once at
  // most and the history stays simple.
  options.write_retries = WriteRetries::kAfterRefusals;
  client.client =
      std::make_unique<SimClient>(*client.environment, *client.transport, client.strand, options);
  client.probe = std::make_unique<ProbeClient>(*client.transport, client.strand);
}

void Workload::End(ClientNode& client) {
  if (!client.node->alive()) return;
  client.node->Crash(CrashMode::kProcess);
  // What it waited for stays undecided for ever.
  under_way_ -= client.operations_under_way;
  client.operations_under_way = 0;
  client.client.reset();
  client.probe.reset();
  client.transport.reset();
}

void Workload::Start() {
  is_running_ = true;
  for (size_t i = 0; i < clients_.size(); ++i) {
    ClientNode& client = *clients_[i];
    Begin(client);
    bool is_prober = i + 1 == clients_.size();
    for (int loop = 0; loop < (is_prober ? 1 : options_.loops); ++loop) Loop(client);
  }
}

void Workload::Loop(ClientNode& client) {
  if (!is_running_) return;
  // All clients hurry at the same time, so that servers meet bursts.
  constexpr int64_t kRoundNanos = 20'000'000'000;
  const bool hurries = static_cast<double>(world_.now().nanos() % kRoundNanos) <
                       options_.hurry_percent / 100 * kRoundNanos;
  const absl::Duration think_max = hurries ? options_.think_max / 10 : options_.think_max;
  absl::Duration think = world_.random().Between(absl::ZeroDuration(), think_max);
  client.strand->PostAfter(think, [this, &client] {
    if (is_running_) Operate(client);
  });
}

void Workload::Done(ClientNode& client) {
  --under_way_;
  --client.operations_under_way;
  // A new client knows no routes and asks the meta server: it meets the new primary while others
  // may still ask the old.
  if (is_running_ && world_.random().Percent(0.5)) {
    world_.After(absl::ZeroDuration(), EventKind::kClient, [this, &client, life = client.lives] {
      if (client.lives != life || !is_running_) return;
      End(client);
      Begin(client);
      bool is_prober = &client == clients_.back().get();
      for (int loop = 0; loop < (is_prober ? 1 : options_.loops); ++loop) Loop(client);
    });
    return;
  }
  Loop(client);
}

void Workload::Operate(ClientNode& client) {
  if (&client == clients_.back().get()) return Probe(client);
  auto done = [this, &client](bool) { Done(client); };
  ++under_way_;
  ++client.operations_under_way;
  if (world_.random().Percent(options_.data_percent)) return data_.Operate(*client.client, done);
  std::string key = absl::StrCat("k", world_.random().Below(static_cast<uint64_t>(options_.keys)));
  if (world_.random().Percent(options_.increment_percent)) {
    const std::vector<std::string> counters = Counters();
    Increment(client, counters[world_.random().Below(counters.size())], done);
  } else if (world_.random().Percent(options_.write_percent)) {
    Write(client, key, done);
  } else {
    Read(client, key, done);
  }
}

void Workload::Write(ClientNode& client, const std::string& key,
                     absl::AnyInvocable<void(bool ok)> done) {
  WriteRegister(world_, history_, *client.client, RegisterOf(key), NewValue(client),
                std::move(done));
}

void Workload::Read(ClientNode& client, const std::string& key,
                    absl::AnyInvocable<void(bool ok)> done) {
  ReadRegister(world_, history_, *client.client, RegisterOf(key), std::move(done));
}

void Workload::Increment(ClientNode& client, const std::string& counter,
                         absl::AnyInvocable<void(bool ok)> done) {
  size_t index = history_.Invoke(Operation::Kind::kIncrement, counter, "", world_.now());
  client.client->table(TableOf(counter).name)
      .Incr(counter, kSortKey, 1, {},
            client.client->Heard(
                [this, index, done = std::move(done)](absl::StatusOr<int64_t> value) mutable {
                  if (value.ok()) {
                    history_.ReturnRead(index, absl::StrCat(*value), world_.now());
                  } else {
                    history_.Return(index,
                                    absl::IsDeadlineExceeded(value.status())
                                        ? Operation::Outcome::kUndecided
                                        : Operation::Outcome::kRefused,
                                    world_.now());
                  }
                  done(value.ok());
                }));
}

void Workload::Probe(ClientNode& client) {
  SimRandom& random = world_.random();
  std::string key = absl::StrCat("k", random.Below(static_cast<uint64_t>(options_.keys)));
  const WorkloadTable& table = TableOf(key);
  Endpoint server = options_.servers[random.Below(options_.servers.size())];
  ++under_way_;
  ++client.operations_under_way;
  if (random.Percent(20)) {
    std::string value = NewValue(client);
    size_t index = history_.Invoke(Operation::Kind::kWrite, key, value, world_.now());
    // A server that is not primary any more must refuse it; one that is may take it. The history
    // decides which was right.
    client.probe->Put(server, table.app_id, table.partition_count, RawKey(key), value,
                      absl::Seconds(2), [this, index, &client](ErrorCode error) {
                        auto outcome = error == ErrorCode::kOk  ? Operation::Outcome::kOk
                                       : MayHaveHappened(error) ? Operation::Outcome::kUndecided
                                                                : Operation::Outcome::kRefused;
                        history_.Return(index, outcome, world_.now());
                        Done(client);
                      });
    return;
  }
  size_t index = history_.Invoke(Operation::Kind::kRead, key, "", world_.now());
  client.probe->Get(server, table.app_id, table.partition_count, RawKey(key), absl::Seconds(2),
                    [this, index, &client](ErrorCode error, std::string value) {
                      // A server whose clock leapt may take a record for expired.
                      const bool is_open = value.empty() && options_.ttl_seconds > 0;
                      if (error == ErrorCode::kOk && !is_open)
                        history_.ReturnRead(index, std::move(value), world_.now());
                      Done(client);
                    });
}

void Workload::Verify(absl::AnyInvocable<void(bool)> done) {
  // By now all clocks are right. The client begins a new life, so it knows no routes: what it
  // finds, any new client would find.
  are_clocks_right_ = true;
  ClientNode& client = *clients_.front();
  End(client);
  Begin(client);
  struct Tally {
    int left = 0;
    bool all_ok = true;
    absl::AnyInvocable<void(bool)> done;
  };
  auto tally = std::make_shared<Tally>();
  tally->done = std::move(done);
  std::vector<std::string> keys = Keys();
  std::vector<std::string> counters = Counters();
  tally->left = static_cast<int>(keys.size()) * 2 + static_cast<int>(counters.size()) + 1;
  for (const WorkloadTable& table : options_.tables) tally->left += table.partition_count;
  auto one = [tally](bool ok) {
    tally->all_ok &= ok;
    if (--tally->left == 0) tally->done(tally->all_ok);
  };
  client.strand->Post([this, &client, keys, counters, one] {
    for (const std::string& counter : counters) Increment(client, counter, one);
    data_.ReadAll(*client.client, one);
    for (const WorkloadTable& table : options_.tables)
      for (const std::string& key : OneKeyOfEachPartition(table))
        client.client->table(table.name)
            .Put(key, kSortKey, "v", {},
                 client.client->Heard(
                     [one](const absl::Status& status) mutable { one(status.ok()); }));
    for (const std::string& key : keys) {
      // The read comes first and must see what the run left; the write shows that the partition
      // takes writes.
      Read(client, key, [this, &client, key, one](bool ok) {
        one(ok);
        Write(client, key, one);
      });
    }
  });
}

}  // namespace arion::sim
