// NearestName: what a mistyped name was probably meant to be, for "did you mean". Configuration
// keys, flags and shell commands ask it.
//
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace arion {

// The name of `known` nearest to `name` if it is near enough to be a slip of the hand; else empty.
// It is a view into `known`. Among equally near ones the first wins.
//
//   NearestName("durabilty", {"data_dirs", "durability"})   // "durability"
std::string_view NearestName(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace arion
