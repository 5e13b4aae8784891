// SPDX-License-Identifier: Apache-2.0
#include "posix/name_book.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace arion {
namespace {

// A resolver that knows what it is told, and whom the book told what.
class NameBookTest : public testing::Test {
 protected:
  void Know(const std::string& host, std::vector<std::string> addresses) {
    const std::lock_guard lock(mutex_);
    known_[host] = std::move(addresses);
  }
  void Start(const std::vector<NamedAddress>& names) {
    book_.emplace("servers", names,
                  [world = world_](const NamedAddress& name) { return world->LookUp(name); });
    book_->Start([world = world_](const std::vector<Endpoint>& now) {
      const std::lock_guard lock(world->mutex);
      std::string& told = world->told;
      told.clear();
      for (const Endpoint endpoint : now) told += (told.empty() ? "" : " ") + endpoint.ToString();
      world->changed.notify_all();
    });
  }
  void ExpectTold(const std::string& text) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return told_ == text; }))
        << told_;
  }

  // A book's threads may look a name up once more when it has gone.
  struct World {
    absl::StatusOr<std::vector<Endpoint>> LookUp(const NamedAddress& name) {
      std::unique_lock lock(mutex);
      const auto it = known.find(name.host);
      if (it == known.end()) return absl::UnavailableError("not known yet");
      // A resolver that hangs holds this name only.
      if (it->second.empty()) changed.wait(lock, [&] { return !it->second.empty(); });
      std::vector<Endpoint> found;
      for (const std::string& text : it->second) found.push_back(*Endpoint::Parse(text));
      return found;
    }
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::string, std::vector<std::string>> known;  // guarded by mutex, as told
    std::string told;
  };
  const std::shared_ptr<World> world_ = std::make_shared<World>();
  std::mutex& mutex_ = world_->mutex;
  std::condition_variable& changed_ = world_->changed;
  std::map<std::string, std::vector<std::string>>& known_ = world_->known;
  std::string& told_ = world_->told;
  std::optional<NameBook> book_;
};

TEST_F(NameBookTest, NumbersAreToldAtOnce) {
  Start({{"10.0.0.1", 1}, {"10.0.0.2", 2}});
  ExpectTold("10.0.0.1:1 10.0.0.2:2");
}

TEST_F(NameBookTest, WhatIsUnknownOrHangsHidesNoOtherAndIsTriedUntilItIsKnown) {
  Know("second", {"10.0.0.2:2"});
  Know("hangs", {});
  Start({{"first", 1}, {"second", 2}, {"hangs", 3}});
  ExpectTold("10.0.0.2:2");
  Know("first", {"10.0.0.1:1"});
  ExpectTold("10.0.0.1:1 10.0.0.2:2");
  Know("hangs", {"10.0.0.3:3"});
  changed_.notify_all();
  ExpectTold("10.0.0.1:1 10.0.0.2:2 10.0.0.3:3");
}

TEST_F(NameBookTest, ANameIsAskedForAnewWhenAConnectionFailsAndKeepsWhatItHadWhereThatFails) {
  Know("all", {"10.0.0.1:1", "10.0.0.2:1"});
  Know("first", {"10.0.0.2:1", "10.0.0.3:1"});
  Start({{"all", 1}, {"first", 1}});
  ExpectTold("10.0.0.1:1 10.0.0.2:1 10.0.0.3:1");
  {
    const std::lock_guard lock(mutex_);
    known_.erase("first");
  }
  Know("all", {"10.0.0.9:1"});
  book_->LookUpSoon();
  ExpectTold("10.0.0.9:1 10.0.0.2:1 10.0.0.3:1");
}

TEST_F(NameBookTest, AfterStopNobodyIsTold) {
  Start({{"10.0.0.1", 1}, {"late", 2}});
  book_->Stop();
  Know("late", {"10.0.0.2:2"});
  book_.reset();
  ExpectTold("10.0.0.1:1");
}

}  // namespace
}  // namespace arion
