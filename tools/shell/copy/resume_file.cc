// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/resume_file.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>

#include "base/raw_key.h"
#include "base/status.h"
#include "tools/shell/words.h"

namespace arion::shell {
namespace {

constexpr std::string_view kFormat = "1";
constexpr size_t kFileBytesMax = size_t{1} << 30;

// So that an empty text and one that begins with '#' are words too.
std::string Quoted(std::string_view bytes) { return absl::StrCat("\"", Escape(bytes), "\""); }

std::string SideLine(std::string_view name, const CopySide& side) {
  return absl::StrCat(Text(name), " ", Quoted(side.table), " ", side.table_id, " ",
                      Quoted(absl::StrJoin(side.meta_servers, ",")), "\n");
}

absl::StatusOr<int64_t> CountIn(const std::string& word) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(word, &number) || number < 0)
    return absl::FailedPreconditionError(absl::StrCat("\"", Escape(word), "\" is no number"));
  return number;
}

absl::Status ReadSide(const Words& line, CopySide& side) {
  if (line.size() != 4) return absl::FailedPreconditionError("it has other words");
  side.table = line[1];
  ASSIGN_OR_RETURN(side.table_id, CountIn(line[2]));
  side.meta_servers = absl::StrSplit(line[3], ',');
  return absl::OkStatus();
}

absl::StatusOr<CopyPosition> ReadPosition(const Words& line) {
  if (line.size() < 4) return absl::FailedPreconditionError("it has too few words");
  CopyPosition position;
  ASSIGN_OR_RETURN(const int64_t index, CountIn(line[1]));
  ASSIGN_OR_RETURN(const int64_t count, CountIn(line[2]));
  if (count < 1 || count > (1 << 20) || index >= count)
    return absl::FailedPreconditionError("there is no such partition");
  position.share = {static_cast<int32_t>(index), static_cast<int32_t>(count)};
  if (line[3] == "done" && line.size() == 4) {
    position.is_done = true;
  } else if (line[3] == "after" && line.size() == 5 && IsRawKey(line[4])) {
    position.after = line[4];
  } else if (line[3] != "begin" || line.size() != 4) {
    return absl::FailedPreconditionError("it says no position");
  }
  return position;
}

absl::Status ReadLine(const Words& line, CopyState& state) {
  if (line[0] == "source") return ReadSide(line, state.source);
  if (line[0] == "target") return ReadSide(line, state.target);
  if (line[0] == "options" && line.size() == 2) {
    state.options = line[1];
    return absl::OkStatus();
  }
  if (line[0] == "counts" && line.size() == 5) {
    ASSIGN_OR_RETURN(state.counts.copied, CountIn(line[1]));
    ASSIGN_OR_RETURN(state.counts.skipped, CountIn(line[2]));
    ASSIGN_OR_RETURN(state.counts.not_copied, CountIn(line[3]));
    ASSIGN_OR_RETURN(state.counts.bytes, CountIn(line[4]));
    return absl::OkStatus();
  }
  if (line[0] == "partition") {
    ASSIGN_OR_RETURN(state.positions.emplace_back(), ReadPosition(line));
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError("it is none that is known");
}

// One of the two positions would be a lie.
absl::Status CheckDisjoint(const std::vector<CopyPosition>& positions) {
  std::set<std::pair<int32_t, int32_t>> seen;
  for (const CopyPosition& position : positions)
    if (!seen.emplace(position.share.index, position.share.count).second)
      return absl::FailedPreconditionError("a partition is there twice");
  return absl::OkStatus();
}

absl::Status SideDiffers(std::string_view which, const CopySide& ours, const CopySide& stored) {
  const auto text = [](const CopySide& side) {
    return absl::StrCat("table ", Escape(side.table), " (id ", side.table_id, ") of ",
                        absl::StrJoin(side.meta_servers, ","));
  };
  const bool is_same_cluster =
      std::any_of(ours.meta_servers.begin(), ours.meta_servers.end(), [&](const auto& server) {
        return std::find(stored.meta_servers.begin(), stored.meta_servers.end(), server) !=
               stored.meta_servers.end();
      });
  if (is_same_cluster && ours.table == stored.table && ours.table_id == stored.table_id)
    return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("its ", Text(which), " is ", text(stored),
                                                    ", the one of this copy ", text(ours)));
}

