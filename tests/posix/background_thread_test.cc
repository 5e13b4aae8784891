// SPDX-License-Identifier: Apache-2.0
#include "posix/background_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

namespace arion {
namespace {

int RankOf(int who) { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(who)); }

struct Seen {
  std::string name;
  int rank = 0;
};
// On a thread of its own.
Seen AfterComeLast(const char* name) {
  Seen seen;
  std::thread([&] {
    ComeLast(name);
    char called[16] = "";
    ::pthread_getname_np(::pthread_self(), called, sizeof(called));
    seen = {called, RankOf(::gettid())};
  }).join();
  return seen;
}

TEST(BackgroundThreadTest, ItIsNamedAndRanksBehindItsProcess) {
  const Seen seen = AfterComeLast("arion/last");
  EXPECT_EQ(seen.name, "arion/last");
  EXPECT_EQ(seen.rank, std::min(RankOf(::getpid()) + 5, 19)) << "19 is the last there is";
}

TEST(BackgroundThreadTest, OthersKeepTheirRank) {
  const int before = RankOf(::gettid());
  AfterComeLast("arion/last");
  EXPECT_EQ(RankOf(::gettid()), before);
  int later = 0;
  std::thread([&] { later = RankOf(::gettid()); }).join();
  EXPECT_EQ(later, before);
}

// As a thread's name may have 15 bytes, the longest one must fit, too.
TEST(BackgroundThreadTest, TheLongestNameFits) {
  EXPECT_EQ(AfterComeLast("arion/fifteen_b").name, "arion/fifteen_b");
}

}  // namespace
}  // namespace arion
