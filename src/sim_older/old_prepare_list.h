// OldPrepareList: the prepare list of a 2.5.0 server. What its process
// would assert is told as a fault, in words.
//
// Threads   One.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/function_ref.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/mutation.h"
#include "rpc/transport.h"

namespace arion::sim {

// A member of OldReplica. It holds what is not committed and some of what is, which learners may
// need.
class OldPrepareList {
 public:
  struct Client {
    WriteCode code = WriteCode::kPut;
    Responder responder;
  };
  struct Entry {
    MutationPtr mutation;
    bool is_logged = false;
    // Another version of the decree was logged before it.
    bool was_logged = false;
    // Of whom no answer has come.
    std::set<Endpoint> secondaries, learners;
    // One for each update, or none.
    std::vector<Client> clients;
    bool IsReady() const { return is_logged && secondaries.empty() && learners.empty(); }
  };
  using Apply = absl::FunctionRef<void(Entry&)>;
  using Fault = std::optional<std::string>;

  explicit OldPrepareList(int64_t span_max) : span_max_(span_max) {}

  Decree min() const { return entries_.empty() ? committed_ : entries_.begin()->first; }
  Decree max() const { return entries_.empty() ? committed_ : entries_.rbegin()->first; }
  Decree committed() const { return committed_; }
  bool IsEmpty() const { return entries_.empty(); }
  Entry* Find(Decree decree);
  std::map<Decree, Entry>& entries() { return entries_; }

  // Makes room among what is committed, and puts it there.
  Fault Put(Entry entry);
  // Every decree up to `through`: each must be there, logged, under ballots that do not fall. Where
  // a primary was deposed while it logged again what others knew to be committed, it waits for
  // that: a 2.5.0 process would end, whoever its peers are.
  Fault CommitHard(Decree through, Apply apply);
  // Those of them that are.
  void CommitSoft(Decree through, Apply apply);
  // Those that nobody is waited for.
  void CommitReady(Apply apply);

  void Truncate(Decree decree);
  void Reset(Decree decree);

 private:
  bool MayCommit(const Entry* entry) const;
  void Commit(Entry& entry, Apply apply);

  const int64_t span_max_;
  std::map<Decree, Entry> entries_;
  Decree committed_;
  Ballot committed_ballot_;
};

}  // namespace arion::sim
