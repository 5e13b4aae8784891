// arion_log on a hostile replica or shared log: looking changes nothing; the verdict is what the
// server's recovery finds on the real files; what repair did is judged whole, is done once, loses no
// byte, and ends the same when it was killed in between.
//
// Input: byte 0 who wrote the files (0-2), shared (bit 2), a damaged .arion-log (bit 3), how many
// files (bits 4-5), what is done (bits 6-7); byte 1 after how many changes a repair is killed; byte 2
// what the engine holds;
// bytes 3-6 where one file ends and the next begins; the rest is the files, one behind the other.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/log.h"
#include "tests/fuzz/allocation_limit.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/log_bytes.h"
#include "tests/fuzz/memory_files.h"
#include "tools/log/dry_run_files.h"
#include "tools/log/dump.h"
#include "tools/log/log_places.h"
#include "tools/log/log_stat.h"
#include "tools/log/repair.h"
#include "tools/log/report.h"
#include "tools/log/verdict.h"
#include "wal/log_identity.h"
#include "wal/log_reader.h"
#include "wal/log_recovery.h"

namespace arion {
namespace {

using logtool::Judgement;
using logtool::LogPlace;

constexpr size_t kInputHeaderBytes = 7;
// What text, tables and names may take besides.
constexpr size_t kAllocationSlack = 64 << 10;
const char kReplica[] = "/d/2.1.pegasus";
const char kPlog[] = "/d/2.1.pegasus/plog";
const char kSlog[] = "/d/slog";
const char kIdentity[] = "/d/2.1.pegasus/.arion-log";

enum class Act : uint8_t { kDump, kVerify, kRepair, kRepairKilled };

struct Input {
  Act act = Act::kDump;
  uint8_t origin = 0;
  bool is_shared = false;
  bool has_bad_identity = false;
  int64_t kill_after = 0;
  Decree applied;
  std::vector<std::string> files;
};

Input Unpack(std::string_view bytes) {
  Input input;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  input.act = static_cast<Act>(byte(0) >> 6);
  input.origin = static_cast<uint8_t>((byte(0) & 3) % 3);
  input.is_shared = (byte(0) & 4) != 0;
  input.has_bad_identity = (byte(0) & 8) != 0;
  const size_t count = 1 + (byte(0) >> 4 & 3) % 3;
  input.kill_after = byte(1);
  input.applied = Decree(byte(2));
  std::array<size_t, 2> cuts = {LoadLittle<uint16_t>(bytes.data() + 3),
                                LoadLittle<uint16_t>(bytes.data() + 5)};
  bytes.remove_prefix(kInputHeaderBytes);
  for (size_t i = 0; i + 1 < count; ++i) {
    const size_t cut = std::min(cuts[i], bytes.size());
    input.files.emplace_back(bytes.substr(0, cut));
    bytes.remove_prefix(cut);
  }
  input.files.emplace_back(bytes);
  return input;
}

std::string Pack(const Input& input) {
  std::string bytes(kInputHeaderBytes, '\0');
  bytes[0] = static_cast<char>(input.origin | (input.is_shared ? 4 : 0) |
                               (input.has_bad_identity ? 8 : 0) | (input.files.size() - 1) << 4 |
                               static_cast<int>(input.act) << 6);
  bytes[1] = static_cast<char>(input.kill_after);
  bytes[2] = static_cast<char>(input.applied.value());
  for (size_t i = 0; i + 1 < input.files.size(); ++i)
    StoreLittle(static_cast<uint16_t>(input.files[i].size()), bytes.data() + 3 + 2 * i);
  for (const std::string& file : input.files) bytes += file;
  return bytes;
}

// What its header says, if that can be a start; else where the file before ends.
int64_t StartOf(std::string_view file, int64_t fallback) {
  constexpr size_t kStartAt = kBlockHeaderBytes + 8;
  if (file.size() < kStartAt + 8) return fallback;
  const auto start = LoadLittle<int64_t>(file.data() + kStartAt);
  return start >= 0 ? start : fallback;
}

MemoryFiles MakeFiles(const Input& input) {
  MemoryFiles files;
  files.Put("/d/.arion-lock", "");
  const std::string folder = input.is_shared ? kSlog : kPlog;
  (void)files.CreateDirectories(folder);
  LogIdentity identity;
  int64_t start = 0;
  for (size_t i = 0; i < input.files.size(); ++i) {
    start = StartOf(input.files[i], start);
    const LogFileName name{.index = static_cast<int64_t>(i) + 1, .start_offset = start};
    files.Put(JoinPath(folder, name.ToString()), input.files[i]);
    start = std::min(start, INT64_MAX / 2) + static_cast<int64_t>(input.files[i].size());
    if (input.origin != 0)
      identity.Add(*files.Stat(JoinPath(folder, name.ToString())),
                   input.origin == 1 ? Durability::kFsync : Durability::kOs);
  }
  if (input.is_shared) return files;
  if (input.has_bad_identity)
    files.Put(kIdentity, "arion-log 1\ngarbage");
  else if (input.origin != 0)
    files.Put(kIdentity, identity.Format());
  files.Put(std::string(kReplica) + "/.init-info",
            "{\"init_ballot\":3,\"init_durable_decree\":0,\"init_offset_in_shared_log\":0,"
            "\"init_offset_in_private_log\":0}");
  return files;
}

bool IsOpened(Judgement judgement) {
  return judgement == Judgement::kOk || judgement == Judgement::kTornTail;
}

void CountJudgement(const logtool::Verdict& verdict) {
  static const std::array<std::string_view, 5> names = {
      "judged ok", "judged torn tail", "judged damaged", "judged refused", "judged unreadable"};
  FuzzCount(names[static_cast<size_t>(verdict.judgement)]);
}

void DumpAndStat(MemoryFiles& files, const LogPlace& place) {
  size_t printed = 0;
  const logtool::Print print = [&](std::string_view text) { printed += text.size(); };
  FuzzRequire(logtool::Dump(files, place, {.form = logtool::OutputForm::kJson}, print).ok());
  FuzzRequire(logtool::Dump(files, place, {.keys = logtool::KeyForm::kShown}, print).ok());
  const auto stat = logtool::StatLog(files, place);
  FuzzRequire(stat.ok());
  printed += logtool::StatText(*stat).size();
  logtool::PrintStatJson("log", place.Label(), *stat, print);
  FuzzRequire(printed > 0);
  FuzzCount(stat->damaged_files > 0 ? "dumped with damage" : "dumped");
}

// The server's recovery, on files it may change.
bool Opens(const MemoryFiles& files, Decree applied) {
  MemoryFiles copy = files.Copy();
  PrivateLogOptions options;
  options.directory = kPlog;
  options.identity_path = kIdentity;
  options.pid = kFuzzPid;
  options.applied = applied;
  ReplaySummary summary;
  return RecoverLog(
             copy, options, [](MutationPtr) { return absl::OkStatus(); }, &summary)
      .ok();
}

// At `from` begins what the log that this file was before left in it.
bool IsOlderLogFrom(MemoryFiles& files, const std::string& path, size_t from) {
  const auto name = ParseLogFileName(BaseName(path));
  const auto bytes = files.OpenForRead(path);
  if (!name.ok() || !*name || !bytes.ok()) return false;
  const auto end =
      EndOfTornBytes(**bytes, from, files.Content(path).size(), (*name)->start_offset, kFuzzPid);
  return end.ok() && *end == from;
}

// Every byte of a file lies in it, in a part of it that was set aside, was a zero at the end, or, in
// a file of ours, belongs to the log that this file was before.
void RequireKept(MemoryFiles& before, const MemoryFiles& after, bool is_ours) {
  for (const auto& [path, file] : before.all()) {
    const auto now = after.all().find(path);
    if (now == after.all().end()) {
      FuzzRequire(after.Content(path + ".removed") == file->bytes);
      continue;
    }
    std::string kept = now->second->bytes;
    if (kept.size() < file->bytes.size()) kept += after.Content(path + ".tail");
    FuzzRequire(kept.size() <= file->bytes.size());
    FuzzRequire(file->bytes.compare(0, kept.size(), kept) == 0);
    FuzzRequire(file->bytes.find_first_not_of('\0', kept.size()) == std::string::npos ||
                (is_ours && IsOlderLogFrom(before, path, kept.size())));
  }
}

void CheckVerdict(MemoryFiles& files, const LogPlace& place, const Input& input) {
  const logtool::Verdict verdict = logtool::Judge(files, place, {.applied = input.applied});
  CountJudgement(verdict);
  FuzzRequire(!logtool::VerdictText(place, verdict).empty());
  logtool::PrintVerdictJson(place, verdict, [](std::string_view) {});
  if (!input.is_shared) FuzzRequire(IsOpened(verdict.judgement) == Opens(files, input.applied));
}

// Carries the plan out, once or killed in between and planned anew. False where what the rest needs
// is refused, a file name that no log of ours can have for one.
bool CarryOutAll(MemoryFiles& files, const LogPlace& place, const Input& input,
                 const logtool::RepairPlan& plan) {
  if (input.act == Act::kRepairKilled) {
    files.FailAfter(input.kill_after % 8);
    if (!logtool::CarryOut(files, plan).ok()) {
      FuzzCount("repair killed in between");
      files.FailAfter(INT64_MAX);
      const auto rest = logtool::PlanRepair(files, place, {.applied = input.applied});
      FuzzRequire(rest.ok() || absl::IsFailedPrecondition(rest.status()));
      if (rest.ok()) FuzzRequire(logtool::CarryOut(files, *rest).ok());
      return rest.ok();
    }
    files.FailAfter(INT64_MAX);
    return true;
  }
  FuzzRequire(logtool::CarryOut(files, plan).ok());
  return true;
}

void CheckRepair(MemoryFiles& files, const LogPlace& place, const Input& input) {
  const auto plan = logtool::PlanRepair(files, place, {.applied = input.applied});
  FuzzRequire(files.changes() == 0);
  if (!plan.ok()) {
    FuzzRequire(input.is_shared ? absl::IsInvalidArgument(plan.status())
                                : absl::IsFailedPrecondition(plan.status()));
    return FuzzCount("repair refused");
  }
  FuzzRequire(IsOpened(plan->after.judgement));
  FuzzRequire(!logtool::RepairText(place, *plan, logtool::RepairState::kPlanned).empty());
  logtool::PrintRepairJson(place, *plan, logtool::RepairState::kPlanned, [](std::string_view) {});
  if (plan->steps.empty()) return FuzzCount("repair: nothing to do");
  MemoryFiles before = files.Copy();
  const bool is_done = CarryOutAll(files, place, input, *plan);
  RequireKept(before, files, input.origin != 0);
  if (!is_done) return FuzzCount("repair killed, then refused");
  FuzzRequire(Opens(files, input.applied));
  const auto again = logtool::PlanRepair(files, place, {.applied = input.applied});
  FuzzRequire(again.ok() && again->steps.empty());
  FuzzCount("repaired");
}

void Check(const Input& input) {
  MemoryFiles files = MakeFiles(input);
  const auto found = logtool::FindLogs(files, "/d");
  FuzzRequire(found.ok() && found->places.size() == 1);
  const LogPlace& place = found->places.front();
  FuzzRequire((place.kind == logtool::LogKind::kShared) == input.is_shared);
  switch (input.act) {
    case Act::kDump:
      DumpAndStat(files, place);
      break;
    case Act::kVerify:
      CheckVerdict(files, place, input);
      break;
    case Act::kRepair:
    case Act::kRepairKilled:
      return CheckRepair(files, place, input);
  }
  FuzzRequire(files.changes() == 0);
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const FuzzLogShape first{.blocks = 3, .mutations_per_block = 2};
  const std::string one = FuzzLog(first);
  const FuzzLogShape second{.start_offset = static_cast<int64_t>(one.size()),
                            .first_decree = 7,
                            .blocks = 2,
                            .ballot = 4};
  const std::string two = FuzzLog(second);
  const std::string three =
      FuzzLog({.start_offset = second.start_offset + static_cast<int64_t>(two.size()),
               .first_decree = 9,
               .blocks = 1,
               .ballot = 4});
  const std::string shared = FuzzLog({.pids = {{1, 0}, {2, 1}, {7, 5}}});
  std::vector<std::string> seeds;
  for (const Act act : {Act::kDump, Act::kVerify, Act::kRepair, Act::kRepairKilled}) {
    for (const uint8_t origin : {0, 1, 2}) {
      const std::vector<std::vector<std::string>> folders = {
          {one, two, three},
          {one},
          {one + std::string(40, '\0'), two + std::string(99, '\0')},
          {one, two.substr(0, two.size() - 9)},
          {one, ""}};
      for (const auto& folder : folders)
        seeds.push_back(Pack({.act = act, .origin = origin, .kill_after = 3, .files = folder}));
      seeds.push_back(
          Pack({.act = act, .origin = origin, .applied = Decree(6), .files = {one, two, three}}));
    }
    seeds.push_back(Pack({.act = act, .origin = 1, .has_bad_identity = true, .files = {one, two}}));
    seeds.push_back(Pack({.act = act, .is_shared = true, .files = {shared}}));
  }
  return seeds;
}

void FuzzMend(std::string* input, FuzzRandom& random) {
  if (input->size() < kInputHeaderBytes) return;
  Input parts = Unpack(*input);
  std::string& file = parts.files[random.Below(parts.files.size())];
  const int64_t start = StartOf(file, 0);
  if (start < INT64_MAX / 2) MutateLog(start, &file, random);
  *input = Pack(parts);
}

}  // namespace arion

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace arion;
  FLAGS_minloglevel = google::GLOG_FATAL;
  if (size < kInputHeaderBytes) return 0;
  const AllocationLimit limit(size + kAllocationSlack);
  Check(Unpack({reinterpret_cast<const char*>(data), size}));
  return 0;
}
