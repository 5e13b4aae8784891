// OtherClusters: where the meta servers of other clusters are now.
//
// Shapes    Each cluster's names have a NameBook of their own: a name that can't be found holds up
//           no other cluster.
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "env/named_address.h"
#include "posix/name_book.h"

namespace arion {

// Of [pegasus.clusters]. Looks up from its construction until it ends.
class OtherClusters {
 public:
  explicit OtherClusters(const std::map<std::string, std::vector<NamedAddress>>& clusters) {
    for (const auto& [name, addresses] : clusters) {
      auto& book = books_[name];
      book = std::make_unique<NameBook>("meta servers of " + name, addresses, LookUp);
      book->Start([this, name = name](const std::vector<Endpoint>& now) {
        const MutexLock lock(mutex_);
        known_[name] = now;
      });
    }
  }
  ~OtherClusters() {
    // Before what they write to.
    for (auto& [name, book] : books_) book->Stop();
  }
  OtherClusters(const OtherClusters&) = delete;

  // Empty: not known yet, or there is no such cluster. Who asks wants to connect: the names are
  // looked up again.
  std::vector<Endpoint> MetaServersOf(const std::string& cluster) {
    const auto book = books_.find(cluster);
    if (book != books_.end()) book->second->LookUpSoon();
    const MutexLock lock(mutex_);
    const auto found = known_.find(cluster);
    return found == known_.end() ? std::vector<Endpoint>() : found->second;
  }

 private:
  Mutex mutex_;
  std::map<std::string, std::vector<Endpoint>> known_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::unique_ptr<NameBook>> books_;
};

}  // namespace arion
