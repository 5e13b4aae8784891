// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/commands/duplication_watch.h"

#include <absl/time/clock.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/status.h"
#include "messages/tool_messages.h"
#include "rpc/thrift_codec.h"
#include "tools/shell/progress.h"
#include "tools/shell/words.h"

namespace arion::shell {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(300);

absl::Status IfInterrupted() {
  if (!Interrupts::IsInterrupted()) return absl::OkStatus();
  return absl::AbortedError(
      "stopped by Ctrl-C; what was set up goes on. Given again, it goes on where it was");
}

// Whether an error of the meta server may pass: it fails over, or restarts.
bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// Something was to get on, and does not.
class Patience {
 public:
  void GotOn() { since_ = absl::Now(); }
  bool IsOver() const { return absl::Now() - since_ > DuplicationWatch::kPatience; }

 private:
  absl::Time since_ = absl::Now();
};

}  // namespace

const DuplicationEntry* KnownDuplications::To(const std::string& cluster) const {
  const auto found =
      std::find_if(answer.entry_list.begin(), answer.entry_list.end(),
                   [&](const DuplicationEntry& entry) { return entry.remote == cluster; });
  return found == answer.entry_list.end() ? nullptr : &*found;
}

absl::StatusOr<std::vector<Endpoint>> KnownDuplications::MetaServersOf(
    const std::string& cluster) const {
  if (!answer.clusters)
    return absl::FailedPreconditionError(
        "this meta server, of an older version, does not tell where other clusters are: name the "
        "meta servers themselves, HOST:PORT,...");
  const auto found = answer.clusters->find(cluster);
  if (found == answer.clusters->end()) {
    std::string known;
    for (const auto& [name, metas] : *answer.clusters)
      absl::StrAppend(&known, known.empty() ? "" : ", ", Escape(name));
    return absl::FailedPreconditionError(absl::StrCat(
        "cluster ", Escape(cluster),
        " is not known here: name its meta servers in [pegasus.clusters] of every server of this "
        "cluster, and restart them; known are: ",
        known.empty() ? "none" : known));
  }
  if (found->second.empty())
    return absl::UnavailableError(
        absl::StrCat("the names of the meta servers of cluster ", Escape(cluster),
                     " in [pegasus.clusters] can't be looked up: check them"));
  return ParseServers(found->second);
}

absl::StatusOr<KnownDuplications> DuplicationsOf(Cluster& cluster, const std::string& table) {
  ASSIGN_OR_RETURN(AdminClient * admin, cluster.Admin());
  KnownDuplications known;
  ASSIGN_OR_RETURN(known.answer, admin->QueryDuplication({table}));
  return known;
}

absl::StatusOr<int32_t> PartitionsOf(Cluster& cluster, const std::string& table,
                                     const std::string& where) {
  const absl::StatusOr<TableState> found = cluster.FindTable(table);
  if (absl::IsNotFound(found.status()))
    return absl::NotFoundError(absl::StrCat("there is no table ", Escape(table), where,
                                            where.empty() ? "; ls lists them" : ""));
  if (!found.ok() && !where.empty())
    return absl::UnavailableError(absl::StrCat(
        "no meta server", where, " answers (", found.status().message(),
        "): check that it runs, that it can be reached from this machine, and its address"));
  RETURN_IF_ERROR(found.status());
  if (found->AwaitedPartitions() > 0)
    return absl::FailedPreconditionError(
        absl::StrCat("table ", Escape(table), where, " is being split; say it again after that"));
  return found->info.partition_count;
}

std::string TroubleText(const DuplicationEntry& entry) {
  if (entry.trouble && !entry.trouble->empty()) return Escape(*entry.trouble);
  if (!entry.troubles || entry.troubles->empty()) return "";
  const auto& [index, text] = *entry.troubles->begin();
  return absl::StrCat("partition ", index, ": ", Escape(text));
}

std::string WhyNotSending(const std::string& table, const DuplicationEntry& entry) {
  const auto status = static_cast<DuplicationStatus>(entry.status);
  if (status == DuplicationStatus::kLog) return "";
  const std::string name(DuplicationStatusName(status));
  if (status == DuplicationStatus::kPause)
    return absl::StrCat("duplication ", entry.dupid, " is ", name, ": start_dup ", Escape(table),
                        " ", entry.dupid, " lets it go on");
  return absl::StrCat("duplication ", entry.dupid, " is ", name,
                      ": the other cluster has not begun with the table yet");
}

absl::StatusOr<DuplicationEntry> DuplicationWatch::Entry() {
  ASSIGN_OR_RETURN(const KnownDuplications known, DuplicationsOf(cluster_, table_));
  const DuplicationEntry* entry = known.To(remote_);
  if (entry == nullptr)
    return absl::FailedPreconditionError(absl::StrCat("the duplication of table ", Escape(table_),
                                                      " to cluster ", Escape(remote_),
                                                      " was removed meanwhile"));
  return *entry;
}

