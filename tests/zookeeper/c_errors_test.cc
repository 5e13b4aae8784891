// SPDX-License-Identifier: Apache-2.0
#include "zookeeper/c_errors.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace arion {
namespace {

using Code = absl::StatusCode;

TEST(CErrors, AreThoseOfASession) {
  // The codes as ZooKeeper's protocol and C client have them.
  const std::vector<std::pair<int, Code>> codes{{0, Code::kOk},
                                                {-101, Code::kNotFound},
                                                {-110, Code::kAlreadyExists},
                                                {-103, Code::kFailedPrecondition},
                                                {-111, Code::kFailedPrecondition},
                                                {-102, Code::kPermissionDenied},
                                                {-8, Code::kInvalidArgument},
                                                {-4, Code::kUnavailable},
                                                {-7, Code::kUnavailable},
                                                {-2, Code::kUnavailable},
                                                {-118, Code::kUnavailable},
                                                {-127, Code::kUnavailable},
                                                {-112, Code::kCancelled},
                                                {-9, Code::kCancelled},
                                                {-116, Code::kCancelled},
                                                {-115, Code::kCancelled},
                                                {-108, Code::kInternal},
                                                {-5, Code::kInternal},
                                                {-6, Code::kInternal},
                                                {-4711, Code::kInternal},
                                                {4711, Code::kInternal}};
  for (const auto& [code, wanted] : codes)
    EXPECT_EQ(StatusOfZooKeeper(code, "/a").code(), wanted) << code;
}

TEST(CErrors, NameWhatWasAskedForAndTheCode) {
  EXPECT_EQ(StatusOfZooKeeper(-101, "/a/b").message(), "ZooKeeper, /a/b: no node (-101)");
  EXPECT_EQ(StatusOfZooKeeper(-4711, "/a").message(), "ZooKeeper, /a: unknown error (-4711)");
}

TEST(CErrors, AreOfANodeOrOfTheSession) {
  for (const int code : {-4, -7, -2, -9, -112, -116}) EXPECT_TRUE(IsOfTheSession(code)) << code;
  for (const int code : {-101, -110, -103, -111, -102, -108, -5, 0})
    EXPECT_FALSE(IsOfTheSession(code)) << code;
}

}  // namespace
}  // namespace arion
