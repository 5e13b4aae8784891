// WriteOrder: which client writes wait for which, by hash key. A write that is decided from the
// record it finds (INCR, CHECK_...) begins when every earlier write to its hash key has left, that
// is, was applied or refused. What comes behind it begins when its place in the log is settled.
//
// Shapes    A write enters, begins, may settle, and leaves. Hash keys are told apart by a 64 bit
//           hash: two that share it only wait needlessly. A write of several hash keys (DUPLICATE)
//           enters under all of them at once, and begins when it may at each. So what entered first
//           never waits for what entered later, and no two wait for each other.
// Threads   Strand-bound; no clock, no I/O.
// Promises  write_order/Q1  Writes to one hash key begin in the order they entered.
//           write_order/Q2  While a decided write has begun and not settled, nothing else to its
//               hash key begins; when it begins, nothing is between begin and leave.
//           write_order/Q3  A hash key is forgotten only when nothing of it is left.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/types/span.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

namespace arion {

// For each write: Enter; when TakeReady returns its token, begin it; Settle if it is kDecided;
// Leave. The last two under each of its hash keys.
class WriteOrder {
 public:
  // The caller's name for a write. It rises from one write to the next.
  using Token = uint64_t;
  enum class Kind : uint8_t {
    // Its place in the log is settled when it begins.
    kBlind,
    // Its place in the log is settled only when Settle is called.
    kDecided,
  };

  // The write waits from now on, or is ready at once.
  void Enter(uint64_t hash, Token token, Kind kind);
  // The same of a write of several hash keys; no hash stands twice, and there is one at least.
  void EnterAll(absl::Span<const uint64_t> hashes, Token token, Kind kind = Kind::kBlind);
  // The next write to begin; nullopt: none may. From now on it has begun.
  std::optional<Token> TakeReady();
  // The decided write of this hash that has begun stands in the log, or never will.
  void Settle(uint64_t hash);
  // A write that has begun is applied, or will not be by this request. A decided one has settled
  // before.
  void Leave(uint64_t hash);
  // Removes all writes that have not begun; returns them in the order they entered. Those that
  // TakeReady has not returned yet but that are ready count as begun.
  std::vector<Token> DropWaiting();

  // How many hash keys have writes here.
  size_t hash_keys() const { return keys_.size(); }

 private:
  struct Waiting {
    Token token;
    Kind kind;
    // It stands in several_.
    bool is_of_several = false;
    // Of such a one: it is the next here, and waits for its other hash keys.
    bool has_turn = false;
  };
  // A write of several hash keys that has not begun. `turns_missing`: keys where others come first.
  struct Several {
    std::vector<uint64_t> hashes;
    size_t turns_missing = 0;
  };
  // One hash key that has writes here. `begun`: those that have begun and not left.
  struct Key {
    int64_t begun = 0;
    bool is_deciding = false;
    std::deque<Waiting> waiting;
  };
  void Promote(uint64_t hash, Key& key);
  void PromoteHere(uint64_t hash, Key& key, std::vector<uint64_t>* freed);
  bool HasAllTurns(Waiting& first);
  void BeginElsewhere(uint64_t here, const Waiting& one, std::vector<uint64_t>* freed);

  // Never iterated to decide anything: its order is not the same in each run.
  std::unordered_map<uint64_t, Key> keys_;
  std::unordered_map<Token, Several> several_;
  std::deque<Token> ready_;
};

}  // namespace arion
