// SPDX-License-Identifier: Apache-2.0
#include "meta_state/foreign_tables.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

AppInfo Named(std::string name, int64_t made_at = 0) {
  return {.app_name = std::move(name), .app_id = 2, .create_second = made_at};
}
std::string Foreign(const AppInfo& ours, const AppInfo& its) {
  ClusterState state;
  state.tables[2].info = ours;
  return WhyForeign(state, {its});
}

TEST(ForeignTablesTest, ATableMadeAtAnotherTimeIsAnother) {
  EXPECT_EQ(Foreign(Named("t", 5), Named("t", 5)), "");
  EXPECT_EQ(Foreign(Named("t", 5), Named("renamed", 5)), "");
  EXPECT_EQ(Foreign(Named("t", 5), Named("t", 6)),
            "its table 2 is \"t\", made at 6, here it is \"t\", made at 5");
}

TEST(ForeignTablesTest, WhereThatIsNotKnownTheNameTells) {
  EXPECT_EQ(Foreign(Named("t"), Named("t", 5)), "");
  EXPECT_NE(Foreign(Named("t", 5), Named("other")), "");
}

TEST(ForeignTablesTest, ATableThatNobodyHereHasTellsNothing) {
  EXPECT_EQ(WhyForeign({}, {Named("t", 5)}), "");
  EXPECT_EQ(WhyForeign({}, {}), "");
}

}  // namespace
}  // namespace arion
