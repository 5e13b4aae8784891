// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_watchdog.h"

#include <absl/strings/str_cat.h>
#include <execinfo.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>

#include "base/log.h"
#include "posix/posix_environment.h"

namespace arion {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFramesMax = 48;
// A thread in a system call that can't be interrupted never answers; the watchdog has others to
// look after.
constexpr long kStackWaitNanos = 100'000'000;

// Where a signalled thread leaves its stack. One watchdog asks at a time, one thread after the
// other.
struct {
  void* frames[kFramesMax];
  std::atomic<int> count{0};
  sem_t is_there;
} left_stack;

void LeaveStack(int) {
  const int saved = errno;
  left_stack.count.store(backtrace(left_stack.frames, kFramesMax));
  sem_post(&left_stack.is_there);
  errno = saved;
}

void InstallStackSignal() {
  void* frame[1];
  backtrace(frame, 1);  // loads what it needs: not in the handler
  sem_init(&left_stack.is_there, 0, 0);
  struct sigaction action = {};
  action.sa_handler = LeaveStack;
  // The thread's own system calls must not fail by the question.
  action.sa_flags = SA_RESTART;
  sigaction(SIGRTMIN + 5, &action, nullptr);
}

// One line a frame, as addr2line reads it; empty when the thread does not answer.
std::string StackOf(pid_t thread) {
  // An answer that came after the last question's wait was over: it is of another thread.
  while (sem_trywait(&left_stack.is_there) == 0) {
  }
  if (syscall(SYS_tgkill, getpid(), thread, SIGRTMIN + 5) != 0) return "";
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += kStackWaitNanos;
  until.tv_sec += until.tv_nsec / 1'000'000'000;
  until.tv_nsec %= 1'000'000'000;
  if (sem_timedwait(&left_stack.is_there, &until) != 0) return "";
  const int count = left_stack.count.load();
  char** names = backtrace_symbols(left_stack.frames, count);
  std::string stack;
  for (int i = 2; names != nullptr && i < count; ++i)  // without the handler and its return
    absl::StrAppend(&stack, "    ", names[i], "\n");
  free(names);
  return stack;
}

int64_t NowNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

}  // namespace

// One question at a time is on its way to a loop.
struct PosixWatchdog::Loop {
  std::atomic<int64_t> asked_nanos{0};  // 0: answered
  std::atomic<pid_t> thread{0};
};

PosixWatchdog::PosixWatchdog(PosixEnvironment& environment, absl::Duration limit)
    : environment_(environment), limit_(limit) {
  InstallStackSignal();
  for (int i = 0; i < environment_.loops().size(); ++i) loops_.push_back(std::make_shared<Loop>());
  AskLoops();
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "watchdog");
}

PosixWatchdog::~PosixWatchdog() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
  }
  wake_.NotifyAll();
  thread_.join();
}

std::vector<StuckWork> PosixWatchdog::Stuck() const {
  const MutexLock lock(mutex_);
  return stuck_;
}

void PosixWatchdog::Run() {
  const auto period = absl::ToChronoNanoseconds(std::min(absl::Seconds(1), limit_ / 4));
  MutexLock lock(mutex_);
  while (!wake_.WaitFor(mutex_, period,
                        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_stopping_; })) {
    lock.Unlock();
    Look();
    lock.Lock();
  }
}

void PosixWatchdog::Look() {
  // The order: what was asked at the last look is judged before the next question goes out.
  std::vector<StuckWork> stuck = StuckLoops();
  for (StuckWork& work : environment_.StuckInPools(limit_)) stuck.push_back(std::move(work));
  Tell(stuck);
  stats_->stuck_now.Set(static_cast<int64_t>(stuck.size()));
  AskLoops();
  const MutexLock lock(mutex_);
  stuck_ = std::move(stuck);
}

void PosixWatchdog::AskLoops() {
  for (size_t i = 0; i < loops_.size(); ++i) {
    const std::shared_ptr<Loop> loop = loops_[i];
    // A loop that has not answered yet is asked nothing new: the first question's age counts.
    int64_t answered = 0;
    if (!loop->asked_nanos.compare_exchange_strong(answered, NowNanos())) continue;
    asio::post(environment_.loops().context(static_cast<int>(i)), [loop, stats = stats_] {
      // Only the loop's thread knows its own number; until it has answered once, no stack can be
      // asked for.
      loop->thread.store(gettid());
      stats->loop_lag_nanos.Record(
          static_cast<uint64_t>(NowNanos() - loop->asked_nanos.exchange(0)));
    });
  }
}

std::vector<StuckWork> PosixWatchdog::StuckLoops() const {
  std::vector<StuckWork> stuck;
  for (size_t i = 0; i < loops_.size(); ++i) {
    const int64_t asked = loops_[i]->asked_nanos.load();
    const absl::Duration age = absl::Nanoseconds(NowNanos() - asked);
    if (asked == 0 || age <= limit_) continue;
    const std::string where = absl::StrCat("loop ", i);
    const pid_t thread = loops_[i]->thread.load();
    stuck.push_back({.where = where,
                     .what = "does not turn",
                     .age = age,
                     .stack = thread == 0 ? "" : StackOf(thread)});
  }
  return stuck;
}

void PosixWatchdog::Tell(const std::vector<StuckWork>& stuck) {
  std::set<std::string> where;
  for (const StuckWork& work : stuck) {
    where.insert(work.where);
    // Once for each time that it is stuck: the log is to show the beginning and the end.
    if (told_.contains(work.where)) continue;
    stats_->stuck.Add();
    LOG(ERROR) << "stuck for " << absl::FormatDuration(work.age) << ": " << work.where << ": "
               << work.what << (work.stack.empty() ? "" : "\n") << work.stack;
  }
  for (const std::string& before : told_)
    LOG_IF(WARNING, !where.contains(before)) << "no longer stuck: " << before;
  told_ = std::move(where);
}

}  // namespace arion