absl::Status DuplicationWatch::AwaitSending(
    const std::function<void(const std::string& text)>& show) {
  Patience patience;
  std::string shown;
  DuplicationStatus last = DuplicationStatus::kInit;
  while (true) {
    RETURN_IF_ERROR(IfInterrupted());
    const absl::StatusOr<DuplicationEntry> entry = Entry();
    if (!entry.ok() && !MayPass(entry.status())) return entry.status();
    std::string why = entry.ok() ? "" : std::string(entry.status().message());
    if (entry.ok()) {
      const auto status = static_cast<DuplicationStatus>(entry->status);
      const std::string trouble = TroubleText(*entry);
      const auto& states = entry->partition_states;
      const bool has_begun =
          states && std::all_of(states->begin(), states->end(), [](const auto& state) {
            return state.second.confirmed_decree >= 0;
          });
      if (status == DuplicationStatus::kLog && has_begun) return absl::OkStatus();
      if (status == DuplicationStatus::kPause)
        return absl::FailedPreconditionError(WhyNotSending(table_, *entry));
      std::string text(DuplicationStatusName(status));
      text += status == DuplicationStatus::kPrepare ? ": every partition makes a checkpoint"
              : status == DuplicationStatus::kApp   ? ": the other cluster fetches them"
                                                    : ": partitions begin to send";
      if (!trouble.empty()) absl::StrAppend(&text, "; ", trouble);
      if (std::exchange(shown, text) != text) show(text);
      // A large table's checkpoints take as long as they take. Another trouble is no step forward.
      if (std::exchange(last, status) != status || trouble.empty()) patience.GotOn();
      why = trouble;
    }
    if (patience.IsOver())
      return absl::UnavailableError(
          absl::StrCat("duplication of table ", Escape(table_), " to cluster ", Escape(remote_),
                       " does not get on: ", why,
                       ". It is tried again all the time; mend that, and give this command again"));
    Interrupts::Sleep(kPoll);
  }
}

absl::Status DuplicationWatch::AskCommitted(const std::set<int32_t>& partitions,
                                            std::map<int32_t, int64_t>* committed) {
  ASSIGN_OR_RETURN(AdminClient * admin, cluster_.Admin());
  ASSIGN_OR_RETURN(const QueryConfigResponse table, admin->QueryTable(table_));
  for (const PartitionConfiguration& partition : table.partitions) {
    const int32_t index = partition.pid.index;
    if (!partitions.contains(index) || committed->contains(index)) continue;
    RETURN_IF_ERROR(IfInterrupted());
    if (!partition.primary.IsValid())
      return absl::UnavailableError(absl::StrCat("partition ", index, " has no primary"));
    const QueryDecreeRequest request{.pid = partition.pid, .node = partition.primary};
    ASSIGN_OR_RETURN(const std::string body,
                     admin->AskServer(partition.primary, kRpcQueryDecree, EncodeWrapped(request)));
    ASSIGN_OR_RETURN(const auto answer, DecodeWrapped<QueryDecreeResponse>(body));
    if (answer.err != ErrorCode::kOk)
      return absl::UnavailableError(absl::StrCat(partition.primary.ToString(), ": partition ",
                                                 index, ": ", Text(ErrorCodeName(answer.err))));
    (*committed)[index] = answer.last_decree.value();
  }
  return absl::OkStatus();
}

absl::Status DuplicationWatch::AwaitCaughtUp(const std::set<int32_t>& partitions,
                                             const std::function<void(int64_t done)>& show) {
  Patience patience;
  // Where each partition is to come.
  std::map<int32_t, int64_t> wanted;
  while (wanted.size() < partitions.size()) {
    RETURN_IF_ERROR(IfInterrupted());
    absl::Status asked = AskCommitted(partitions, &wanted);
    if (!asked.ok() && (!MayPass(asked) || patience.IsOver())) return asked;
    if (asked.ok() && wanted.size() < partitions.size())
      return absl::FailedPreconditionError("the table has fewer partitions than it had");
    if (!asked.ok()) Interrupts::Sleep(kPoll);
  }
  std::map<int32_t, int64_t> confirmed;
  while (true) {
    RETURN_IF_ERROR(IfInterrupted());
    const absl::StatusOr<DuplicationEntry> entry = Entry();
    if (!entry.ok() && (!MayPass(entry.status()) || patience.IsOver())) return entry.status();
    if (entry.ok()) {
      if (const std::string why = WhyNotSending(table_, *entry); !why.empty())
        return absl::FailedPreconditionError(why);
      int64_t done = 0;
      const std::map<int32_t, DuplicationPartitionState> none;
      const auto& states = entry->partition_states ? *entry->partition_states : none;
      for (const auto& [index, decree] : wanted) {
        const auto state = states.find(index);
        if (state == states.end()) continue;
        const int64_t now = state->second.confirmed_decree;
        if (std::exchange(confirmed[index], now) < now) patience.GotOn();
        done += now >= decree ? 1 : 0;
      }
      show(done);
      if (done == static_cast<int64_t>(wanted.size())) return absl::OkStatus();
      if (patience.IsOver()) {
        const std::string trouble = TroubleText(*entry);
        return absl::UnavailableError(
            absl::StrCat("the other cluster does not get what is written here",
                         trouble.empty() ? "; query_dup -d shows each partition" : ": ", trouble));
      }
    }
    Interrupts::Sleep(kPoll);
  }
}

}  // namespace arion::shell
