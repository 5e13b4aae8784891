// What real meta servers of Pegasus 2.5.0 stored: it is led from, and what is stored of the same
// again has their keys and values to the letter, with ours behind.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "meta_ensemble/state_tree.h"
#include "meta_state/cluster_state.h"
#include "tests/sim_zookeeper/session_on_node.h"
#include "tests/support/fixtures.h"

namespace arion {
namespace {

constexpr char kRoot[] = "/pegasus/cluster";

// The string that stands behind `"name": ` on a line of a fixture; nullopt: another line.
std::optional<std::string> StringOf(const std::string& line, const std::string& name) {
  const std::string before = "\"" + name + "\": \"";
  const size_t begin = line.find(before);
  if (begin == std::string::npos) return std::nullopt;
  std::string text;
  for (size_t at = begin + before.size(); line[at] != '"'; ++at) {
    if (line[at] == '\\') ++at;
    text += line[at];
  }
  return text;
}

class PegasusTreesTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::string Path() const { return RealFixtures() + "/zookeeper-2.5.0/" + GetParam(); }
  void SetUp() override {
    REQUIRE_FIXTURE(Path());
    std::istringstream lines(Slurp(Path()));
    std::string line, path;
    while (std::getline(lines, line)) {
      if (const auto found = StringOf(line, "path")) path = *found;
      if (const auto text = StringOf(line, "text")) tree_[path] = *text;
    }
    ASSERT_GT(tree_.size(), 10u);
    for (const auto& [node, data] : tree_) ASSERT_TRUE(zookeeper_.Create(node, data).ok()) << node;
  }
  absl::StatusOr<StoredTree> Read() {
    sim::SessionOnNode server(world_, zookeeper_, "meta");
    server.Start();
    std::optional<absl::StatusOr<StoredTree>> read;
    server.On([&] {
      ReadStoredTree(*server.session, kRoot, [&](auto tree) { read = std::move(tree); });
    });
    world_.RunUntil([&] { return read.has_value(); }, absl::Seconds(5));
    server.Crash();
    return read.value_or(absl::DeadlineExceededError("not read"));
  }

  sim::SimWorld world_{3};
  sim::SimZooKeeper zookeeper_{world_};
  std::map<std::string, std::string> tree_;
};

TEST_P(PegasusTreesTest, ItIsReadAndStoredAgainToTheLetter) {
  const absl::StatusOr<StoredTree> tree = Read();
  ASSERT_TRUE(tree.ok()) << tree.status();
  const auto state = ClusterState::Load(tree->entries, ClusterState::Lacking::kIsMade);
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_EQ(state->tables.size(), 3u);
  size_t compared = 0;
  const auto compare = [&](const StoreChange& change) {
    ASSERT_TRUE(change.value.has_value());
    const std::string& theirs = tree_.at(kRoot + change.key);
    // Without its closing brace.
    EXPECT_THAT(*change.value, ::testing::StartsWith(theirs.substr(0, theirs.size() - 1) + ","))
        << change.key;
    ++compared;
  };
  for (const auto& [id, table] : state->tables) {
    compare(state->ChangeOf(table.info));
    for (const Partition& partition : table.partitions) compare(state->ChangeOf(partition.config));
  }
  EXPECT_EQ(compared, 8u);
}

INSTANTIATE_TEST_SUITE_P(Real, PegasusTreesTest,
                         ::testing::Values("tree-healthy.json", "tree-after-failover.json"),
                         [](const auto& info) {
                           return info.index == 0 ? "Healthy" : "AfterFailover";
                         });

}  // namespace
}  // namespace arion
