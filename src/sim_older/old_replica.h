// OldReplica: one replica of a 2.5.0 server, as that behaves:
// roles, two-phase commit, learning on either side, restart. It knows nothing of what is ours: no
// field of an id from 1000 on is read or sent.
//
// Shapes    Where a process of 2.5.0 would end (replica/README.md A1 to A21), or a message breaks
//           the rules of replica/OLDER.md 2, it says so by OldHost::violate with the row, and takes
//           the message for lost. Otherwise it is as good as 2.5.0 can be; a bug of it that
//           loses data by itself it does not do:
//             - it looks at its lease whenever it answers a client;
//             - a primary that restarted in place serves no reads before it has committed what it
//               held;
//             - an update of the configuration is asked until it is answered, also across a lost
//               lease.
// Threads   One: the server's strand. The engine is asked there too.
// Errors    Open: its engine does not open, or is incomplete, since it ended while it learned.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data_api/read_operations.h"
#include "messages/meta_messages.h"
#include "messages/replication_messages.h"
#include "sim_older/old_host.h"
#include "sim_older/old_prepare_list.h"
#include "sim_older/old_store.h"

namespace arion::sim {

// One replica of one life of an OldServer, which makes and closes it. Held by a shared_ptr, since
// callbacks hold weak ones.
class OldReplica : public std::enable_shared_from_this<OldReplica> {
 public:
  OldReplica(OldHost& host, OldStored& stored);
  ~OldReplica();

  absl::Status Open();
  // Its engine is closed; nothing may follow.
  void Close();

  // ---- other servers ----
  // Each handles one message, on the server's strand. With a `responder` it is answered, at once or
  // when its outcome is known.
  void OnPrepare(const PrepareRequest& request, Responder responder);
  void OnGroupCheck(const GroupCheckRequest& request, Responder responder);
  void OnAddLearner(const GroupCheckRequest& request);
  void OnRemove(const ReplicaConfiguration& config);
  void OnLearn(const LearnRequest& request, Responder responder);
  void OnLearnCompletion(const GroupCheckResponse& report, Responder responder);

  // ---- the meta server ----
  void OnProposal(const ConfigurationUpdateRequest& request);
  void OnSynced(const ConfigurationUpdateRequest& entry);
  // A config sync did not name it. True: it is to be closed.
  bool OnMissing();
  void OnDisconnected();
  // It believes that this server is a member, which it is not.
  void AskRemoval(const PartitionConfiguration& config);

  // ---- clients ----
  void Write(WriteCode code, InboundRequest request);
  // False: no code of a read.
  bool Read(InboundRequest& request);

  PartitionId pid() const { return stored_.pid; }
  PartitionStatus role() const { return role_; }
  Ballot ballot() const { return stored_.ballot; }
  ReplicaInfo Info() const;
  const std::string& directory() const { return stored_.directory; }

 private:
  using Entry = OldPrepareList::Entry;
  using Client = OldPrepareList::Client;
  // A mutation in the making: updates that may share one gather in it until it is started.
  struct Draft {
    std::vector<Update> updates;
    std::vector<Client> clients;
    size_t bytes = 0;
    // It still takes more updates.
    bool is_open = false;
  };
  // What a primary remembers of one learner.
  struct Session {
    int64_t signature = 0;
    Decree prepare_start = kInvalidDecree;
    // Holds the checkpoint that was handed out, so that it stays.
    std::shared_ptr<void> checkpoint;
  };

  // ---- roles ----
  // By the table of pacifica/PROTOCOL.md 1.4; false: refused.
  bool ChangeRole(PartitionStatus to, Ballot ballot, Endpoint primary);
  bool MayBecome(PartitionStatus to, Ballot ballot);
  bool MayKeepBallot(PartitionStatus to) const;
  bool Adopt(const ReplicaConfiguration& config);
  bool Adopt(const PartitionConfiguration& config);
  void BecomeInactive(bool is_transient);
  void LeavePrimary();
  void ForgetClients();
  void TakeOffice();
  // The process of 2.5.0 ended here, by a row of that table, or by a section of a document.
  void Abort(std::string_view rule, std::string_view what) const;
  bool Fails(std::string_view rule, const OldPrepareList::Fault& fault) const;

  // ---- log and engine ----
  void Append(MutationPtr mutation);
  void WriteLog();
  void OnLogged(const MutationPtr& mutation);
  void Apply(Entry& entry);
  void ApplyNow(Entry& entry);
  bool CommitHard(std::string_view rule, Decree through);
  void CommitReady();
  void Replay();
  void Checkpoint();
  void ScheduleCheckpoint();
  void Flush(Decree decree);
  void StoreInfo() const;
  template <class F>
  void After(absl::Duration delay, F task);

