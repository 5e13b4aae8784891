// What it means that the system makes no thread. SPDX-License-Identifier: Apache-2.0
#include "posix/thread_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "env/file_system.h"

namespace arion {
namespace {

using testing::HasSubstr;

std::system_error NoThread() {
  return std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
}

TEST(ThreadLimitTest, ARefusalIsAWantOfThreadsWithItsRemedy) {
  const absl::Status status = ThreadRefused(NoThread());
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(status.message(), HasSubstr(std::string(kNoThread)));
  EXPECT_THAT(status.message(), HasSubstr("raise LimitNPROC= and TasksMax= of the service"));
}

TEST(ThreadLimitTest, TheLimitsThatAreSetAreNamed) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit low{.rlim_cur = rlim_t{1} << 45, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &low), 0);
  const absl::Status status = ThreadRefused(NoThread());
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_THAT(status.message(), HasSubstr("this process may have 35184372088832 bytes"));
}

TEST(ThreadLimitTest, ThreadsThatCanBeMadeAreMadeAndGone) {
  EXPECT_TRUE(TryThreads(0).ok());
  EXPECT_TRUE(TryThreads(4).ok());
}

// 0 if threads are refused as they should be.
int ExitCodeWithoutThreads() {
  const rlimit none{0, 0};
  if (setrlimit(RLIMIT_NPROC, &none) != 0 || setuid(54321) != 0) return 2;
  return absl::IsResourceExhausted(TryThreads(1)) ? 0 : 3;
}

TEST(ThreadLimitTest, ThreadsThatCanNotBeMadeAreAnErrorAndNoEndOfTheProcess) {
  if (geteuid() != 0) GTEST_SKIP() << "becomes another user";
  EXPECT_EXIT(_exit(ExitCodeWithoutThreads()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace arion
