// SPDX-License-Identifier: Apache-2.0
#include "exposition/replica_sampler.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "posix/posix_clock.h"

namespace arion {
namespace {

class FakeMeter : public EngineMeter {
 public:
  EngineFigures Read() const override { return {.files = 3}; }
  std::array<uint64_t, kEngineCounts> Counts() const override { return {}; }
};

TEST(ReplicaSamplerTest, AReplicaOpenedBetweenTwoSamplesIsAskedAtOnce) {
  RequestBook book;
  PosixClock clock;
  const ReplicaSampler sampler(book, clock);
  const ReplicaSampler::SamplePtr empty = sampler.Latest();
  // The next one is five seconds behind the first.
  while (sampler.Latest() == empty) std::this_thread::yield();
  const auto opened = book.Open({2, 1}, "t");
  opened->figures().SetEngine(std::make_shared<FakeMeter>());
  ASSERT_EQ(sampler.Latest()->Find({2, 1}), nullptr);
  const ReplicaSampler::Sample now = sampler.Now();
  ASSERT_NE(now.Find({2, 1}), nullptr);
  EXPECT_EQ(now.Find({2, 1})->engine.files, 3u);
}

}  // namespace
}  // namespace arion