  // ---- primary ----
  void StartQueued();
  void Start(MutationPtr mutation, std::vector<Client> clients);
  void SendToAll(Entry& entry);
  void SendPrepare(Endpoint to, PartitionStatus role, const MutationPtr& mutation, Instant first);
  void OnPrepareAnswer(Endpoint to, PartitionStatus role, const MutationPtr& mutation,
                       Instant first, const RpcResult& result);
  void OnRemoteFailure(Endpoint node, PartitionStatus role);
  void PrepareAgain();
  void CheckGroup();
  void SendGroupCheck(Endpoint to, PartitionStatus role, int64_t signature);
  void OnGroupAnswer(Endpoint from, PartitionStatus role, Ballot ballot, const RpcResult& result);
  void ForgetLearner(Endpoint node);
  void UpgradeLearner(Endpoint node);
  void AddSecondary(const ConfigurationUpdateRequest& request);
  bool IsUpdating() const { return update_.has_value(); }
  void UpdateConfiguration(ConfigType type, Endpoint node, PartitionConfiguration wanted);
  void SendUpdate();
  void OnUpdateAnswer(uint64_t serial, const RpcResult& result);
  int32_t MembersMin() const;
  ReplicaConfiguration ConfigFor(PartitionStatus role, int64_t signature) const;
  void TakeCheckpoint(Session& session, LearnResponse* response);
  void TakeCache(Session& session, Decree start, LearnResponse* response, Responder responder);

  // ---- learner ----
  void Learn(int64_t signature);
  void EndLearning();
  void FailLearning(std::string_view why);
  void SendLearn();
  void OnLearnAnswer(const RpcResult& result);
  bool IsSound(const LearnResponse& response) const;
  void LearnCache(const LearnResponse& response);
  void LearnFiles(std::shared_ptr<LearnResponse> response);
  void CopyNext(std::shared_ptr<LearnResponse> response, size_t file, uint64_t round);
  void CopyFile(std::shared_ptr<LearnResponse> response, size_t file, int64_t size, int64_t offset,
                uint64_t round);
  bool WriteLearned(const std::string& name, int64_t offset, std::string_view bytes);
  void InstallCheckpoint(const LearnResponse& response);
  void LearnLog(const LearnResponse& response);
  bool LearnLogFiles(const LearnResponse& response);
  void ApplyLearned(const MutationPtr& mutation);
  void Discard();
  void EndRound();
  void SendCompletion();
  GroupCheckResponse Report() const;

  // ---- clients ----
  ErrorCode ReadGate() const;
  ReadTerms Terms() const;
  void ReadOne(InboundRequest& request);
  void ReadSeveral(InboundRequest& request);
  void Scan(InboundRequest& request);
  std::string server_name() const { return host_.self().ToString(); }

  OldHost& host_;
  OldStored& stored_;
  std::unique_ptr<Engine> engine_;
  OldPrepareList list_;
  Decree applied_, durable_;

  PartitionStatus role_ = PartitionStatus::kInactive;
  // While kInactive: it may return to its role under its ballot.
  bool is_transient_ = true;
  // No config sync yet.
  bool is_initializing_ = true;
  Instant inactive_since_;
  Endpoint primary_;
  // While it leads, or is about to.
  PartitionConfiguration config_;

  // Buffered for the log; the first `writing_` are under way.
  std::deque<MutationPtr> unwritten_;
  size_t writing_ = 0;
  uint64_t log_writes_ = 0;
  // By ballot and decree: prepares that are answered once that is logged.
  std::multimap<std::pair<Ballot, Decree>, Responder> waiting_;

  std::deque<Draft> queue_;
  // Rises where what was sent is cancelled.
  uint64_t sends_ = 1;
  uint64_t office_ = 0;
  int64_t last_timestamp_us_ = 0;
  Decree read_barrier_;
  // It takes office under a ballot that it forced.
  bool is_forced_ = false;
  Decree prepared_at_check_;
  std::map<Endpoint, Session> sessions_;
  int64_t last_signature_ = 0;
  struct PendingUpdate {
    uint64_t serial = 0;
    ConfigurationUpdateRequest request;
  };
  std::optional<PendingUpdate> update_;
  uint64_t next_serial_ = 1;
  // The last log file that was handed out to a learner.
  std::string last_log_file_;

  LearnerStatus phase_ = LearnerStatus::kInvalid;
  int64_t signature_ = 0;
  Decree prepare_start_ = kInvalidDecree;
  bool is_round_running_ = false;
  // The round whose answers count; earlier ones are ignored.
  uint64_t round_ = 0;

  std::map<int64_t, std::unique_ptr<ScanCursor>> scans_;
  int64_t next_scan_ = 0;
};

}  // namespace arion::sim
