// SPDX-License-Identifier: Apache-2.0
#include "data_api/write_order.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace arion {
namespace {

using Tokens = std::vector<WriteOrder::Token>;
constexpr auto kBlind = WriteOrder::Kind::kBlind;
constexpr auto kDecided = WriteOrder::Kind::kDecided;

Tokens Ready(WriteOrder& order) {
  Tokens tokens;
  while (const auto token = order.TakeReady()) tokens.push_back(*token);
  return tokens;
}

TEST(WriteOrderTest, BlindWritesNeverWaitForEachOther) {
  WriteOrder order;
  for (WriteOrder::Token t = 1; t <= 3; ++t) order.Enter(7, t, kBlind);
  EXPECT_EQ(Ready(order), (Tokens{1, 2, 3}));
}

TEST(WriteOrderTest, ADecidedOneWaitsUntilEveryEarlierOneHasLeft) {
  WriteOrder order;
  order.Enter(7, 1, kBlind);
  order.Enter(7, 2, kBlind);
  order.Enter(7, 3, kDecided);
  EXPECT_EQ(Ready(order), (Tokens{1, 2}));
  order.Leave(7);
  EXPECT_EQ(Ready(order), Tokens{});
  order.Leave(7);
  EXPECT_EQ(Ready(order), Tokens{3});
}

TEST(WriteOrderTest, WhatComesBehindADecidedOneWaitsUntilItIsSettled) {
  WriteOrder order;
  order.Enter(7, 1, kDecided);
  order.Enter(7, 2, kBlind);
  order.Enter(7, 3, kDecided);
  order.Enter(7, 4, kBlind);
  EXPECT_EQ(Ready(order), Tokens{1});
  order.Settle(7);
  EXPECT_EQ(Ready(order), Tokens{2}) << "3 looks at what 1 and 2 leave; 4 is behind 3";
  order.Leave(7);
  order.Leave(7);
  EXPECT_EQ(Ready(order), Tokens{3});
  order.Settle(7);
  EXPECT_EQ(Ready(order), Tokens{4});
}

TEST(WriteOrderTest, OtherHashKeysGoTheirOwnWay) {
  WriteOrder order;
  order.Enter(7, 1, kDecided);
  order.Enter(8, 2, kDecided);
  order.Enter(7, 3, kDecided);
  EXPECT_EQ(Ready(order), (Tokens{1, 2}));
}

TEST(WriteOrderTest, NothingIsKeptOfHashKeysAtRest) {
  WriteOrder order;
  order.Enter(7, 1, kDecided);
  order.Enter(8, 2, kBlind);
  EXPECT_EQ(order.hash_keys(), 2u);
  Ready(order);
  order.Settle(7);
  order.Leave(7);
  order.Leave(8);
  EXPECT_EQ(order.hash_keys(), 0u);
}

TEST(WriteOrderTest, DroppedOnesAreToldInTheOrderTheyCame) {
  WriteOrder order;
  order.Enter(7, 1, kDecided);
  order.Enter(8, 2, kDecided);
  order.Enter(8, 3, kBlind);
  order.Enter(7, 4, kDecided);
  order.Enter(8, 5, kDecided);
  Ready(order);
  EXPECT_EQ(order.DropWaiting(), (Tokens{3, 4, 5}));
  order.Settle(7);
  order.Leave(7);
  order.Settle(8);
  order.Leave(8);
  EXPECT_EQ(order.hash_keys(), 0u);
}

// write_order/Q1 and write_order/Q2 over random sequences, against a list a hash key.
TEST(WriteOrderTest, KeepsItsPromisesInAnyOrderOfEvents) {
  struct Write {
    WriteOrder::Token token;
    WriteOrder::Kind kind;
    bool begun = false, settled = false;
  };
  std::mt19937 random(3);
  const auto below = [&](size_t n) { return random() % n; };
  WriteOrder order;
  std::map<uint64_t, std::vector<Write>> keys;
  std::map<WriteOrder::Token, uint64_t> hash_of;
  WriteOrder::Token next = 1;
  int64_t left = 0;
  for (int step = 0; step < 100000; ++step) {
    const uint64_t hash = below(4);
    std::vector<Write>& writes = keys[hash];
    const size_t what = below(3);
    if (what == 0 && writes.size() < 12) {
      const auto kind = below(2) == 0 ? kBlind : kDecided;
      writes.push_back({next, kind});
      hash_of[next] = hash;
      order.Enter(hash, next++, kind);
    } else if (!writes.empty()) {
      const size_t i = below(writes.size());
      if (!writes[i].begun) continue;
      if (writes[i].kind == kDecided && !writes[i].settled) {
        order.Settle(hash);
        writes[i].settled = true;
      } else {
        order.Leave(hash);
        writes.erase(writes.begin() + static_cast<ptrdiff_t>(i));
        ++left;
      }
    }
    for (const WriteOrder::Token token : Ready(order)) {
      std::vector<Write>& all = keys[hash_of[token]];
      size_t begun = 0;
      for (Write& write : all) {
        if (write.token == token) {
          write.begun = true;
          ASSERT_TRUE(write.kind == kBlind || begun == 0)
              << "write_order/Q2: something is under way";
          break;
        }
        ASSERT_TRUE(write.begun) << "write_order/Q1";
        ASSERT_TRUE(write.kind == kBlind || write.settled) << "write_order/Q2";
        ++begun;
      }
    }
  }
  EXPECT_GT(left, 5000);
}

}  // namespace
}  // namespace arion
