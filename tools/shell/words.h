// The shell's language: commands separated by ';' or line ends, words by white space, "..." and
// '...' keep both.
//
// Shapes    Escapes, inside quotes and out: \n \r \t \0 \\ \" \' \; \space \xHH. '#' at a word's
//           start: the rest of the line is a comment. Any byte can be said, zero included.
// Errors    InvalidArgument: an open quote, an unknown escape, with its column.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

namespace arion::shell {

// The words of one command, unescaped; the first is its name.
using Words = std::vector<std::string>;

// The commands of `text`, without empty ones.
absl::StatusOr<std::vector<Words>> SplitCommands(std::string_view text);

// `bytes` as SplitCommands reads them back: printable ASCII and valid UTF-8 as they are, the rest
// as escapes, no quotes.
std::string Escape(std::string_view bytes);
// The same, every byte as \xHH.
std::string EscapeAll(std::string_view bytes);

}  // namespace arion::shell
