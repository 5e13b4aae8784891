// LineReader: lines from a person, with history and completion; the one place that knows libedit.
//
// Threads   One thread.
// Lifetime  The completer outlives it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace arion::shell {

// One terminal. Make one for a process: libedit keeps state of its own. History is read when it is
// made and written when it is destroyed.
class LineReader {
 public:
  // What the last word of `line` (up to the cursor) may become.
  using Completer = std::function<std::vector<std::string>(const std::string& line)>;

  // History is kept in `history_path`; empty: only for this run.
  LineReader(std::string history_path, Completer completer);
  ~LineReader();

  // nullopt: end of input (^D). ^C gives an empty line.
  std::optional<std::string> Read(const std::string& prompt);

 private:
  class Editor;
  std::unique_ptr<Editor> editor_;
};

}  // namespace arion::shell
