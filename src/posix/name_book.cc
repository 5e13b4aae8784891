// SPDX-License-Identifier: Apache-2.0
#include "posix/name_book.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"

namespace arion {
namespace {

// A resolver that answers at once with an error must not be asked in a tight loop.
constexpr std::chrono::seconds kBetweenLookups{1};

std::string EndpointsText(const std::vector<Endpoint>& endpoints) {
  return absl::StrJoin(endpoints, ", ", [](std::string* out, Endpoint endpoint) {
    absl::StrAppend(out, endpoint.ToString());
  });
}

}  // namespace

class NameBook::State : public std::enable_shared_from_this<State> {
 public:
  State(const std::string& whose, const std::vector<NamedAddress>& names, LookUp look_up)
      : whose_(whose), look_up_(std::move(look_up)) {
    for (const NamedAddress& name : names) {
      Entry entry{.name = name, .now = {}};
      // Numbers need no lookup, and so no thread.
      if (const auto number = Endpoint::Parse(name.ToString())) entry.now = {*number};
      entries_.push_back(std::move(entry));
    }
  }

  void Start(Changed changed) {
    const MutexLock lock(mutex_);
    changed_ = std::move(changed);
    // Before the threads: what is known is told first.
    Tell();
    for (size_t i = 0; i < entries_.size(); ++i)
      if (entries_[i].now.empty())
        // Detached, because a resolver may take minutes: nobody waits for it at a stop.
        std::thread([self = shared_from_this(), i] { self->Follow(i); }).detach();
  }

  void Stop() {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
    woken_.NotifyAll();
  }

  void LookUpSoon() {
    const MutexLock lock(mutex_);
    ++asked_;
    woken_.NotifyAll();
  }

 private:
  struct Entry {
    const NamedAddress name;
    std::vector<Endpoint> now;
  };

  void Follow(size_t i) {
    std::string said;  // why it has none, as it was logged
    MutexLock lock(mutex_);
    const NamedAddress name = entries_[i].name;
    while (!is_stopped_) {
      // Read before the lookup: a wish that comes while it runs causes another one.
      const uint64_t asked = asked_;
      // Without the lock: a lookup waits for the network.
      lock.Unlock();
      absl::StatusOr<std::vector<Endpoint>> found = look_up_(name);
      lock.Lock();
      if (is_stopped_) return;
      if (found.ok()) {
        said.clear();
        Take(i, *std::move(found));
      } else if (std::string why(found.status().message()); std::exchange(said, why) != why) {
        LOG(WARNING) << whose_ << ": " << why << ": tried until it can"
                     << (entries_[i].now.empty() ? ""
                                                 : ", meanwhile " + EndpointsText(entries_[i].now));
      }
      // A second between two lookups, then until somebody asks. A name without an address is looked
      // up again without being asked for.
      woken_.WaitFor(mutex_, kBetweenLookups,
                     [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_stopped_; });
      if (said.empty())
        woken_.Wait(mutex_, [this, asked]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
          return is_stopped_ || asked_ != asked;
        });
    }
  }

  void Take(size_t i, std::vector<Endpoint> found) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Entry& entry = entries_[i];
    if (found == entry.now) return;
    LOG(INFO) << whose_ << ": " << entry.name.ToString() << " is at " << EndpointsText(found)
              << (entry.now.empty() ? "" : ", was at " + EndpointsText(entry.now));
    entry.now = std::move(found);
    Tell();
  }

  void Tell() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<Endpoint> all;
    for (const Entry& entry : entries_)
      for (const Endpoint endpoint : entry.now)
        // Two names may lead to one server.
        if (std::find(all.begin(), all.end(), endpoint) == all.end()) all.push_back(endpoint);
    // Nothing to report yet: callers must not get an empty list.
    if (!all.empty()) changed_(all);
  }

  const std::string whose_;
  const LookUp look_up_;
  Changed changed_ ABSL_GUARDED_BY(mutex_);  // set by Start
  Mutex mutex_;
  ConditionVariable woken_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // one a name, and no more
  uint64_t asked_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

NameBook::NameBook(const std::string& whose, const std::vector<NamedAddress>& names, LookUp look_up)
    : state_(std::make_shared<State>(whose, names, std::move(look_up))) {}
NameBook::~NameBook() { Stop(); }

void NameBook::Start(Changed changed) { state_->Start(std::move(changed)); }

void NameBook::Stop() { state_->Stop(); }

void NameBook::LookUpSoon() { state_->LookUpSoon(); }

}  // namespace arion
