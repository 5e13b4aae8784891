// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/state_mark.h"

#include <absl/strings/str_cat.h>
#include <absl/time/time.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string_view>

#include "base/status.h"
#include "env/file_system.h"
#include "meta_ensemble/state_tree.h"

namespace arion {
namespace {

constexpr char kJournalName[] = "meta.journal";
constexpr char kMovedJournalName[] = "meta.journal.moved";
constexpr char kNoteName[] = ".arion-move";
constexpr std::string_view kPhases[] = {"moving", "moved"};
constexpr std::string_view kTos[] = {"zookeeper", "journal"};

std::optional<std::string> TextIn(const rapidjson::Document& json, const char* name) {
  if (!json.HasMember(name) || !json[name].IsString()) return std::nullopt;
  return std::string(json[name].GetString(), json[name].GetStringLength());
}

// The position of what `name` holds; nullopt: it is none of these.
template <size_t n>
std::optional<int> ChoiceIn(const rapidjson::Document& json, const char* name,
                            const std::string_view (&choices)[n]) {
  const std::optional<std::string> text = TextIn(json, name);
  for (size_t i = 0; text && i < n; ++i)
    if (*text == choices[i]) return static_cast<int>(i);
  return std::nullopt;
}

std::string When(const StateMark& mark) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromUnixSeconds(mark.unix_seconds),
                          absl::UTCTimeZone());
}

// The command that ends the move, or does it.
std::string CommandTo(StateMark::To to) {
  return absl::StrCat("arion_meta move-state --to ", Text(kTos[static_cast<int>(to)]),
                      " --config FILE");
}

}  // namespace

std::string StateMark::ToJson() const {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
  const auto text = [&](const char* name, std::string_view value) {
    json.Key(name);
    json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  json.StartObject();
  text("phase", kPhases[static_cast<int>(phase)]);
  text("to", kTos[static_cast<int>(to)]);
  text("id", id);
  text("journal", journal);
  text("zookeeper", zookeeper);
  json.Key("unix_seconds");
  json.Int64(unix_seconds);
  json.EndObject();
  return buffer.GetString();
}

absl::StatusOr<StateMark> StateMark::Parse(const std::string& text) {
  rapidjson::Document json;
  json.Parse(text.data(), text.size());
  const absl::Status unclear =
      absl::DataLossError(absl::StrCat("holds '", text, "', which is not understood"));
  if (json.HasParseError() || !json.IsObject()) return unclear;
  const std::optional<int> phase = ChoiceIn(json, "phase", kPhases);
  const std::optional<int> to = ChoiceIn(json, "to", kTos);
  const std::optional<std::string> id = TextIn(json, "id");
  if (!phase || !to || !id || id->empty() || !json.HasMember("unix_seconds") ||
      !json["unix_seconds"].IsInt64())
    return unclear;
  return StateMark{.phase = static_cast<Phase>(*phase),
                   .to = static_cast<To>(*to),
                   .id = *id,
                   .journal = TextIn(json, "journal").value_or(""),
                   .zookeeper = TextIn(json, "zookeeper").value_or(""),
                   .unix_seconds = json["unix_seconds"].GetInt64()};
}

bool IsOfPlace(const std::string& key) {
  return key == kClusterIdKey || key == kCommitKey || key == kAppsKey || key == kStateMarkKey;
}

std::map<std::string, std::string> StateIn(const std::map<std::string, std::string>& entries) {
  std::map<std::string, std::string> state;
  for (const auto& [key, value] : entries)
    if (!IsOfPlace(key)) state[key] = value;
  return state;
}

std::string JournalPath(const std::string& directory) { return JoinPath(directory, kJournalName); }

std::string NotePath(const std::string& directory) { return JoinPath(directory, kNoteName); }

std::string MovedJournalPath(const std::string& directory) {
  return JoinPath(directory, kMovedJournalName);
}

absl::StatusOr<StateDirectory> LookAtStateDirectory(FileSystem& files, const std::string& path) {
  StateDirectory directory{.path = path};
  ASSIGN_OR_RETURN(directory.has_journal, IsThere(files, JournalPath(path)));
  ASSIGN_OR_RETURN(directory.has_moved_journal, IsThere(files, MovedJournalPath(path)));
  ASSIGN_OR_RETURN(const bool has_note, IsThere(files, NotePath(path)));
  if (!has_note) return directory;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(files, NotePath(path)));
  absl::StatusOr<StateMark> note = StateMark::Parse(text);
  if (!note.ok())
    return absl::DataLossError(absl::StrCat(
        NotePath(path), " ", note.status().message(),
        ": it says where the state was moved; remove it if no move of the state is to be ended"));
  directory.note = *std::move(note);
  return directory;
}

