// What the meta server does by itself: more with each level. And the names that people write.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace arion {

// Each level includes those below it. kStopped and kBlind: nothing is done at all. kFreezed: a
// primary that must go is taken out of its configuration. kSteady: members that fail are replaced.
// kLively: primaries and copies are balanced too. The numbers travel on the wire; an operator sets
// the level (ControlMetaRequest), and the meta server stores it.
enum class FunctionLevel : int32_t {
  kStopped = 100,
  kBlind = 200,
  kFreezed = 300,
  kSteady = 400,
  kLively = 500,
  // In a request: only asks for the level.
  kInvalid = 10000,
};

constexpr std::pair<std::string_view, FunctionLevel> kFunctionLevels[] = {
    {"stopped", FunctionLevel::kStopped}, {"blind", FunctionLevel::kBlind},
    {"freezed", FunctionLevel::kFreezed}, {"steady", FunctionLevel::kSteady},
    {"lively", FunctionLevel::kLively},
};

// "lively"; "invalid" for any other value.
constexpr std::string_view FunctionLevelName(FunctionLevel level) {
  for (const auto& [name, known] : kFunctionLevels)
    if (known == level) return name;
  return "invalid";
}
constexpr std::optional<FunctionLevel> FindFunctionLevel(std::string_view name) {
  for (const auto& [known, level] : kFunctionLevels)
    if (known == name) return level;
  return std::nullopt;
}

}  // namespace arion
