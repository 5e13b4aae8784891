// What the older shells call things: options by long names, commands for what Arion does not have.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace arion::shell {

// "-d" of "--detailed"; the word itself where it is no such name.
std::string_view ShortOption(std::string_view word);

// Why one of their commands is not one of ours, to be printed behind "there is no command X: ".
// Empty: it is none of theirs.
std::string_view WhyAbsent(std::string_view command);

}  // namespace arion::shell
