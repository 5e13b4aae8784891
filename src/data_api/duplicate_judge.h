// DuplicateJudge: what of another cluster's writes is kept where both clusters write the table, or
// where they may come twice. Asked by the primary, once, before it logs them; members apply what
// the log holds.
//
//   DuplicateJudge judge(*std::move(request), DuplicateJudge::Compares::kAll);
//   absl::Status status = judge.Look(*engine, ReadTier::kCacheOnly);  // Unavailable: in a pool
//   std::optional<std::string> logged = std::move(judge).Keep();
//
// Shapes    A write is kept where its time is the largest that its key has, of two equal ones that
//           of the cluster with the larger id (TimeTag). What both clusters keep is then the same
//           in whichever order writes come. A write without a time is kept: nothing can be said.
//           What a position covers was taken before (engine/source_positions.h).
// Errors    Of Look: as Engine::TagOf. It goes on where it was when it is called again.
// Threads   One at a time. Reads the engine in Look only.
// Promises  duplicate_judge/J1  What is kept has a tag at least as large as each one of its key
//               that the engine holds, or that was kept before in the same request.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "messages/duplicate_messages.h"

namespace arion {

// Of one request: made by ClientWrites when its turn comes; Look, then Keep.
class DuplicateJudge {
 public:
  // Which of the writes yield to later ones.
  enum class Compares {
    // Where both clusters write.
    kAll,
    // Those that ask for it.
    kAsked,
  };
  // Whether there is something to judge; else the request may be logged as it came, and the engine
  // need not be looked at.
  static bool IsNeeded(const DuplicateRequest& request, Compares compares);

  // `request` is not to be refused, and each of its writes decodes (WriteOperation::OfDuplicate).
  DuplicateJudge(DuplicateRequest request, Compares compares);

  // How many records it looks at.
  size_t keys() const { return keys_; }
  absl::Status Look(const Engine& engine, ReadTier tier);
  // After Look: the body to be logged; nullopt: nothing of it is new.
  std::optional<std::string> Keep() &&;

 private:
  bool IsJudged(const DuplicateEntry& entry) const {
    return compares_ == Compares::kAll || entry.verify_timetag.value_or(false);
  }
  bool WasTaken(const DuplicateEntry& entry) const;
  bool Wins(const std::string& raw_key, uint64_t tag);
  // Leaves out of it what loses; `raw_keys` are those that it writes. False: all of it does.
  bool KeepOf(const std::vector<std::string>& raw_keys, DuplicateEntry* entry);

  DuplicateRequest request_;
  const Compares compares_;
  size_t keys_ = 0;
  // Of the judged writes, by their place in the request.
  std::vector<std::vector<std::string>> raw_keys_;
  std::optional<SourcePosition> taken_;
  std::unordered_map<std::string, uint64_t> tags_;
};

}  // namespace arion
