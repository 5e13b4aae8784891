// absl::Status helpers. Debian's Abseil has its own string_view: Text() and View() carry one over
// to the other.
//
//   absl::StatusOr<size_t> CountLines(FileSystem& files, const std::string& path) {
//     ASSIGN_OR_RETURN(const std::string text, ReadFile(files, path));   // returns on an error
//     RETURN_IF_ERROR(CheckText(text));
//     return std::count(text.begin(), text.end(), '\n');
//   }
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/string_view.h>

#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace arion {

// Both are views of the same bytes; nothing is copied.
inline absl::string_view Text(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view View(absl::string_view text) { return {text.data(), text.size()}; }

// The same code, with the step that failed in front: "open log.3.0: No space left on device".
inline absl::Status Annotate(const absl::Status& status, std::string_view step) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(Text(step), ": ", status.message()));
}

}  // namespace arion

// Returns the status of `expr` from this function unless it is OK.
#define RETURN_IF_ERROR(expr)                                         \
  do {                                                                \
    if (absl::Status _status = (expr); !_status.ok()) return _status; \
  } while (false)

#define ARION_CONCAT_INNER(a, b) a##b
#define ARION_CONCAT(a, b) ARION_CONCAT_INNER(a, b)
// Assigns the value of a StatusOr to `lhs`, which may declare a variable, or returns its status. It
// is more than one statement: in an `if` it needs braces.
#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_IMPL(ARION_CONCAT(_statusor_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_IMPL(name, lhs, expr) \
  auto name = (expr);                          \
  if (!name.ok()) return name.status();        \
  lhs = std::move(name).value()
