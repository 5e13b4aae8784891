// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/index_content.h"

#include <absl/strings/str_cat.h>

#include <map>
#include <memory>
#include <utility>

#include "base/raw_key.h"
#include "indexes/index_finder.h"
#include "sim_checkers/find_model.h"

namespace arion::sim {
namespace {

using Records = std::map<std::string, std::string>;

// By the index. Nothing is expired here: the records are what the engine holds.
absl::StatusOr<Records> FoundBy(const std::string& name,
                                const std::shared_ptr<const Engine>& engine, const Clock& clock) {
  Records found;
  FindRequest request{.index = name, .limit = 1000, .with_value = true};
  do {
    IndexFinder finder(engine, request);
    absl::StatusOr<std::optional<FindResponse>> turn;
    do {
      turn = finder.Turn(
          {.server = "", .now = 0, .clock = clock, .deadline = Instant::InfiniteFuture()});
      if (!turn.ok()) return turn.status();
    } while (!turn->has_value());
    FindResponse& response = **turn;
    if (response.error != 0)
      return absl::UnavailableError(
          absl::StrCat("is not whole: error ", response.error, ", ", response.built_percent, " %"));
    for (FoundRow& row : response.rows) found[row.key.bytes] = row.value->bytes;
    request.after = std::move(response.next);
  } while (request.after);
  return found;
}

}  // namespace

std::string WhatIsWrongWith(const NamedIndex& index, const std::shared_ptr<const Engine>& engine,
                            const Clock& clock) {
  absl::StatusOr<Records> found = FoundBy(index.name, engine, clock);
  if (!found.ok()) return std::string(found.status().message());
  const auto view = engine->View();
  for (const auto at = view->Walk({}, Direction::kForward); at->Valid(); at->Next()) {
    if (!IsRawKey(at->key()) || !IndexedField(index.definition, at->value())) continue;
    const auto row = found->find(std::string(at->key()));
    if (row == found->end()) return "lacks a record";
    if (row->second != at->value()) return "shows another value";
    found->erase(row);
  }
  return found->empty() ? "" : "shows a record that is not there";
}

}  // namespace arion::sim
