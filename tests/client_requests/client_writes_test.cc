// Clients' writes by themselves, with a core that does what a test tells it to.
// SPDX-License-Identifier: Apache-2.0
#include "client_requests/client_writes.h"

#include <gmock/gmock.h>

#include <deque>

#include "messages/client_messages.h"
#include "tests/client_requests/served_world.h"

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class ClientWritesTest : public ServedWorld {
 protected:
  void Put(int number, int key, Instant deadline = Instant::InfiniteFuture()) {
    Do([&] {
      writes_.Write(WriteCode::kPut,
                    Inbound(number, EncodeWrapped(UpdateRequest{Key(key), "v", 0})),
                    {.arrived = env_.clock().Now(), .deadline = deadline});
    });
  }
  void Incr(int number, int key) {
    Do([&] {
      writes_.Write(WriteCode::kIncr,
                    Inbound(number, EncodeWrapped(IncrRequest{.key = Key(key), .increment = 1})),
                    {.arrived = env_.clock().Now()});
    });
  }
  // The core has committed the first that it was given, or refuses it.
  void Answer(ErrorCode error = ErrorCode::kOk) {
    ASSERT_FALSE(ordered_.empty());
    const ClientToken token = ordered_.front();
    ordered_.pop_front();
    Do([&] {
      writes_.Answer({.token = token, .err = error, .decree = Decree(1)}, env_.clock().Now());
      writes_.Begin();
    });
  }

  ClientToken next_ = 1;
  std::deque<ClientToken> ordered_;
  ClientWrites writes_{
      partition_,
      admission_,
      1000,
      {.new_token = [this] { return next_++; },
       .order = [this](const ClientWrite& write) { ordered_.push_back(write.token); }}};
};

TEST_F(ClientWritesTest, AWriteIsAnsweredWhenTheCoreHasAnswered) {
  Put(1, 1);
  EXPECT_THAT(ordered_, ElementsAre(1));
  EXPECT_THAT(Taken(), IsEmpty());
  Answer();
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk)));
}

TEST_F(ClientWritesTest, KeysOfOtherPartitionsAreNotWrittenWhateverTheHeaderSays) {
  const auto put = [&](int number, const char* hash_key, uint64_t header_hash) {
    Do([&] {
      writes_.Write(WriteCode::kPut,
                    Inbound(number, EncodeWrapped(UpdateRequest{JoinRawKey(hash_key, "s"), "v", 0}),
                            header_hash),
                    {.arrived = env_.clock().Now()});
    });
    const Answers answers = Taken();
    return answers.empty() ? ErrorCode::kOk : answers[0].second;
  };
  EXPECT_EQ(put(1, kElsewhere, 8), ErrorCode::kOk) << "not checked";
  Split(8);
  EXPECT_EQ(put(2, kStays, 9), ErrorCode::kOk);
  EXPECT_EQ(put(3, kStays, 0), ErrorCode::kOk) << "an old Python client";
  EXPECT_EQ(put(4, kStays, 5), ErrorCode::kParentPartitionMisused);
  EXPECT_EQ(put(5, kMoves, 0), ErrorCode::kParentPartitionMisused);
  EXPECT_EQ(put(6, kMoves, 9), ErrorCode::kParentPartitionMisused);
  EXPECT_EQ(ordered_.size(), 3u);
}

TEST_F(ClientWritesTest, WhatWaitedOverASplitIsJudgedByTheNewCount) {
  const std::string key = JoinRawKey(kMoves, "s");
  const auto write = [&](int number, WriteCode code, std::string body) {
    Do([&] {
      writes_.Write(code, Inbound(number, std::move(body)), {.arrived = env_.clock().Now()});
    });
  };
  write(1, WriteCode::kPut, EncodeWrapped(UpdateRequest{key, "1", 0}));
  write(2, WriteCode::kIncr, EncodeWrapped(IncrRequest{.key = key, .increment = 1}));
  write(3, WriteCode::kPut, EncodeWrapped(UpdateRequest{key, "3", 0}));
  EXPECT_THAT(ordered_, ElementsAre(1));
  Split(8);
  Answer();
  EXPECT_THAT(Taken(), UnorderedElementsAre(Pair(1, ErrorCode::kOk),
                                            Pair(2, ErrorCode::kParentPartitionMisused),
                                            Pair(3, ErrorCode::kParentPartitionMisused)));
  EXPECT_THAT(ordered_, IsEmpty());
}

