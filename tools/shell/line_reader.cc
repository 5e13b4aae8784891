// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/line_reader.h"

#include <histedit.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>

namespace arion::shell {
namespace {

constexpr int kHistoryLines = 1000;

size_t CommonPrefix(const std::vector<std::string>& words) {
  size_t length = words[0].size();
  for (const std::string& word : words) {
    size_t i = 0;
    while (i < std::min(length, word.size()) && word[i] == words[0][i]) ++i;
    length = i;
  }
  return length;
}

}  // namespace

class LineReader::Editor {
 public:
  Editor(std::string history_path, Completer completer)
      : history_path_(std::move(history_path)), completer_(std::move(completer)) {
    history_ = history_init();
    HistEvent event;
    history(history_, &event, H_SETSIZE, kHistoryLines);
    history(history_, &event, H_SETUNIQUE, 1);
    if (!history_path_.empty()) history(history_, &event, H_LOAD, history_path_.c_str());
    edit_ = el_init("arion_shell", stdin, stdout, stderr);
    el_set(edit_, EL_CLIENTDATA, this);
    el_set(edit_, EL_PROMPT, &Editor::Prompt);
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_HIST, history, history_);
    el_set(edit_, EL_SIGNAL, 1);
    el_set(edit_, EL_ADDFN, "arion-complete", "complete a word", &Editor::Complete);
    el_set(edit_, EL_BIND, "^I", "arion-complete", nullptr);
    el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_source(edit_, nullptr);
  }

  ~Editor() {
    HistEvent event;
    if (!history_path_.empty()) history(history_, &event, H_SAVE, history_path_.c_str());
    el_end(edit_);
    history_end(history_);
  }

  std::optional<std::string> Read(const std::string& prompt) {
    prompt_ = prompt;
    int count = 0;
    errno = 0;
    const char* text = el_gets(edit_, &count);
    if (text == nullptr || count <= 0)
      // Ctrl-C ends the line, Ctrl-D the input. libedit tells them apart only by errno.
      return errno == EINTR ? std::optional<std::string>("") : std::nullopt;
    std::string line(text, static_cast<size_t>(count));
    if (line.find_first_not_of(" \t\n") != std::string::npos) {
      HistEvent event;
      history(history_, &event, H_ENTER, text);
    }
    return line;
  }

 private:
  static Editor* Of(EditLine* edit) {
    Editor* self = nullptr;
    el_get(edit, EL_CLIENTDATA, &self);
    return self;
  }

  static char* Prompt(EditLine* edit) { return Of(edit)->prompt_.data(); }

  static unsigned char Complete(EditLine* edit, int) {
    const LineInfo* info = el_line(edit);
    std::string line(info->buffer, info->cursor);
    std::vector<std::string> words = Of(edit)->completer_(line);
    if (words.empty()) return CC_ERROR;
    // Candidates are whole words, of which the first letters stand there already.
    size_t typed = line.size() - (line.find_last_of(" ;") + 1);
    std::string more =
        words[0].substr(std::min(typed, words[0].size()), CommonPrefix(words) - typed);
    if (words.size() == 1) more += ' ';
    if (!more.empty()) return el_insertstr(edit, more.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
    printf("\n");
    for (const std::string& word : words) printf("%s  ", word.c_str());
    printf("\n");
    return CC_REDISPLAY;
  }

  std::string history_path_;
  Completer completer_;
  std::string prompt_;
  History* history_ = nullptr;
  EditLine* edit_ = nullptr;
};

LineReader::LineReader(std::string history_path, Completer completer)
    : editor_(std::make_unique<Editor>(std::move(history_path), std::move(completer))) {}
LineReader::~LineReader() = default;
std::optional<std::string> LineReader::Read(const std::string& prompt) {
  return editor_->Read(prompt);
}

}  // namespace arion::shell
