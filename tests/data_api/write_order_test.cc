// SPDX-License-Identifier: Apache-2.0
#include "data_api/write_order.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

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

TEST(WriteOrderTest, OneOfSeveralHashKeysBeginsWhenItIsTheNextAtEachOfThem) {
  WriteOrder order;
  order.Enter(7, 1, kDecided);
  order.Enter(8, 2, kDecided);
  order.EnterAll({7, 8, 9}, 3);
  order.Enter(9, 4, kBlind);
  order.Enter(7, 5, kBlind);
  EXPECT_EQ(Ready(order), (Tokens{1, 2}));
  order.Settle(7);
  EXPECT_EQ(Ready(order), Tokens{}) << "4 and 5 are behind 3, which waits for 2";
  order.Settle(8);
  EXPECT_EQ(Ready(order), (Tokens{3, 4, 5}));
  for (const uint64_t hash : {7, 7, 7, 8, 8, 9, 9}) order.Leave(hash);
  EXPECT_EQ(order.hash_keys(), 0u);
}

TEST(WriteOrderTest, ADecidedOneWaitsForOneOfSeveralHashKeys) {
  WriteOrder order;
  order.EnterAll({7, 8}, 1);
  order.Enter(8, 2, kDecided);
  EXPECT_EQ(Ready(order), Tokens{1});
  order.Leave(7);
  EXPECT_EQ(Ready(order), Tokens{});
  order.Leave(8);
  EXPECT_EQ(Ready(order), Tokens{2});
}

TEST(WriteOrderTest, ADecidedOneOfSeveralHashKeysBeginsAloneAtEachOfThem) {
  WriteOrder order;
  order.Enter(7, 1, kBlind);
  order.EnterAll({7, 8}, 2, kDecided);
  order.Enter(8, 3, kBlind);
  EXPECT_EQ(Ready(order), Tokens{1}) << "3 is behind 2, which waits for 1";
  order.Leave(7);
  EXPECT_EQ(Ready(order), Tokens{2});
  order.Enter(7, 4, kBlind);
  EXPECT_EQ(Ready(order), Tokens{});
  order.Settle(7);
  EXPECT_EQ(Ready(order), Tokens{4});
  order.Settle(8);
  EXPECT_EQ(Ready(order), Tokens{3});
  order.EnterAll({8, 7}, 5, kDecided);
  order.Leave(7);
  order.Leave(8);
  EXPECT_EQ(Ready(order), Tokens{}) << "3 and 4 are under way";
  order.Leave(7);
  EXPECT_EQ(Ready(order), Tokens{});
  EXPECT_EQ(order.DropWaiting(), Tokens{5});
  order.Leave(8);
  EXPECT_EQ(order.hash_keys(), 0u);
}

TEST(WriteOrderTest, OnesOfSeveralHashKeysNeverWaitForEachOther) {
  WriteOrder order;
  order.Enter(7, 1, kDecided);
  order.EnterAll({7, 8}, 2);
  order.EnterAll({9, 8}, 3);
  order.EnterAll({9, 7}, 4);
  order.EnterAll({6}, 5);
  EXPECT_EQ(Ready(order), (Tokens{1, 5}));
  order.Settle(7);
  EXPECT_EQ(Ready(order), (Tokens{2, 3, 4})) << "as they came";
}

TEST(WriteOrderTest, ADroppedOneOfSeveralHashKeysIsToldOnceAndLeavesNothing) {
  WriteOrder order;
  order.Enter(7, 1, kDecided);
  order.EnterAll({7, 8, 9}, 2);
  order.Enter(9, 3, kBlind);
  Ready(order);
  EXPECT_EQ(order.DropWaiting(), (Tokens{2, 3}));
  EXPECT_EQ(order.hash_keys(), 1u);
  order.Enter(9, 4, kDecided);
  EXPECT_EQ(Ready(order), Tokens{4});
  order.Settle(7);
  order.Leave(7);
  order.Settle(9);
  order.Leave(9);
  EXPECT_EQ(order.hash_keys(), 0u);
}

// write_order/Q1 and write_order/Q2 over random sequences, against a list a hash key.
TEST(WriteOrderTest, KeepsItsPromisesInAnyOrderOfEvents) {
  struct Write {
    WriteOrder::Token token;
    WriteOrder::Kind kind;
    std::vector<uint64_t> hashes;
    bool begun = false, settled = false;
  };
  std::mt19937 random(3);
  const auto below = [&](size_t n) { return random() % n; };
  WriteOrder order;
  std::map<WriteOrder::Token, Write> writes;
  // In the order in which they entered.
  std::map<uint64_t, Tokens> keys;
  WriteOrder::Token next = 1;
  int64_t left = 0, left_of_several = 0;
  // At the end what is there is let go.
  for (int step = 0; step < 200000 || !writes.empty(); ++step) {
    const uint64_t hash = below(4);
    if (step < 200000 && below(3) == 0 && keys[hash].size() < 12) {
      Write write{next, below(2) == 0 ? kBlind : kDecided, {hash}};
      if (below(3) == 0) {
        if (below(4) != 0) write.kind = kBlind;  // else little goes on
        for (uint64_t other = 0; other < 4; ++other)
          if (other != hash && below(2) == 0) write.hashes.push_back(other);
        order.EnterAll(write.hashes, next, write.kind);
      } else {
        order.Enter(hash, next, write.kind);
      }
      for (const uint64_t one : write.hashes) keys[one].push_back(next);
      writes[next++] = write;
    } else if (!keys[hash].empty()) {
      const WriteOrder::Token token = keys[hash][below(keys[hash].size())];
      Write& write = writes[token];
      if (!write.begun) continue;
      if (write.kind == kDecided && !write.settled) {
        for (const uint64_t one : write.hashes) order.Settle(one);
        write.settled = true;
      } else {
        for (const uint64_t one : write.hashes) {
          order.Leave(one);
          std::erase(keys[one], token);
        }
        ++left;
        if (write.hashes.size() > 1) ++left_of_several;
        writes.erase(token);
      }
    }
    for (const WriteOrder::Token token : Ready(order)) {
      ASSERT_FALSE(std::exchange(writes[token].begun, true));
      for (const uint64_t one : writes[token].hashes)
        for (const WriteOrder::Token before : keys[one]) {
          if (before == token) break;
          ASSERT_TRUE(writes[before].begun) << "write_order/Q1";
          ASSERT_TRUE(writes[before].kind == kBlind || writes[before].settled) << "write_order/Q2";
          ASSERT_EQ(writes[token].kind, kBlind) << "write_order/Q2: something is under way";
        }
    }
  }
  EXPECT_GT(left, 5000);
  EXPECT_GT(left_of_several, 1000);
  EXPECT_EQ(order.hash_keys(), 0u) << "write_order/Q3";
}

}  // namespace
}  // namespace arion
