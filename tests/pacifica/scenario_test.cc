// Runs tests/pacifica/scenarios/*.txt: a command a line, below it, indented, everything the
// replicas then did. The commands are described in scenarios/README.md. ARION_UPDATE_SCENARIOS=1
// writes what happened in place of what was expected; read the difference before you commit it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/pacifica/harness.h"
#include "tests/support/source_directory.h"

namespace arion {
namespace {

std::string ScenariosDirectory() { return SourceDirectory() + "/tests/pacifica/scenarios"; }

struct Command {
  std::string line;
  std::vector<std::string> words;
  std::map<std::string, std::string> options;  // key=value words
  std::string expected;
};

int64_t Number(const std::string& text) { return std::stoll(text); }

class Scenario {
 public:
  std::string Run(const Command& c) {
    const std::string& verb = c.words[0];
    if (verb == "group")
      Group(c);
    else if (verb == "set")
      Set(c);
    else if (verb == "write")
      for (size_t i = 2; i < c.words.size(); ++i) h_.Write(c.words[1][0], c.words[i]);
    else if (verb == "incr")
      h_.Write(c.words[1][0], c.words[2], WriteCode::kIncr);
    else if (verb == "big")
      h_.Write(c.words[1][0], std::string(1 << 20, 'x'));
    else if (verb == "logged")
      Log(c);
    else if (verb == "log-fails")
      h_.LogOne(c.words[1][0], ErrorCode::kDiskIoError);
    else if (verb == "apply-fails")
      h_.Step(c.words[1][0], Applied{Decree(Number(c.words[2])), ErrorCode::kDiskIoError});
    else if (verb == "applied")
      h_.ApplyAll(c.words[1][0]);
    else if (verb == "flush")
      h_.Flush(c.words[1][0]);
    else if (verb == "trim-log")
      std::erase_if(h_.node(c.words[1][0]).disk.log,
                    [&](const MutationPtr& m) { return m->decree <= Decree(Number(c.words[2])); });
    else if (verb == "work-done")
      h_.EndWork(c.words[1][0]);
    else if (verb == "work-fails")
      h_.EndWork(c.words[1][0], LearnerWorkDone::Result::kRemoteFailed);
    else if (verb == "deliver")
      Deliver(c);
    else if (verb == "drop")
      Drop(c);
    else if (verb == "repeat")
      Repeat(c);
    else if (verb == "settle")
      h_.Settle();
    else if (verb == "wait")
      h_.Advance(absl::Milliseconds(Number(c.words[1])));
    else if (verb == "crash")
      h_.Crash(c.words[1][0], c.options.contains("kept") ? Number(c.options.at("kept")) : 0);
    else if (verb == "start")
      Start(c);
    else if (verb == "save")
      saved_[c.words[1][0]] = h_.node(c.words[1][0]).disk;
    else if (verb == "put-back")
      h_.node(c.words[1][0]).disk = saved_.at(c.words[1][0]);
    else if (verb == "lease-lost")
      h_.LoseLease(c.words[1][0]);
    else if (verb == "connect")
      h_.Connect(c.words[1][0]);
    else if (verb == "sync")
      h_.Sync(c.words[1][0]);
    else if (verb == "dead")
      h_.DeclareDead(c.words[1][0]);
    else if (verb == "alive")
      h_.DeclareAlive(c.words[1][0]);
    else if (verb == "freeze" || verb == "thaw")
      FreezeOrThaw(verb);
    else if (verb == "guard")
      h_.Guard();
    else if (verb == "propose")
      Propose(c);
    else if (verb == "prepare")
      Prepare(c);
    else if (verb == "group-check")
      GroupCheck(c);
    else if (verb == "state")
      return State();
    else if (verb == "meta")
      return Meta();
    else if (verb == "gate")
      return Gate(c);
    else if (verb == "members-know")
      return MembersKnow(c);
    else if (verb == "counters")
      return CountersOf(c);
    else
      ADD_FAILURE() << "unknown command: " << c.line;
    return h_.Take();
  }
  void Check() {
    for (auto& [name, n] : h_.nodes) {
      if (n.core != nullptr) n.core->Check();
    }
  }