absl::Status FileError(std::string_view what, const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("can't ", Text(what), " ", path, ": ", strerror(errno)));
}

// Closes when it goes.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace

CopyCounts& CopyCounts::operator+=(const CopyCounts& more) {
  copied += more.copied;
  skipped += more.skipped;
  not_copied += more.not_copied;
  bytes += more.bytes;
  return *this;
}

std::string CopyState::ToText() const {
  std::string text = absl::StrCat("# where a copy_data of arion_shell is; --resume goes on there\n",
                                  "copy_data ", Text(kFormat), "\n", SideLine("source", source),
                                  SideLine("target", target), "options ", Quoted(options), "\n");
  absl::StrAppend(&text, "counts ", counts.copied, " ", counts.skipped, " ", counts.not_copied, " ",
                  counts.bytes, "\n");
  for (const CopyPosition& position : positions) {
    absl::StrAppend(&text, "partition ", position.share.index, " ", position.share.count, " ");
    if (position.is_done)
      absl::StrAppend(&text, "done\n");
    else if (!position.after)
      absl::StrAppend(&text, "begin\n");
    else
      absl::StrAppend(&text, "after ", Quoted(*position.after), "\n");
  }
  return text + "end\n";
}

absl::StatusOr<CopyState> CopyState::Parse(std::string_view text) {
  const absl::StatusOr<std::vector<Words>> lines = SplitCommands(text);
  if (!lines.ok() || lines->empty() || lines->front()[0] != "copy_data")
    return absl::FailedPreconditionError("it is no file of copy_data --resume");
  if (lines->front() != Words{"copy_data", std::string(kFormat)})
    return absl::FailedPreconditionError("another version of copy_data wrote it");
  if (lines->back() != Words{"end"}) return absl::FailedPreconditionError("its end is missing");
  CopyState state;
  for (size_t i = 1; i + 1 < lines->size(); ++i) {
    const Words& line = (*lines)[i];
    if (const absl::Status read = ReadLine(line, state); !read.ok())
      return Annotate(read, absl::StrCat("line \"", Escape(line[0]), "\" (", i + 1, ")"));
  }
  if (state.source.table.empty() || state.target.table.empty() || state.positions.empty())
    return absl::FailedPreconditionError("a part of it is missing");
  RETURN_IF_ERROR(CheckDisjoint(state.positions));
  return state;
}

absl::Status CopyState::CheckSameCopy(const CopyState& stored) const {
  RETURN_IF_ERROR(SideDiffers("source", source, stored.source));
  RETURN_IF_ERROR(SideDiffers("target", target, stored.target));
  if (options != stored.options)
    return absl::FailedPreconditionError(
        absl::StrCat("its options are ", stored.options, ", those of this copy ", options));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<CopyState>> ReadResumeFile(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 && errno == ENOENT) return std::nullopt;
  if (file.get() < 0) return FileError("read", path);
  std::string text, part(1 << 16, '\0');
  for (;;) {
    const ssize_t got = read(file.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError("read", path);
    if (got == 0) break;
    text.append(part, 0, static_cast<size_t>(got));
    if (text.size() > kFileBytesMax)
      return absl::FailedPreconditionError(path + " is no file of copy_data --resume");
  }
  absl::StatusOr<CopyState> state = CopyState::Parse(text);
  if (!state.ok()) return Annotate(state.status(), path);
  return *std::move(state);
}

absl::Status WriteResumeFile(const std::string& path, const CopyState& state) {
  const std::string text = state.ToText(), beside = path + ".new";
  {
    const Descriptor file(open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.get() < 0) return FileError("write", beside);
    for (size_t at = 0; at < text.size();) {
      const ssize_t put = write(file.get(), text.data() + at, text.size() - at);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return FileError("write", beside);
      at += static_cast<size_t>(put);
    }
    if (fsync(file.get()) != 0) return FileError("flush", beside);
  }
  if (rename(beside.c_str(), path.c_str()) != 0) return FileError("write", path);
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor folder(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || fsync(folder.get()) != 0) return FileError("flush", directory);
  return absl::OkStatus();
}

}  // namespace arion::shell
