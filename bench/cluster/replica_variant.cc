// replica_variant LOG FLUSH_US [flags of arion_replica]: a replica server that differs from the
// shipped one only in its log or its disks, so that a cluster of them can be compared with one of
// those. For measuring only: a shared log is never replayed, what it held is lost with the process.
//
//   LOG       private            as shipped
//             shared:DIR         one log for all of the server's partitions, in DIR
//             shared_append:DIR  the same, written as the old versions did
//             (bench/wal/shared_log_baseline.h)
//   FLUSH_US  0: the real disk. Else each data directory, and DIR, is a disk of its own whose
//   flushes
//             take that long (bench/wal/emulated_disk.h).
// SPDX-License-Identifier: Apache-2.0
#include <absl/status/status.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <absl/strings/strip.h>

#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "bench/wal/emulated_disk.h"
#include "bench/wal/shared_log_baseline.h"
#include "config/server_config.h"
#include "env/strand.h"
#include "main/replica_process.h"
#include "posix/posix_environment.h"
#include "wal/private_log.h"

namespace arion {
namespace {

// One partition's place in the shared log, behind the facade of a private log. Learners get
// checkpoints: nothing can be read back.
class LogInSharedLog : public PrivateLog {
 public:
  LogInSharedLog(const Clock& clock, SharedLogBaseline::Partition& partition)
      : clock_(clock), partition_(partition) {}

  void Append(MutationPtr mutation, DurableCallback on_durable) override {
    ++outstanding_;
    ++appended_;
    partition_.Append(std::move(mutation),
                      [this, began = clock_.Now(),
                       on_durable = std::move(on_durable)](const absl::Status& status) mutable {
                        --outstanding_;
                        began_ = began;
                        on_durable(status);
                        if (outstanding_ == 0 && drained_) std::exchange(drained_, nullptr)();
                      });
  }
  bool IsBusy() const override { return outstanding_ > 0; }
  Instant reported_write_began() const override { return began_; }
  void DropUnneeded(const LogNeeds&) override {}
  void LeaveFile() override {}
  void StartAnew(Decree) override {}
  void PrepareNextFile() override {}
  int64_t end_offset() const override { return 0; }
  absl::StatusOr<Piece> ReadFrom(Decree, uint64_t) override {
    return absl::OutOfRangeError("a shared log can't be read by partition");
  }
  bool Covers(Decree) const override { return false; }
  Decree Begins() const override { return Decree(std::numeric_limits<int64_t>::max()); }
  absl::Duration EstimatedReplay(Decree) const override { return absl::ZeroDuration(); }
  Stats stats() const override { return {.mutations_written = appended_, .method = "shared log"}; }
  void Drain(Task done) override {
    if (outstanding_ == 0) return done();
    drained_ = std::move(done);
  }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  const Clock& clock_;
  SharedLogBaseline::Partition& partition_;
  int64_t outstanding_ = 0;
  int64_t appended_ = 0;
  Instant began_;
  Task drained_;
};

class Variant {
 public:
  Variant(absl::string_view log, int64_t flush_us) : flush_us_(flush_us) {
    if (absl::ConsumePrefix(&log, "shared:")) {
      method_ = SharedLogMethod::kPrewritten;
    } else if (absl::ConsumePrefix(&log, "shared_append:")) {
      method_ = SharedLogMethod::kAppend;
    } else {
      CHECK_EQ(log, "private") << "LOG is private, shared:DIR or shared_append:DIR";
      return;
    }
    shared_log_directory_ = std::filesystem::absolute(std::string(log));
  }

  int Run(int argc, char** argv) {
    ReplicaVariant variant;
    variant.disks = [this](PosixEnvironment& real, const ServerConfig& config) -> Environment& {
      return UseDisks(real, config);
    };
    if (!shared_log_directory_.empty())
      variant.open_log = [this](Environment& env, StrandPtr strand, PrivateLogOptions options,
                                PrivateLog::ReplaySink, ReplaySummary* summary) {
        if (summary != nullptr) *summary = {.was_clean = true};
        return Open(env, std::move(strand), options);
      };
    return RunReplicaServer(argc, argv, variant);
  }

 private:
  Environment& UseDisks(PosixEnvironment& real, const ServerConfig& config) {
    if (flush_us_ != 0) {
      std::vector<std::string> directories;
      for (const ConfiguredDisk& disk : config.disks) directories.push_back(disk.path);
      if (const std::string& home = config.replica.layout.log_home_directory; !home.empty())
        directories.push_back(home);
      if (!shared_log_directory_.empty()) directories.push_back(shared_log_directory_);
      emulated_ = std::make_unique<EmulatedEnvironment>(
          real, std::move(directories), EmulatedDiskOptions{.flush_nanos = flush_us_ * 1000});
    }
    Environment& world = emulated_ != nullptr ? static_cast<Environment&>(*emulated_) : real;
    if (!shared_log_directory_.empty()) {
      std::filesystem::create_directories(shared_log_directory_);
      shared_log_ = std::make_unique<SharedLogBaseline>(world, emulated_.get(), method_,
                                                        shared_log_directory_);
    }
    return world;
  }

  absl::StatusOr<std::unique_ptr<PrivateLog>> Open(Environment& env, StrandPtr strand,
                                                   const PrivateLogOptions& options) {
    std::filesystem::create_directories(options.directory);
    const std::string path = absl::StrCat(options.directory, "/lazy");
    if (std::filesystem::exists(path))
      return absl::FailedPreconditionError(absl::StrCat(
          path, " is there: what the shared log held of it is lost; measure in new directories"));
    return std::make_unique<LogInSharedLog>(env.clock(), shared_log_->Add(std::move(strand), path));
  }

  const int64_t flush_us_;
  SharedLogMethod method_ = SharedLogMethod::kPrewritten;
  std::string shared_log_directory_;  // empty: private logs
  std::unique_ptr<EmulatedEnvironment> emulated_;
  std::unique_ptr<SharedLogBaseline> shared_log_;
};

}  // namespace
}  // namespace arion

int main(int argc, char** argv) {
  int64_t flush_us = 0;
  if (argc < 3 || !absl::SimpleAtoi(argv[2], &flush_us)) {
    std::fputs("usage: replica_variant private|shared:DIR|shared_append:DIR FLUSH_US [flags]\n",
               stderr);
    return 2;
  }
  // Ended by the process: what its logs' threads use must not go away before.
  auto* const variant = new arion::Variant(argv[1], flush_us);
  argv[2] = argv[0];
  return variant->Run(argc - 2, argv + 2);
}