TEST_F(ClientWritesTest, WhatIsCommittedWithoutTheLeaseIsNotConfirmed) {
  Put(1, 1);
  office_.holds_lease = false;
  Answer();
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kTimeout)));
}

TEST_F(ClientWritesTest, AWriteThatNeedsARecordWaitsForEarlierOnesToItsHashKey) {
  Put(1, 1);
  Incr(2, 2);
  Put(3, 3);
  EXPECT_THAT(ordered_, ElementsAre(1)) << "what came later waits behind the one that waits";
  Answer();
  EXPECT_THAT(ordered_, ElementsAre(2, 3));
  Answer();
  Answer();
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk), Pair(2, ErrorCode::kOk),
                                   Pair(3, ErrorCode::kOk)));
}

TEST_F(ClientWritesTest, BehindTheBarrierNothingIsDecided) {
  office_.read_gate = ErrorCode::kInvalidState;
  Incr(1, 1);
  EXPECT_THAT(ordered_, IsEmpty());
  office_.read_gate = ErrorCode::kOk;
  Do([&] { writes_.Begin(); });
  EXPECT_THAT(ordered_, ElementsAre(1));
}

TEST_F(ClientWritesTest, WhatTheCoreDoesNotHaveIsRefusedWithTheOffice) {
  Put(1, 1);
  Incr(2, 2);
  Do([&] { writes_.RefuseUndecided(ErrorCode::kInvalidState); });
  EXPECT_THAT(Taken(), ElementsAre(Pair(2, ErrorCode::kInvalidState)));
  Answer();
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk)));
  EXPECT_THAT(ordered_, IsEmpty());
}

TEST_F(ClientWritesTest, AtTheEndOnlyTheOutcomeOfWhatTheCoreHasIsUnknown) {
  Put(1, 1);
  Incr(2, 2);
  office_.is_closed = true;
  Do([&] { writes_.Close(); });
  EXPECT_THAT(Taken(),
              ElementsAre(Pair(1, ErrorCode::kTimeout), Pair(2, ErrorCode::kInvalidState)));
}

TEST_F(ClientWritesTest, GatesAndFormAreLookedAtFirst) {
  office_.space_gate = ErrorCode::kDiskInsufficient;
  Put(1, 1);
  office_.space_gate = ErrorCode::kOk;
  office_.write_gate = ErrorCode::kNotEnoughMember;
  Put(2, 1);
  office_.write_gate = ErrorCode::kOk;
  Do([&] { writes_.Write(WriteCode::kPut, Inbound(3, std::string(2000, 'x')), {}); });
  Do([&] { writes_.Write(WriteCode::kPut, Inbound(4, "no request"), {}); });
  Put(5, 1, env_.clock().Now());
  EXPECT_THAT(
      Taken(),
      ElementsAre(Pair(1, ErrorCode::kDiskInsufficient), Pair(2, ErrorCode::kNotEnoughMember),
                  Pair(3, ErrorCode::kInvalidData), Pair(4, ErrorCode::kInvalidData)))
      << "nobody waits for the fifth";
  EXPECT_THAT(ordered_, IsEmpty());
}

TEST_F(ClientWritesTest, WhatIsHeldGoesOnAsItCame) {
  office_.write_gate = ErrorCode::kInvalidState;
  office_.is_between = true;
  Put(1, 1);
  EXPECT_THAT(Taken(), IsEmpty());
  office_.write_gate = ErrorCode::kOk;
  office_.is_between = false;
  Do([&] { admission_.ReleaseHeld(); });
  EXPECT_THAT(ordered_, ElementsAre(1));
}

}  // namespace
}  // namespace arion
