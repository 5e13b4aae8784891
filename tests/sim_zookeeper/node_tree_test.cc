// SPDX-License-Identifier: Apache-2.0
#include "sim_zookeeper/node_tree.h"

#include <gtest/gtest.h>

namespace arion::sim {
namespace {

using Kind = ZooKeeperStep::Kind;
using Code = absl::StatusCode;

struct Tree : ::testing::Test {
  NodeTree tree;
  int64_t transaction = 0;

  Code Do(const std::vector<TreeChange>& changes,
          NodeTree::Access access = NodeTree::Access::kChecked) {
    return tree.Apply(changes, ++transaction, access).code();
  }
  Code Make(const std::string& path, int64_t owner = 0) {
    return Do({{{Kind::kCreate, path, "made"}, owner}});
  }
  Code Remove(const std::string& path) { return Do({{{Kind::kRemove, path, ""}}}); }
};

TEST_F(Tree, ANodeIsMadeInANodeThatIsThere) {
  EXPECT_EQ(Make("/a/b"), Code::kNotFound);
  EXPECT_EQ(Make("/a"), Code::kOk);
  EXPECT_EQ(Make("/a/b"), Code::kOk);
  EXPECT_EQ(Make("/a/b"), Code::kAlreadyExists);
  EXPECT_EQ(Make("/"), Code::kAlreadyExists);
  EXPECT_EQ(tree.Find("/a/b")->node.data, "made");
}

TEST_F(Tree, ANodeGoesOnlyWithoutChildren) {
  Make("/a");
  Make("/a/b");
  EXPECT_EQ(Remove("/a"), Code::kFailedPrecondition);
  EXPECT_EQ(Remove("/"), Code::kInvalidArgument);
  EXPECT_EQ(Remove("/a/b"), Code::kOk);
  EXPECT_EQ(Remove("/a/b"), Code::kNotFound);
  EXPECT_EQ(Remove("/a"), Code::kOk);
  EXPECT_EQ(tree.nodes().size(), 1u);
}

TEST_F(Tree, ChildrenAreThoseDirectlyInIt) {
  for (const char* path : {"/a", "/a-b", "/a/b", "/a/b/c", "/a/b-c", "/a/b0", "/ab"}) Make(path);
  EXPECT_EQ(tree.Children("/"), (std::vector<std::string>{"a", "a-b", "ab"}));
  EXPECT_EQ(tree.Children("/a"), (std::vector<std::string>{"b", "b-c", "b0"}));
  EXPECT_EQ(tree.Children("/a/b"), std::vector<std::string>{"c"});
  EXPECT_TRUE(tree.Children("/a-b").empty());
}

TEST_F(Tree, ASequenceNeverGivesANumberAgain) {
  Make("/d");
  EXPECT_EQ(tree.NextInSequence("/d/LOCKNODE"), "/d/LOCKNODE0000000000");
  Make("/d/other");
  Make("/d/LOCKNODE0000000001");
  Remove("/d/LOCKNODE0000000001");
  EXPECT_EQ(tree.NextInSequence("/d/LOCKNODE"), "/d/LOCKNODE0000000002");
}

TEST_F(Tree, OfATransactionAllIsDoneOrNothing) {
  Make("/a");
  const auto before = tree.nodes();
  EXPECT_EQ(Do({{{Kind::kSet, "/a", "new"}},
                {{Kind::kCreate, "/b", ""}},
                {{Kind::kCreate, "/b/c", ""}},
                {{Kind::kRemove, "/b/c", ""}},
                {{Kind::kRemove, "/none", ""}}}),
            Code::kNotFound);
  ASSERT_EQ(tree.nodes().size(), before.size());
  EXPECT_EQ(tree.Find("/a")->node.data, "made");
  EXPECT_EQ(tree.Find("/a")->node.version, 0);
  EXPECT_EQ(tree.Find("/")->children_made, 1);
  EXPECT_EQ(Do({{{Kind::kSet, "/a", "new"}}, {{Kind::kCreate, "/b", ""}}}), Code::kOk);
  EXPECT_EQ(tree.Find("/a")->node.data, "new");
}

TEST_F(Tree, ACheckWantsANodeThatWasNeverSet) {
  EXPECT_EQ(Do({{{Kind::kCheck, "/a", ""}}}), Code::kNotFound);
  Make("/a");
  EXPECT_EQ(Do({{{Kind::kCheck, "/a", ""}}}), Code::kOk);
  Do({{{Kind::kSet, "/a", "made"}}});
  EXPECT_EQ(Do({{{Kind::kCheck, "/a", ""}}}), Code::kFailedPrecondition);
}

TEST_F(Tree, NothingIsMadeInAnEphemeralNode) {
  Make("/e", 7);
  EXPECT_EQ(Make("/e/child"), Code::kInternal);
  EXPECT_EQ(tree.Find("/e")->node.owner, 7);
}

TEST_F(Tree, WhatAnAccessListForbidsIsForbiddenForSessionsOnly) {
  Make("/a");
  Make("/a/b");
  tree.Forbid("/a", true);
  EXPECT_EQ(Do({{{Kind::kSet, "/a", ""}}}), Code::kPermissionDenied);
  EXPECT_EQ(Do({{{Kind::kCheck, "/a", ""}}}), Code::kPermissionDenied);
  EXPECT_EQ(Make("/a/c"), Code::kPermissionDenied);
  EXPECT_EQ(Remove("/a/b"), Code::kPermissionDenied);
  EXPECT_EQ(Do({{{Kind::kSet, "/a/b", ""}}}), Code::kOk);
  EXPECT_EQ(Do({{{Kind::kSet, "/a", ""}}}, NodeTree::Access::kFree), Code::kOk);
  tree.Forbid("/a", false);
  EXPECT_EQ(Remove("/a/b"), Code::kOk);
}

}  // namespace
}  // namespace arion::sim
