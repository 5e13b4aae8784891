// SPDX-License-Identifier: Apache-2.0
#include "meta/table_news.h"

#include <gtest/gtest.h>

#include "tests/meta/part_fixture.h"

namespace arion {
namespace {

class TableNewsTest : public PartFixture {
 protected:
  TableNewsTest() {
    for (const int n : {1, 2, 3}) state_.nodes[ServerAt(n)].alive = true;
    state_.nodes[ServerAt(3)].is_older = true;
    table().info = {.app_id = 1, .version = 5};
  }
  Table& table() { return state_.tables[1]; }
  Instant Tell() { return news_.TellWhenDue(table(), env_.clock().Now()); }

  ClusterState state_;
  TableNews news_{{.state = state_,
                   .transport = transport_,
                   .codec = codec_,
                   .clock = env_.clock(),
                   .strand = strand_,
                   .life = owner_life_}};
};

TEST_F(TableNewsTest, TellsWhoKnowsTheMessageUntilItHasAnswered) {
  news_.Begin(table());
  EXPECT_EQ(Tell(), env_.clock().Now() + TableNews::kTellAgain);
  ASSERT_EQ(transport_.called.size(), 2u);
  EXPECT_EQ(transport_.called[0].to, ServerAt(1));
  Tell();
  EXPECT_EQ(transport_.called.size(), 2u) << "not due";
  AnswerCall({});
  AnswerCall({.error = ErrorCode::kTimeout});
  EXPECT_EQ(table().untold, std::set<Endpoint>{ServerAt(2)});
  world_.RunFor(TableNews::kTellAgain);
  Tell();
  ASSERT_EQ(transport_.called.size(), 1u);
  AnswerCall({.error = ErrorCode::kHandlerNotFound});
  EXPECT_EQ(Tell(), Instant::InfiniteFuture());
}

TEST_F(TableNewsTest, AnAnswerForAnEarlierVersionDoesNotCount) {
  news_.Begin(table());
  Tell();
  table().info.version = 6;
  news_.Begin(table());
  AnswerCall({});
  EXPECT_EQ(table().untold.size(), 2u);
}

TEST_F(TableNewsTest, TheDeadAreNotWaitedFor) {
  news_.Begin(table());
  for (auto& [endpoint, node] : state_.nodes) node.alive = false;
  EXPECT_EQ(Tell(), Instant::InfiniteFuture());
  EXPECT_TRUE(transport_.called.empty());
}

}  // namespace
}  // namespace arion