 private:
  void FreezeOrThaw(std::string_view verb) {
    h_.meta_freezed = verb == "freeze";
    if (!h_.meta_freezed) h_.TellThaw();
  }
  void Set(const Command& c) {
    if (c.options.contains("min"))
      h_.options.replica_count_min = static_cast<int32_t>(Number(c.options.at("min")));
    if (c.options.contains("window"))
      h_.options.mutations_in_flight_max = Number(c.options.at("window"));
    if (c.options.contains("span")) h_.options.prepare_list_span_max = Number(c.options.at("span"));
    if (c.options.contains("log-files")) h_.ships_log_files = c.options.at("log-files") == "yes";
    if (c.options.contains("ship"))
      h_.ship_limit = static_cast<size_t>(Number(c.options.at("ship")));
    if (c.options.contains("hold-applies")) h_.hold_applies = c.options.at("hold-applies") == "yes";
  }
  // A group that has committed 1..committed under `ballot`, quiet, known to meta.
  void Group(const Command& c) {
    const auto get = [&c](const std::string& key, const std::string& otherwise) {
      return c.options.contains(key) ? c.options.at(key) : otherwise;
    };
    const int64_t ballot = Number(get("ballot", "1"));
    const int64_t committed = Number(get("committed", "0"));
    h_.meta.ballot = Ballot(ballot - 1);
    h_.meta.max_replica_count = static_cast<int32_t>(Number(get("factor", "3")));
    h_.options.app.max_replica_count = h_.meta.max_replica_count;
    const std::string primary = get("primary", "A");
    std::string members = primary;
    for (char name : get("secondaries", "")) {
      if (name == ',') continue;
      members += name;
      h_.meta.secondaries.push_back(NodeAt(name));
    }
    for (char name : members) {
      Harness::Node& n = h_.node(name);
      n.disk.exists = true;
      n.disk.ballot = Ballot(ballot - 1);
      for (int64_t d = 1; d <= committed; ++d) {
        n.disk.log.push_back(MakeMutation(ballot - 1, d, d - 1, "old" + std::to_string(d)));
        n.disk.engine.push_back("old" + std::to_string(d));
        h_.committed[Decree(d)] = "old" + std::to_string(d);
      }
      n.disk.durable = n.disk.engine.size();
    }
    for (char name : members + get("others", "")) {
      h_.Start(name, LastStop::kClean);
      h_.Connect(name);
      h_.Sync(name);
    }
    h_.meta.primary = Endpoint{};
    if (h_.meta.secondaries.empty())
      h_.meta.last_drops = {NodeAt(primary[0])};
    else
      h_.meta.secondaries.push_back(NodeAt(primary[0]));
    for (char name : members) h_.Sync(name);
    h_.Propose(
        h_.meta.secondaries.empty() ? ConfigType::kAssignPrimary : ConfigType::kUpgradeToPrimary,
        NodeAt(primary[0]), NodeAt(primary[0]));
    h_.Settle();
    // A group check of its own time: all of them are proven.
    h_.Advance(h_.options.group_check_interval);
    h_.Settle();
    h_.Take();
    EXPECT_EQ(h_.meta.ballot, Ballot(ballot));
    EXPECT_EQ(h_.nodes[primary[0]].core->role(), PartitionStatus::kPrimary);
  }
  void Log(const Command& c) {
    for (char name : c.words[1]) {
      if (name == ',') continue;
      size_t count =
          c.options.contains("only") ? Number(c.options.at("only")) : h_.node(name).unsynced.size();
      for (; count > 0; --count) h_.LogOne(name);
    }
  }
  bool Matches(const Harness::Message& m, const Command& c) {
    const auto is = [](const std::string& wanted, Endpoint node) {
      return wanted == "meta" ? !node.IsValid() : wanted.find(NameOf(node)) != std::string::npos;
    };
    if (c.words.size() > 1 && c.words[1] != "all" && m.kind != c.words[1]) return false;
    if (c.options.contains("from") && !is(c.options.at("from"), m.from)) return false;
    if (c.options.contains("to") && !is(c.options.at("to"), m.to)) return false;
    return true;
  }
  std::vector<int64_t> Matching(const Command& c) {
    std::vector<int64_t> ids;
    for (const Harness::Message& m : h_.network) {
      if (Matches(m, c)) ids.push_back(m.id);
    }
    if (c.options.contains("order") && c.options.at("order") == "reverse")
      std::reverse(ids.begin(), ids.end());
    if (c.options.contains("only"))
      ids.resize(std::min<size_t>(ids.size(), Number(c.options.at("only"))));
    EXPECT_FALSE(ids.empty()) << "no such message: " << c.line;
    return ids;
  }
  size_t IndexOf(int64_t id) {
    for (size_t i = 0; i < h_.network.size(); ++i) {
      if (h_.network[i].id == id) return i;
    }
    ADD_FAILURE();
    return 0;
  }
  void Deliver(const Command& c) {
    for (int64_t id : Matching(c)) h_.Deliver(IndexOf(id));
  }
  void Drop(const Command& c) {
    for (int64_t id : Matching(c))
      h_.network.erase(h_.network.begin() + static_cast<int64_t>(IndexOf(id)));
  }
  void Repeat(const Command& c) {
    for (int64_t id : Matching(c)) h_.network.push_back(h_.network[IndexOf(id)]);
  }
  void Start(const Command& c) {
    const char name = c.words[1][0];
    const bool clean = c.words.size() > 2 && c.words[2] == "clean";
    h_.Start(name, clean ? LastStop::kClean : LastStop::kUnclean);
    h_.Connect(name);
  }
  void Propose(const Command& c) {
    static const std::map<std::string, ConfigType> kTypes = {
        {"assign", ConfigType::kAssignPrimary},
        {"upgrade", ConfigType::kUpgradeToPrimary},
        {"add", ConfigType::kAddSecondary},
        {"downgrade", ConfigType::kDowngradeToSecondary},
        {"inactive", ConfigType::kDowngradeToInactive},
        {"remove", ConfigType::kRemove},
        {"add-for-balance", ConfigType::kAddSecondaryForLoadBalance}};
    // secondaries=: of a configuration that is not the one meta has
    const std::vector<Endpoint> secondaries = h_.meta.secondaries;
    if (c.options.contains("secondaries")) {
      h_.meta.secondaries.clear();
      for (char name : c.options.at("secondaries")) h_.meta.secondaries.push_back(NodeAt(name));
    }
    h_.Propose(kTypes.at(c.words[1]), NodeAt(c.words[2][0]), NodeAt(c.options.at("to")[0]));
    h_.meta.secondaries = secondaries;
    h_.Deliver(h_.network.size() - 1);
  }
  // A prepare from outside the harness: prepare B from=A ballot=7 decree=12 committed=11
  void Prepare(const Command& c) {
    const auto get = [&c](const std::string& key) { return Number(c.options.at(key)); };
    PrepareReceived event;
    event.token = next_token_++;
    event.request.pid = kTestPid;
    event.request.mutation = MakeMutation(get("ballot"), get("decree"), get("committed"), "odd");
    event.request.config = {kTestPid, Ballot(get("ballot")), NodeAt(c.options.at("from")[0]),
                            PartitionStatus::kSecondary};
    if (c.options.contains("as")) {
      event.request.config.status = c.options.at("as") == "learner"
                                        ? PartitionStatus::kPotentialSecondary
                                        : PartitionStatus::kPrimary;
    }
    if (c.options.contains("config-ballot"))
      event.request.config.ballot = Ballot(get("config-ballot"));
    if (c.options.contains("pid")) event.request.pid.index = static_cast<int32_t>(get("pid"));
    if (c.options.contains("of")) event.request.config.committed_ballot = Ballot(get("of"));
    h_.Step(c.words[1][0], event);
  }
  void GroupCheck(const Command& c) {
    GroupCheckReceived event;
    event.token = next_token_++;
    event.request.config = {kTestPid, Ballot(Number(c.options.at("ballot"))),
                            NodeAt(c.options.at("from")[0]), PartitionStatus::kSecondary};
    event.request.last_committed_decree = Decree(Number(c.options.at("committed")));
    if (c.options.contains("of"))
      event.request.config.committed_ballot = Ballot(Number(c.options.at("of")));
    h_.Step(c.words[1][0], event);
  }
  std::string MembersKnow(const Command& c) {
    const auto known = h_.node(c.words[1][0]).core->KnownToAllMembers();
    return known ? "  committed through " + std::to_string(known->value()) + "\n" : "  nothing\n";
  }
  std::string State() {
    std::string text;
    for (auto& [name, n] : h_.nodes) text += h_.Describe(name);
    return text;
  }
  std::string Meta() {
    std::ostringstream out;
    out << "ballot " << h_.meta.ballot << " primary " << NameOf(h_.meta.primary) << " secondaries "
        << NamesOf(h_.meta.secondaries) << " last drops " << NamesOf(h_.meta.last_drops) << "\n";
    return out.str();
  }
  std::string Gate(const Command& c) {
    const ReplicaCore& core = *h_.node(c.words[1][0]).core;
    std::ostringstream out;
    out << "read " << core.ReadGate(ReadKind::kPrimaryOnly) << ", backup read "
        << core.ReadGate(ReadKind::kBackup) << ", write " << core.WriteGate() << "\n";
    return out.str();
  }
  std::string CountersOf(const Command& c) {
    const ReplicaCore::Counters& n = h_.node(c.words[1][0]).core->counters();
    std::ostringstream out;
    out << "odd " << n.odd_messages << ", duplicate prepares " << n.duplicate_prepares
        << ", lost entries " << n.lost_entries << ", prepared again " << n.reprepared
        << ", holes filled " << n.holes_filled << "\n";
    return out.str();
  }

