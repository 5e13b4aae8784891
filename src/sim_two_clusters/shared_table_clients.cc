// SPDX-License-Identifier: Apache-2.0
#include "sim_two_clusters/shared_table_clients.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "client/cluster_client.h"
#include "sim/sim_environment.h"
#include "sim_cluster/cluster_settings.h"

namespace arion::sim {
namespace {

constexpr int kClients = 2;
constexpr uint64_t kHashKeys = 4, kSortKeys = 3;
constexpr absl::Duration kThinkMax = absl::Milliseconds(300);
constexpr uint32_t kFirstAddress = 0x0a000180u;

}  // namespace

SharedTableClients::SharedTableClients(SimWorld& world, SimNetwork& network, std::string name,
                                       std::vector<std::string> tables)
    : world_(world), name_(std::move(name)), tables_(std::move(tables)) {
  ClusterClientOptions options;
  options.meta_servers = {ClusterSettings::kMetaEndpoint};
  options.timeout = absl::Seconds(4);
  for (uint32_t i = 0; i < kClients; ++i) {
    auto one = std::make_unique<ClientNode>();
    one->node = &world.AddNode(absl::StrCat(name_, ".shared", i + 1));
    SimEnvironment& environment = one->node->Start();
    one->transport =
        std::make_unique<SimTransport>(network, *one->node, Endpoint{kFirstAddress + i, 1000});
    one->strand = environment.NewStrand("shared");
    one->client = std::make_unique<SimClient>(environment, *one->transport, one->strand, options);
    clients_.push_back(std::move(one));
  }
}

SharedTableClients::~SharedTableClients() {
  for (const auto& one : clients_) one->node->Crash(CrashMode::kProcess);
}

void SharedTableClients::Start() {
  for (const auto& one : clients_) Later(*one);
}

void SharedTableClients::Later(ClientNode& client) {
  client.strand->PostAfter(world_.random().Between(absl::ZeroDuration(), kThinkMax),
                           [this, &client] {
                             if (is_stopped_) return;
                             Operate(client, [this, &client](absl::Status) { Later(client); });
                           });
}

// Whether it was done does not matter: what is applied is what counts.
void SharedTableClients::Operate(ClientNode& client, Callback<absl::Status> done) {
  SimRandom& random = world_.random();
  AsyncTable& table = client.client->table(tables_[random.Below(tables_.size())]);
  const std::string hash_key = absl::StrCat("h", random.Below(kHashKeys));
  const std::string sort_key = absl::StrCat("s", random.Below(kSortKeys));
  const std::string other = absl::StrCat("s", random.Below(kSortKeys));
  const std::string value = absl::StrCat(name_, next_value_++);
  const absl::Duration ttl =
      random.Percent(20) ? absl::Seconds(random.Between(5, 60)) : absl::InfiniteDuration();
  Callback<absl::Status> end = client.client->Heard(std::move(done));
  const auto end_with_value = [&client](auto end) {
    return client.client->Heard(
        [end = std::move(end)](auto outcome) mutable { end(outcome.status()); });
  };
  const Check check{random.Coin() ? Check::Type::kNotExist : Check::Type::kExist, ""};
  switch (random.Below(7)) {
    case 0:
    case 1:
      return table.Put(hash_key, sort_key, value, {.ttl = ttl}, std::move(end));
    case 2:
      return table.Remove(hash_key, sort_key, {}, std::move(end));
    case 3: {
      const SortKeyValue values[] = {{sort_key, value}, {other, value}};
      return table.MultiPut(hash_key, values, {.ttl = ttl}, std::move(end));
    }
    case 4: {
      const std::string_view sort_keys[] = {sort_key, other};
      return table.MultiRemove(hash_key, sort_keys, {}, std::move(end));
    }
    case 5:
      return table.Incr(hash_key, "n", 1, {}, end_with_value(std::move(end)));
    default:
      break;
  }
  if (random.Coin())
    return table.CheckAndSet({.hash_key = hash_key,
                              .check_sort_key = sort_key,
                              .check = check,
                              .set_sort_key = other,
                              .set_value = value,
                              .ttl = ttl},
                             end_with_value(std::move(end)));
  table.CheckAndMutate(
      {.hash_key = hash_key,
       .check_sort_key = sort_key,
       .check = check,
       .mutations = {SortKeyMutation::Put(sort_key, value, ttl), SortKeyMutation::Remove(other)}},
      end_with_value(std::move(end)));
}

}  // namespace arion::sim