absl::Status MayBeginFromJournal(const StateDirectory& directory) {
  if (directory.has_journal || (!directory.note && !directory.has_moved_journal))
    return absl::OkStatus();
  const std::string other =
      absl::StrCat("; where that state is lost, remove ", NotePath(directory.path), " and ",
                   MovedJournalPath(directory.path), ", and an empty cluster begins");
  const std::string none = absl::StrCat(directory.path, " has no ", kJournalName, ": ");
  if (!directory.note)
    return absl::FailedPreconditionError(
        absl::StrCat(none, "it was moved to ZooKeeper (", MovedJournalPath(directory.path),
                     " is what it was). Set state = zookeeper, or move the state back: ",
                     CommandTo(StateMark::To::kJournal), other));
  const StateMark& note = *directory.note;
  if (note.to == StateMark::To::kZooKeeper)
    return absl::FailedPreconditionError(absl::StrCat(
        none, "the state was moved to ZooKeeper at ", note.zookeeper, ", ", When(note),
        ". Set state = zookeeper, or move it back: ", CommandTo(StateMark::To::kJournal), other));
  return absl::FailedPreconditionError(absl::StrCat(
      none, "the state is being moved there from ZooKeeper at ", note.zookeeper, " since ",
      When(note), ", and the move was interrupted. Give the command again: ",
      CommandTo(StateMark::To::kJournal), other));
}

absl::Status MayLeadUnder(const std::string& mark, const std::string& node,
                          const StateDirectory& directory) {
  const absl::StatusOr<StateMark> parsed = StateMark::Parse(mark);
  if (!parsed.ok())
    return absl::FailedPreconditionError(
        absl::StrCat("node ", node, " ", parsed.status().message(),
                     ": it says that the state was moved away; remove it, and set /apps to what it "
                     "was, if the state below that root is the right one"));
  const StateMark& move = *parsed;
  if (move.phase == StateMark::Phase::kMoved)
    return absl::FailedPreconditionError(absl::StrCat(
        "node ", node, " says that the state was moved to the journal of ", move.journal, ", ",
        When(move),
        ". Start the meta server there with state = journal, or move it back with that "
        "one's file: ",
        CommandTo(StateMark::To::kZooKeeper)));
  const bool is_here = !directory.has_journal && directory.note && directory.note->id == move.id;
  if (is_here) return absl::OkStatus();  // state_mark/P1
  return absl::FailedPreconditionError(absl::StrCat(
      "node ", node, " says that the state is being moved to ",
      move.to == StateMark::To::kJournal ? "the journal of " : "ZooKeeper from the journal of ",
      move.journal, " since ", When(move),
      ", and the move was interrupted. Give the command again there: ", CommandTo(move.to)));
}

absl::Status MayBeginEmpty(const std::string& root, const StateDirectory& directory) {
  if (!directory.has_journal) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "below ", root.empty() ? "/" : root, " there is no state, and ", JournalPath(directory.path),
      " holds one. Move it: ", CommandTo(StateMark::To::kZooKeeper),
      "; or move that file away, and a new cluster begins"));
}

std::vector<StoreChange> EndOfMove() { return {{kAppsKey, ""}, {kStateMarkKey, std::nullopt}}; }

std::vector<StoreChange> BeginOfMove(const StateMark& mark) {
  return {{kAppsKey, "lock"}, {kStateMarkKey, mark.ToJson()}};
}

}  // namespace arion
