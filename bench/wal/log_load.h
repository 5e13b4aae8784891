// LogLoad drives logs from their strands: a closed loop for a time, or arrivals fixed beforehand.
//
// Shapes    Log: anything with Append(MutationPtr, PrivateLog::DurableCallback) whose reports come
//           in append order on the strand, so one load drives private logs, the shared-log
//           baseline and a minimal log alike. All logs append the same record.
// Threads   Run* wait: from a thread that is no event loop's. Arrivals are timers of the log's own
//           strand: no generator thread wakes anybody.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <latch>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "bench/wal/bench_log.h"
#include "env/strand.h"

namespace arion {

// How long one measured run is: ARION_BENCH_SECONDS, default 0.5.
inline int64_t BenchRunNanos() {
  const char* seconds = std::getenv("ARION_BENCH_SECONDS");
  return static_cast<int64_t>((seconds != nullptr ? std::atof(seconds) : 0.5) * 1e9);
}
inline int64_t BenchWarmUpNanos() { return BenchRunNanos() / 4; }

// For each log when records arrive, in nanoseconds from the run's start: a Poisson process of
// `rate` records/s in all, the same for the same arguments.
using Arrivals = std::vector<std::vector<int64_t>>;
inline Arrivals PoissonArrivals(int logs, double rate, int64_t run_nanos) {
  std::mt19937_64 random(20261121);
  std::exponential_distribution<double> gap(rate / logs / 1e9);
  Arrivals arrivals(static_cast<size_t>(logs));
  for (auto& due : arrivals)
    for (double at = gap(random); at < static_cast<double>(run_nanos); at += gap(random))
      due.push_back(static_cast<int64_t>(at));
  return arrivals;
}
inline int64_t CountArrivals(const Arrivals& arrivals) {
  int64_t count = 0;
  for (const auto& due : arrivals) count += static_cast<int64_t>(due.size());
  return count;
}

template <class Log>
class LogLoad {
 public:
  explicit LogLoad(size_t record_bytes) : record_(BenchRecord(record_bytes)) {}

  void Add(StrandPtr strand, Log* log) {
    all_.push_back(std::make_unique<One>(One{.strand = std::move(strand), .log = log}));
  }

  // Keeps `outstanding` records in flight, shared evenly, for `run_nanos`; returns how many were
  // durable when all had come back.
  int64_t RunClosed(int outstanding, int64_t run_nanos, Histogram& latency) {
    const size_t each =
        static_cast<size_t>(std::max(1, outstanding / static_cast<int>(all_.size())));
    Run run(all_.size(), BenchNanos() + run_nanos, latency);
    for (auto& one : all_) {
      one->begun.assign(each, 0);
      one->appended = one->reported = 0;
      one->run = &run;
      one->strand->Post([this, &one = *one] { AppendMore(one); });
    }
    run.done.wait();
    return Reported();
  }

  // Appends each record when it is due, whatever the log does; latency counts from when it was due.
  void RunOpen(const Arrivals& arrivals, Histogram& latency) {
    Run run(all_.size(), BenchNanos(), latency);
    for (size_t i = 0; i < all_.size(); ++i) {
      One& one = *all_[i];
      one.begun.assign(arrivals[i].begin(), arrivals[i].end());
      one.appended = one.reported = 0;
      one.strand->Post([this, &run, &one] { Arrive(one, run); });
    }
    run.done.wait();
  }

 private:
  struct Run;
  struct One {
    StrandPtr strand;
    Log* log = nullptr;
    std::vector<int64_t> begun;  // closed: a ring of starts; open: all arrivals
    size_t appended = 0;
    size_t reported = 0;
    Run* run = nullptr;  // closed: under way
  };
  struct Run {
    Run(size_t logs, int64_t nanos, Histogram& l)
        : done(static_cast<ptrdiff_t>(logs)), at_nanos(nanos), latency(l) {}
    std::latch done;
    const int64_t at_nanos;  // closed: the end; open: the start
    Histogram& latency;
  };

  void AppendMore(One& one) {
    while (one.appended - one.reported < one.begun.size()) {
      const int64_t now = BenchNanos();
      if (now >= one.run->at_nanos) break;
      one.begun[one.appended++ % one.begun.size()] = now;
      // It holds two pointers: a callback with more of them would allocate.
      one.log->Append(record_, [this, &one](const absl::Status& status) {
        CHECK(status.ok()) << status;
        const int64_t begun = one.begun[one.reported++ % one.begun.size()];
        one.run->latency.Record(static_cast<uint64_t>(BenchNanos() - begun));
        AppendMore(one);
      });
    }
    if (one.appended == one.reported) one.run->done.count_down();
  }

  void Arrive(One& one, Run& run) {
    const int64_t now = BenchNanos();
    while (one.appended < one.begun.size() && run.at_nanos + one.begun[one.appended] <= now) {
      ++one.appended;
      one.log->Append(record_, [&one, &run](const absl::Status& status) {
        CHECK(status.ok()) << status;
        const int64_t due = run.at_nanos + one.begun[one.reported++];
        run.latency.Record(static_cast<uint64_t>(BenchNanos() - due));
        if (one.reported == one.begun.size()) run.done.count_down();
      });
    }
    if (one.begun.empty()) return run.done.count_down();
    if (one.appended == one.begun.size()) return;
    one.strand->PostAfter(absl::Nanoseconds(run.at_nanos + one.begun[one.appended] - BenchNanos()),
                          [this, &one, &run] { Arrive(one, run); });
  }

  int64_t Reported() const {
    int64_t records = 0;
    for (const auto& one : all_) records += static_cast<int64_t>(one->reported);
    return records;
  }

  const MutationPtr record_;
  std::vector<std::unique_ptr<One>> all_;
};

// Private logs opened for a load, in a steady state; log i in directories[i % n].
class BenchPrivateLogs {
 public:
  BenchPrivateLogs(Environment& env, const std::vector<std::string>& directories, int logs,
                   Durability durability = Durability::kFsync) {
    std::vector<BenchLog*> all;
    for (int i = 0; i < logs; ++i) {
      logs_.push_back(std::make_unique<BenchLog>(
          env, env.NewStrand("log"),
          absl::StrCat(directories[static_cast<size_t>(i) % directories.size()], "/", i),
          PartitionId{1, i}, durability, BenchSegmentBytes(logs)));
      all.push_back(logs_.back().get());
    }
    if (durability == Durability::kFsync) BenchLog::ReachSteadyState(all);
  }

  void AddTo(LogLoad<BenchLog>& load) {
    for (const auto& log : logs_) load.Add(log->strand(), log.get());
  }
  // Mutations per write; a file's first write carries its first block, too.
  double RecordsPerWrite() const {
    int64_t writes = 0, mutations = 0;
    for (const auto& log : logs_) {
      writes += log->stats().writes_done;
      mutations += log->stats().mutations_written;
    }
    return static_cast<double>(mutations) / static_cast<double>(std::max<int64_t>(1, writes));
  }
  std::string method() const { return logs_[0]->stats().method; }

 private:
  std::vector<std::unique_ptr<BenchLog>> logs_;
};

}  // namespace arion
