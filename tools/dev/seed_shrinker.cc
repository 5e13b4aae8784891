// SPDX-License-Identifier: Apache-2.0
#include "seed_shrinker.h"
#include "sim_cluster/run_report.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace arion::sim {
namespace {

std::string ReadAll(int pipe_end) {
  std::string text;
  char buffer[512];
  for (ssize_t n; (n = read(pipe_end, buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  return text;
}

template <typename Faults>
std::string Names(const Faults& faults) {
  std::string list;
  for (Fault fault : faults) absl::StrAppend(&list, list.empty() ? "" : ",", FaultName(fault));
  return list;
}

std::string Kind(const std::string& violation) { return violation.substr(0, violation.find(':')); }

class Shrinker {
 public:
  Shrinker(SimClusterOptions options, int runs_max)
      : best_(std::move(options)), runs_left_(runs_max), kind_(Kind(FirstViolation(best_))) {}

  SimClusterOptions Run() {
    if (kind_.empty()) return best_;  // not red in a process of its own: nothing to shrink
    for (Fault fault : std::vector<Fault>(best_.faults.kinds)) {
      SimClusterOptions smaller = best_;
      smaller.without.insert(fault);
      Try(std::move(smaller));
    }
    DropInstances();
    for (double share : {0.5, 0.7, 0.85}) {
      SimClusterOptions smaller = best_;
      smaller.run_length *= share;
      Try(std::move(smaller));
    }
    for (int Topology::*size : {&Topology::tables, &Topology::partitions, &Topology::servers}) {
      SimClusterOptions smaller = best_;
      smaller.topology.*size = size == &Topology::servers ? 3 : 1;
      if (smaller.topology.*size < best_.topology.*size) Try(std::move(smaller));
    }
    for (int indexes : {1, 0}) {
      SimClusterOptions smaller = best_;
      smaller.indexes = indexes;
      if (indexes < best_.indexes) Try(std::move(smaller));
    }
    if (best_.splits) {
      SimClusterOptions smaller = best_;
      smaller.splits = false;
      Try(std::move(smaller));
    }
    return best_;
  }

 private:
  bool Try(SimClusterOptions smaller) {
    if (runs_left_-- <= 0) return false;
    if (Kind(FirstViolation(smaller)) != kind_) return false;
    best_ = std::move(smaller);
    return true;
  }

  void DropInstances() {
    std::vector<int64_t> left;
    for (int64_t i = 1; i <= kFaultsMax; ++i) left.push_back(i);
    for (size_t chunk = left.size() / 2; chunk > 0; chunk /= 2) {
      for (size_t at = 0; at < left.size();) {
        std::vector<int64_t> without = left;
        without.erase(without.begin() + static_cast<ptrdiff_t>(at),
                      without.begin() + static_cast<ptrdiff_t>(std::min(at + chunk, left.size())));
        SimClusterOptions smaller = best_;
        smaller.only.emplace(without.begin(), without.end());
        if (Try(std::move(smaller))) {
          left = std::move(without);
        } else {
          at += chunk;
        }
      }
    }
  }

  static constexpr int64_t kFaultsMax = 128;  // more than a run has, but for very long ones
  SimClusterOptions best_;
  int runs_left_;
  const std::string kind_;
};

}  // namespace

std::string FirstViolation(const SimClusterOptions& options) {
  int ends[2];
  if (pipe(ends) != 0) return "pipe failed";
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    signal(SIGABRT, SIG_DFL);
    SimCluster cluster(options);
    const RunReport report = cluster.Run();
    const std::string first = report.violations.empty() ? "" : report.violations.front();
    (void)!write(ends[1], first.data(), first.size());
    _exit(0);
  }
  close(ends[1]);
  std::string first = ReadAll(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? first : "ended the process: a failed CHECK";
}

SimClusterOptions Shrink(SimClusterOptions options, int runs_max) {
  return Shrinker(std::move(options), runs_max).Run();
}

std::string ReplayOptions(const SimClusterOptions& options) {
  const int older = options.topology.older;
  const bool has_old_meta = options.topology.has_old_meta;
  const int metas = options.topology.metas;
  const SimClusterOptions own = metas > 1 ? SimClusterOptions::SeveralMetas(options.seed, metas)
                                : has_old_meta ? SimClusterOptions::OldMeta(options.seed, older)
                                : older > 0    ? SimClusterOptions::Mixed(options.seed, older)
                                               : SimClusterOptions::Swarm(options.seed);
  const SimClusterOptions all_drawn = SimClusterOptions::Drawn(options.seed);
  const Topology& drawn = all_drawn.topology;
  std::string text;
  const auto add = [&text](const char* flag, auto value, auto usual) {
    if (value != usual) absl::StrAppend(&text, " --", flag, " ", value);
  };
  add("servers", options.topology.servers, own.topology.servers);
  add("tables", options.topology.tables, own.topology.tables);
  add("partitions", options.topology.partitions, own.topology.partitions);
  add("copies", options.topology.copies, own.topology.copies);
  add("metas", metas, 1);
  if (has_old_meta) absl::StrAppend(&text, " --old_meta");
  // Without a word about either the seed draws both.
  const bool draws_other_versions =
      older != (has_old_meta ? 0 : drawn.older) || (!has_old_meta && drawn.has_old_meta);
  if (metas == 1 && draws_other_versions) absl::StrAppend(&text, " --older ", older);
  add("minutes", absl::ToDoubleMinutes(options.run_length), absl::ToDoubleMinutes(own.run_length));
  if (options.faults.kinds.empty())
    absl::StrAppend(&text, " --calm");
  else
    add("kinds", Names(options.faults.kinds), Names(own.faults.kinds));
  // Where nothing is said of versions and kinds the seed draws them.
  const bool is_drawn = !absl::StrContains(text, " --old") && !absl::StrContains(text, " --kinds");
  add("indexes", options.indexes, metas > 1 ? own.indexes : is_drawn ? all_drawn.indexes : 0);
  const bool are_splits_drawn = is_drawn && !absl::StrContains(text, " --indexes");
  const bool usual_splits = metas > 1 ? own.splits : are_splits_drawn && all_drawn.splits;
  add("splits", options.splits ? 1 : 0, usual_splits ? 1 : 0);
  add("without", Names(options.without), std::string());
  std::string list;
  if (options.only) {
    for (int64_t number : *options.only) absl::StrAppend(&list, list.empty() ? "" : ",", number);
    absl::StrAppend(&text, " --only ", list.empty() ? "0" : list);
  }
  return text;
}

}  // namespace arion::sim