  std::map<char, TestDisk> saved_;  // by `save`
  Harness h_;
  ReplyToken next_token_ = 1'000'000;
};

std::vector<Command> Parse(const std::string& path, std::vector<std::string>* head) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::vector<Command> commands;
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with("  ")) {
      if (!commands.empty()) commands.back().expected += line.substr(2) + "\n";
      continue;
    }
    if (line.empty() || line[0] == '#') {
      if (commands.empty())
        head->push_back(line);
      else
        commands.push_back({.line = line});
      continue;
    }
    Command command{.line = line};
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      if (equals == std::string::npos)
        command.words.push_back(word);
      else
        command.options[word.substr(0, equals)] = word.substr(equals + 1);
    }
    commands.push_back(command);
  }
  return commands;
}

class ScenarioTest : public testing::TestWithParam<std::string> {};

TEST_P(ScenarioTest, HappensAsTold) {
  const std::string path = ScenariosDirectory() + "/" + GetParam() + ".txt";
  std::vector<std::string> head;
  const std::vector<Command> commands = Parse(path, &head);
  const bool update = std::getenv("ARION_UPDATE_SCENARIOS") != nullptr;
  Scenario scenario;
  std::ostringstream rewritten;
  for (const std::string& line : head) rewritten << line << "\n";
  for (const Command& command : commands) {
    rewritten << command.line << "\n";
    if (command.words.empty()) continue;
    const std::string happened = scenario.Run(command);
    scenario.Check();
    std::istringstream lines(happened);
    for (std::string line; std::getline(lines, line);) rewritten << "  " << line << "\n";
    if (!update) {
      EXPECT_EQ(happened, command.expected) << GetParam() << ": " << command.line;
    }
  }
  EXPECT_GE(commands.size(), 2u);
  if (update) std::ofstream(path) << rewritten.str();
}

std::vector<std::string> AllScenarios() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(ScenariosDirectory())) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, ScenarioTest, testing::ValuesIn(AllScenarios()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace arion
