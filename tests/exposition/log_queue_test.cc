// SPDX-License-Identifier: Apache-2.0
#include "exposition/log_queue.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <utility>
#include <vector>

namespace arion {
namespace {

// What stalls until it is let go. The queue outlives the test, as it outlives all.
struct Reader {
  std::promise<void> let_go;
  std::shared_future<void> flows = let_go.get_future().share();
  std::promise<void> stands;
  bool has_stood = false;
  std::promise<int64_t> dropped;
  std::vector<std::string> seen;  // of the queue's thread until Flush
  LogQueue queue{100,
                 [this](const LogText& line) {
                   if (!std::exchange(has_stood, true)) stands.set_value();
                   flows.wait();
                   seen.push_back(line.text);
                   return true;
                 },
                 [this](int64_t lines) { dropped.set_value(lines); }};
};

TEST(LogQueueTest, WritesInOrder) {
  Reader& reader = *new Reader;
  reader.let_go.set_value();
  for (const char* text : {"a", "b", "c"}) reader.queue.Push({0, 0, text});
  reader.queue.Flush(absl::Seconds(60));
  EXPECT_EQ(reader.seen, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(reader.queue.dropped().value(), 0);
}

TEST(LogQueueTest, AReaderThatStallsHoldsNobodyAndWhatWasDroppedIsSaidOnceItFlows) {
  Reader& reader = *new Reader;
  reader.queue.Push({0, 0, std::string(30, 'a')});
  reader.stands.get_future().wait();
  for (int i = 0; i < 12; ++i) reader.queue.Push({0, 0, std::string(30, 'b')});
  EXPECT_EQ(reader.queue.dropped().value(), 10);
  reader.queue.Flush(absl::Milliseconds(1));  // at most so long
  reader.let_go.set_value();
  EXPECT_EQ(reader.dropped.get_future().get(), 10);
  reader.queue.Flush(absl::Seconds(60));
  EXPECT_EQ(reader.seen.size(), 3u);
}

TEST(LogQueueTest, WhatIsNotTakenCountsAsDropped) {
  std::promise<int64_t> dropped;
  LogQueue& queue = *new LogQueue(
      100, [](const LogText& line) { return line.text != "b"; },
      [&dropped](int64_t lines) { dropped.set_value(lines); });
  for (const char* text : {"a", "b"}) queue.Push({0, 0, text});
  queue.Flush(absl::Seconds(60));
  queue.Push({0, 0, "c"});  // it flows again
  EXPECT_EQ(dropped.get_future().get(), 1);
}

// As of a standard error whose reader is gone: a line of each dropped line would keep a core busy.
TEST(LogQueueTest, WhereNothingIsTakenNobodyIsToldOfIt) {
  struct Nobody {
    LogQueue queue{100, [](const LogText&) { return false; },
                   [this](int64_t) {
                     queue.Push({0, 0, "lines were dropped"});
                   }};
  };
  Nobody& nobody = *new Nobody;
  for (int i = 1; i <= 3; ++i) {
    nobody.queue.Push({0, 0, "a"});
    nobody.queue.Flush(absl::Seconds(60));
  }
  EXPECT_EQ(nobody.queue.dropped().value(), 3);
}

}  // namespace
}  // namespace arion
