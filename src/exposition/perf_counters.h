// The counters that shells, collectors and scripts of 2.5 and older ask a replica server for by
// name are made from what /metrics has.
//
// Units     Rates and `recent` ones are of the last ten seconds.
// Errors    Counters of what Arion does not do are left out: the tools take them for 0.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace arion {

class ReplicaSampler;
class ReplicaServer;
class RocksdbEngineFactory;

// One counter under its older name, read at one moment.
struct PerfCounter {
  // "replica*app.pegasus*get_qps@2.1"
  std::string name;
  // NUMBER, VOLATILE_NUMBER, RATE.
  const char* type;
  double value = 0;
};

// Which names are wanted; the others are not computed.
using PerfCounterChoice = std::function<bool(const std::string& name)>;

// One for a replica server, made after its sampler. The remote commands perf-counters* read it.
class PerfCounters {
 public:
  // All arguments outlive it.
  PerfCounters(const ReplicaServer& server, const RocksdbEngineFactory& engines,
               const ReplicaSampler& sampler)
      : server_(server), engines_(engines), sampler_(sampler) {}

  // Any thread; waits for no strand. Ordered by section, then partition.
  std::vector<PerfCounter> Read(const PerfCounterChoice& is_wanted) const;

 private:
  // `open`: how many replicas are open.
  void ReadServer(const PerfCounterChoice& is_wanted, size_t open,
                  std::vector<PerfCounter>* out) const;

  const ReplicaServer& server_;
  const RocksdbEngineFactory& engines_;
  const ReplicaSampler& sampler_;
};

}  // namespace arion
