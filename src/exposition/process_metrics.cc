// SPDX-License-Identifier: Apache-2.0
#include "exposition/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>

#include "base/version.h"
#include "disks/open_file_budget.h"
#include "exposition/server_log.h"

namespace arion {
namespace {

double CpuSeconds() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The n-th number (from 0) of /proc/self/statm, in bytes.
double MemoryBytes(int n) {
  // Asked at each reading; 0 where the kernel does not say.
  // The file has sizes in pages: all memory, then resident.
  FILE* file = fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  long pages[2] = {0, 0};
  const int found = fscanf(file, "%ld %ld", &pages[0], &pages[1]);
  fclose(file);
  return found == 2 ? static_cast<double>(pages[n]) * static_cast<double>(sysconf(_SC_PAGESIZE))
                    : 0;
}

double OpenFilesMax() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<double>(limit.rlim_cur) : 0;
}

// nullopt: can't be listed.
std::optional<double> EntriesIn(const char* path) {
  DIR* directory = opendir(path);
  if (directory == nullptr) return std::nullopt;
  int count = -2;  // "." and ".."
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

double OpenFiles() {
  // The listing has a descriptor of its own.
  if (const auto entries = EntriesIn("/proc/self/fd")) return *entries - 1;
  // With no descriptor left for the listing, all of them are open.
  return errno == EMFILE ? OpenFilesMax() : 0;
}
double Threads() { return EntriesIn("/proc/self/task").value_or(0); }

}  // namespace

double ResidentBytes() { return MemoryBytes(1); }
double VirtualBytes() { return MemoryBytes(0); }

MetricRegistrations RegisterProcess(MetricRegistry& registry) {
  MetricRegistrations held;
  auto gauge = [&](MetricInfo info, MetricRegistry::Value value) {
    held.push_back(registry.Add(std::move(info), MetricKind::kGauge, {}, std::move(value)));
  };
  held.push_back(registry.Add(
      {.name = "build_info", .help = "Always 1; which build this is."}, MetricKind::kGauge,
      {{"version", std::string(kVersion)}, {"commit", std::string(kCommit)}}, [] { return 1.0; }));
  held.push_back(registry.Add(
      {.name = "process_cpu_seconds_total", .help = "CPU time of the process, user and system."},
      MetricKind::kCounter, {}, CpuSeconds));
  // A process registers these as it starts, so the time of the registration is its start.
  gauge({.name = "process_start_time_seconds", .help = "When the process began, since 1970."},
        [started = static_cast<double>(time(nullptr))] { return started; });
  gauge({.name = "process_resident_memory_bytes",
         .help = "Memory of the process that lies in RAM.",
         .old = {.name = "resident_mem_usage_mb", .per_unit = 1 << 20}},
        ResidentBytes);
  gauge({.name = "process_virtual_memory_bytes",
         .help = "Address space of the process.",
         .old = {.name = "virtual_mem_usage_mb", .per_unit = 1 << 20}},
        VirtualBytes);
  gauge({.name = "process_open_fds", .help = "Open file descriptors."}, OpenFiles);
  gauge({.name = "process_threads", .help = "Threads of the process."}, Threads);
  gauge({.name = "process_max_fds", .help = "How many file descriptors may be open."},
        OpenFilesMax);
  held.push_back(registry.Add(
      {.name = "log_lines_dropped_total",
       .help = "Lines of the server's own log that its reader or disk did not take in time."},
      MetricKind::kCounter, {}, [] { return static_cast<double>(DroppedLogLines()); }));
  return held;
}

MetricRegistrations RegisterOpenFiles(MetricRegistry& registry, const OpenFileBudget& budget) {
  MetricRegistrations held;
  const auto gauge = [&](MetricInfo info, MetricRegistry::Value value) {
    held.push_back(registry.Add(std::move(info), MetricKind::kGauge, {}, std::move(value)));
  };
  gauge({.name = "replicas_max",
         .help = "How many replicas the limit of open files (process_max_fds) carries."},
        [&budget] { return static_cast<double>(budget.replicas_max()); });
  gauge({.name = "open_files_short",
         .help = "1: that limit does not carry one more, or was met in the last half minute."},
        [&budget] { return budget.MayTakeReplica() && !budget.is_short() ? 0.0 : 1.0; });
  return held;
}

}  // namespace arion
