// The protocol's error names, and which of them older clients are told. SPDX-License-Identifier: Apache-2.0
#include "base/error_code.h"

#include <gtest/gtest.h>

#include <sstream>

namespace arion {
namespace {

TEST(ErrorCodeTest, NamesComeBack) {
  for (int i = 0; i < kErrorCodeCount; ++i)
    EXPECT_EQ(ErrorCodeFromName(ErrorCodeName(static_cast<ErrorCode>(i))),
              static_cast<ErrorCode>(i));
  EXPECT_EQ(ErrorCodeFromName("ERR_NOBODY_KNOWS"), ErrorCode::kUnknown);
}

TEST(ErrorCodeTest, OnlySafeNamesReachThriftClients) {
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const int safe = static_cast<int>(SafeForThriftClients(static_cast<ErrorCode>(i)));
    EXPECT_LE(safe, 77);
    for (const int bad : {51, 61, 62, 63, 65}) EXPECT_NE(safe, bad);
  }
}

TEST(ErrorCodeTest, NumbersOfTheWireKeepTheirNames) {
  EXPECT_EQ(ErrorCodeName(static_cast<ErrorCode>(5)), "ERR_TIMEOUT");
  EXPECT_EQ(ErrorCodeName(static_cast<ErrorCode>(49)), "ERR_NETWORK_FAILURE");
  EXPECT_EQ(ErrorCodeName(static_cast<ErrorCode>(73)), "ERR_ACL_DENY");
  EXPECT_EQ(ErrorCodeName(static_cast<ErrorCode>(77)), "ERR_DISK_INSUFFICIENT");
  EXPECT_EQ(ErrorCodeName(static_cast<ErrorCode>(87)), "ERR_NOT_MATCHED");
}

TEST(ErrorCodeTest, ANumberOutOfTheListHasANameToo) {
  EXPECT_EQ(ErrorCodeName(static_cast<ErrorCode>(kErrorCodeCount)), "ERR_UNKNOWN");
  EXPECT_EQ(ErrorCodeName(static_cast<ErrorCode>(-1)), "ERR_UNKNOWN");
  std::ostringstream out;
  out << ErrorCode::kBusy;
  EXPECT_EQ(out.str(), "ERR_BUSY");
}

TEST(ErrorCodeTest, WhatOlderClientsKnowTheyAreToldAsItIs) {
  for (const ErrorCode code : {ErrorCode::kOk, ErrorCode::kTimeout, ErrorCode::kInvalidState,
                               ErrorCode::kParentPartitionMisused, ErrorCode::kDiskInsufficient})
    EXPECT_EQ(SafeForThriftClients(code), code);
  EXPECT_EQ(SafeForThriftClients(ErrorCode::kDiskIoError), ErrorCode::kDiskInsufficient);
  EXPECT_EQ(SafeForThriftClients(ErrorCode::kNotMatched), ErrorCode::kUnknown);
}

}  // namespace
}  // namespace arion
