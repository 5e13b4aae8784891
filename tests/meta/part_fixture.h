// PartFixture: one part of the meta server on a strand of a simulated environment; its store and its
// transport are played by hand.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meta/owner_life.h"
#include "meta/request_codec.h"
#include "meta/store_guard.h"
#include "tests/meta/meta_fixture.h"

namespace arion {

// Answers when the test says so.
class PlayedStore : public MetaStore {
 public:
  absl::StatusOr<std::map<std::string, std::string>> Load() override {
    return std::map<std::string, std::string>();
  }
  void Commit(std::vector<Change> batch, StoreNeed need, StrandPtr reply_on,
              absl::AnyInvocable<void(const absl::Status&)> done) override {
    commits.push_back({std::move(batch), need, std::move(reply_on), std::move(done)});
  }
  void Look(StrandPtr reply_on, absl::AnyInvocable<void(const StoreRoom&)> done) override {
    ++looks;
    auto answer = std::make_shared<decltype(done)>(std::move(done));
    reply_on->Post([answer, seen = room] { (*answer)(seen); });
  }
  struct Committed {
    std::vector<Change> batch;
    StoreNeed need;
    StrandPtr reply_on;
    absl::AnyInvocable<void(const absl::Status&)> done;
  };
  std::deque<Committed> commits;
  StoreRoom room;
  int looks = 0;
};

class PartFixture : public testing::Test {
 protected:
  PartFixture()
      : node_(world_.AddNode("meta")), env_(node_.Start()), strand_(env_.NewStrand("meta")) {
    owner_life_.Begin(owner_);
  }
  ~PartFixture() override { node_.Crash(sim::CrashMode::kProcess); }

  void OnStrand(absl::FunctionRef<void()> task) { env_.RunOn(strand_, task); }
  // The first batch that was committed becomes that.
  void AnswerStore(absl::Status stored = absl::OkStatus()) {
    ASSERT_FALSE(played_.commits.empty());
    auto commit = std::make_shared<PlayedStore::Committed>(std::move(played_.commits.front()));
    played_.commits.pop_front();
    commit->reply_on->Post([commit, stored] { commit->done(stored); });
    world_.RunFor(absl::Milliseconds(10));
  }
  // The first call that was made is answered.
  void AnswerCall(RpcResult result) {
    ASSERT_FALSE(transport_.called.empty());
    auto call = std::make_shared<RecordingTransport::Called>(std::move(transport_.called.front()));
    transport_.called.pop_front();
    call->reply_on->Post([call, result] { call->done(result); });
    world_.RunFor(absl::Milliseconds(10));
  }
  // One whose answer is found in answers_ under `name`.
  InboundRequest RequestFor(const std::string& name, std::string body) {
    InboundRequest request;
    request.header.name = name;
    request.body = std::move(body);
    request.responder = Responder([this, name](ErrorCode error, std::string bytes) {
      answers_.emplace(name, std::pair(error, std::move(bytes)));
    });
    return request;
  }
  // What was answered under `name`; nullopt: nothing, or an error.
  template <class Response>
  std::optional<Response> Answered(const std::string& name) {
    const auto found = answers_.find(name);
    if (found == answers_.end() || found->second.first != ErrorCode::kOk) return std::nullopt;
    absl::StatusOr<Response> response = DecodeWrapped<Response>(found->second.second);
    EXPECT_TRUE(response.ok()) << response.status();
    return *std::move(response);
  }

  sim::SimWorld world_{1};
  sim::SimNode& node_;
  sim::SimEnvironment& env_;
  const StrandPtr strand_;
  std::shared_ptr<int> owner_ = std::make_shared<int>(0);
  OwnerLife owner_life_;
  PlayedStore played_;
  int has_room_ = 0;
  StoreGuard store_{played_, env_.clock(), strand_, owner_life_, [this] { ++has_room_; }};
  RecordingTransport transport_;
  const RequestCodec codec_{PeerGeneration::k25};
  std::multimap<std::string, std::pair<ErrorCode, std::string>> answers_;
};

}  // namespace arion
