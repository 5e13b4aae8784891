// SPDX-License-Identifier: Apache-2.0
#include "membership/cluster_question.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "messages/admin_messages.h"
#include "rpc/thrift_codec.h"
#include "rpc/transport.h"

namespace arion {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(5);
constexpr int32_t kBackupsAsked = 1;  // of each policy: the newest

// One chain of questions: name, then tables, servers, partitions, backups. It keeps itself alive by
// the callbacks of its calls. Whatever fails ends it.
class Question : public std::enable_shared_from_this<Question> {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<ClusterListing>)>;
  Question(Transport& transport, StrandPtr strand, Endpoint meta_server, QuestionDepth depth,
           Done done)
      : transport_(transport),
        strand_(std::move(strand)),
        meta_server_(meta_server),
        depth_(depth),
        done_(std::move(done)) {}

  void AskForName() {
    Ask<ClusterInfoResponse>(
        kRpcClusterInfo, ClusterInfoRequest{}, [](Question& self, ClusterInfoResponse& info) {
          // Only Arion meta servers send this field.
          self.listing_.is_arion = info.arion_caps.has_value();
          if (self.listing_.is_arion) return self.AskForServers();
          // Keys and values come as two lists, whose lengths a peer chooses.
          for (size_t i = 0; i < std::min(info.keys.size(), info.values.size()); ++i)
            if (info.keys[i] == "cluster_name") self.listing_.name = info.values[i];
          self.AskForTables();
        });
  }

 private:
  // `take` gets an answer without an error.
  template <class Response, class Request, class Take>
  void Ask(const char* name, const Request& request, Take take) {
    transport_.Call(meta_server_,
                    {.name = name, .body = EncodeWrapped(request), .timeout = kTimeout}, strand_,
                    [self = shared_from_this(), name, take](const RpcResult& result) {
                      // Three errors in a row: of the call, of the encoding, of the meta server
                      // itself.
                      if (result.error != ErrorCode::kOk) return self->Fail(name, result.error);
                      auto answer = DecodeWrapped<Response>(result.body);
                      if (!answer.ok()) return self->Fail(name, ErrorCode::kInvalidData);
                      if (answer->err != ErrorCode::kOk) return self->Fail(name, answer->err);
                      take(*self, *answer);
                    });
  }
  void Fail(const char* name, ErrorCode error) {
    done_(absl::FailedPreconditionError(absl::StrCat("meta server ", meta_server_.ToString(),
                                                     " answers ", name, " by ",
                                                     Text(ErrorCodeName(error)))));
  }

  void AskForTables() {
    Ask<ListAppsResponse>(kRpcListApps, ListAppsRequest{},
                          [](Question& self, ListAppsResponse& apps) {
                            self.listing_.tables = std::move(apps.infos);
                            self.AskForServers();
                          });
  }
  void AskForServers() {
    Ask<ListNodesResponse>(kRpcListNodes, ListNodesRequest{},
                           [](Question& self, ListNodesResponse& nodes) {
                             for (const NodeInfo& info : nodes.infos)
                               self.listing_.servers.push_back(info.node);
                             if (self.listing_.is_arion || self.depth_ == QuestionDepth::kAgain)
                               return self.done_(std::move(self.listing_));
                             self.AskForPartitions();
                           });
  }
  // One table after the other, and only tables whose partitions can tell more than their
  // description.
  void AskForPartitions() {
    while (next_table_ < listing_.tables.size() && !MayBeInTheMaking(listing_.tables[next_table_]))
      ++next_table_;
    if (next_table_ == listing_.tables.size()) return AskForBackups();
    const AppInfo& table = listing_.tables[next_table_++];
    Ask<QueryConfigResponse>(
        kRpcQueryConfig, QueryConfigRequest{.app_name = table.app_name},
        // By index: the list stays, but a reference would not survive into the callback.
        [index = next_table_ - 1](Question& self, QueryConfigResponse& partitions) {
          const AppInfo& table = self.listing_.tables[index];
          const InTheMaking verdict = JudgeInTheMaking(table, partitions);
          if (verdict == InTheMaking::kSplit) self.listing_.being_split.insert(table.app_id);
          if (verdict == InTheMaking::kRestored) self.listing_.being_restored.insert(table.app_id);
          self.AskForPartitions();
        });
  }
  // A cluster without backup service refuses the question, which is no error here.
  void AskForBackups() {
    transport_.Call(
        meta_server_,
        {.name = kRpcQueryBackupPolicy,
         .body = EncodeWrapped(QueryBackupPolicyRequest{.backup_info_count = kBackupsAsked}),
         .timeout = kTimeout},
        strand_, [self = shared_from_this()](const RpcResult& result) {
          auto answer = DecodeWrapped<QueryBackupPolicyResponse>(result.body);
          const bool is_told = result.error == ErrorCode::kOk && answer.ok();
          if (is_told && answer->err == ErrorCode::kOk)
            for (const auto& backups : answer->backup_infos)
              for (const BackupEntry& backup : backups)
                // No end: that backup still runs.
                if (backup.end_time_ms == 0)
                  self->listing_.being_backed_up.insert(backup.app_ids.begin(),
                                                        backup.app_ids.end());
          self->done_(std::move(self->listing_));
        });
  }

  Transport& transport_;
  const StrandPtr strand_;
  const Endpoint meta_server_;
  const QuestionDepth depth_;
  Done done_;
  ClusterListing listing_;
  size_t next_table_ = 0;
};

}  // namespace

void AskForListing(Transport& transport, StrandPtr strand, Endpoint meta_server,
                   QuestionDepth depth,
                   absl::AnyInvocable<void(absl::StatusOr<ClusterListing>)> done) {
  std::make_shared<Question>(transport, std::move(strand), meta_server, depth, std::move(done))
      ->AskForName();
}

}  // namespace arion
