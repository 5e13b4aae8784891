// What the members of a partition say to each other (rpc/PROTOCOL.md 8). The protocol itself:
// pacifica/PROTOCOL.md.
//
// Shapes    Fields that only Arion knows have ids from 1000 on (rpc/PROTOCOL.md 3.6); Pegasus
//           passes them over.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/blob.h"
#include "base/error_code.h"
#include "base/mutation.h"
#include "messages/configuration.h"

namespace arion {

// RPC codes.
inline constexpr char kRpcPrepare[] = "RPC_PREPARE";
inline constexpr char kRpcGroupCheck[] = "RPC_GROUP_CHECK";
inline constexpr char kRpcLearn[] = "RPC_LEARN";
inline constexpr char kRpcLearnCompletion[] = "RPC_LEARN_COMPLETION_NOTIFY";
inline constexpr char kRpcAddLearner[] = "RPC_LEARN_ADD_LEARNER";
inline constexpr char kRpcRemoveReplica[] = "RPC_REMOVE_REPLICA";
inline constexpr char kRpcGetFileSize[] = "RPC_NFS_GET_FILE_SIZE";
inline constexpr char kRpcCopyFile[] = "RPC_NFS_COPY";

// How far a learner is (pacifica/PROTOCOL.md 9.1).
enum class LearnerStatus : int32_t {
  kInvalid = 0,
  // It asks round by round for what it lacks, and takes no prepares.
  kWithoutPrepare = 1,
  kWithPrepareTransient = 2,
  // It takes prepares, and flushes what its log does not hold.
  kWithPrepare = 3,
  // Everything would survive a crash; the primary may make it a secondary.
  kSucceeded = 4,
  kFailed = 5,
};
// Where the primary took its answer from: its prepare list, a checkpoint, its log.
enum class LearnType : int32_t { kInvalid = 0, kCache = 1, kApp = 2, kLog = 3 };
// What the disk of a replica is good for.
enum class DiskStatus : int32_t { kNormal = 0, kSpaceInsufficient = 1, kIoError = 2 };

// What the receiver of a message is in its partition, under which ballot and primary. Made by a
// primary for each message to a member. RPC_REMOVE_REPLICA, which is not answered, has it alone.
struct ReplicaConfiguration {
  PartitionId pid;
  Ballot ballot;
  Endpoint primary;
  // The receiver's role.
  PartitionStatus status = PartitionStatus::kInvalid;
  // Names a learner's session; 0: none.
  int64_t learner_signature = 0;
  // Of splits in Pegasus; Arion leaves both false.
  bool pop_all = false;
  bool split_sync_to_child = false;
  std::optional<HostPort> hp_primary;
  // Arion's extension (rpc/PROTOCOL.md 3.6).
  std::optional<int64_t> arion_caps;
  // Arion's: the ballot of the last decree that this message calls committed. Absent: the sender
  // can't tell.
  std::optional<Ballot> committed_ballot;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid), v(2, s.ballot), v(3, s.primary), v(4, s.status), v(5, s.learner_signature),
        v(6, s.pop_all);
    v(7, s.split_sync_to_child), v(8, s.hp_primary), v(1000, s.arion_caps),
        v(1001, s.committed_ballot);
  }
  bool operator==(const ReplicaConfiguration&) const = default;
};

// RPC_PREPARE. Its body has three parts: gpid wrapped, configuration wrapped, raw mutation.
struct PrepareRequest {
  PartitionId pid;
  ReplicaConfiguration config;
  MutationPtr mutation;
};

// A member's answer to a prepare: kOk once the mutation is in its log.
struct PrepareAck {
  PartitionId pid;
  ErrorCode err = ErrorCode::kOk;
  Ballot ballot;
  Decree decree;
  Decree last_committed_decree_in_app;
  Decree last_committed_decree_in_prepare_list;
  // Nanoseconds, as response_timestamp.
  std::optional<int64_t> receive_timestamp;
  std::optional<int64_t> response_timestamp;
  // Arion's: a Durability, where the mutation was when this ack was sent.
  std::optional<int8_t> durability;
  // Arion's: everything up to here is on stable storage.
  std::optional<Decree> synced_decree;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid), v(2, s.err), v(3, s.ballot), v(4, s.decree), v(5, s.last_committed_decree_in_app);
    v(6, s.last_committed_decree_in_prepare_list), v(7, s.receive_timestamp),
        v(8, s.response_timestamp);
    v(1001, s.durability), v(1002, s.synced_decree);
  }
  bool operator==(const PrepareAck&) const = default;
};

// RPC_GROUP_CHECK, which a primary sends to its members from time to time; and
// RPC_LEARN_ADD_LEARNER, which invites a learner and is not answered.
struct GroupCheckRequest {
  // The table as the primary knows it.
  AppInfo app;
  // The receiver.
  Endpoint node;
  ReplicaConfiguration config;
  Decree last_committed_decree;
  // -1: no duplication. A learner is not told.
  std::optional<int64_t> confirmed_decree;
  std::optional<PartitionId> child_gpid;
  std::optional<int32_t> meta_split_status;
  std::optional<HostPort> hp_node;
  // Arion's: of a primary whose term has begun. A member that holds that much lacks nothing from
  // before the term.
  std::optional<Decree> last_prepared_decree;
  // Arion's: in a question of the roll call, in place of last_committed_decree, which an older
  // version commits up to, whatever it holds.
  std::optional<Decree> committed_decree;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app), v(2, s.node), v(3, s.config), v(4, s.last_committed_decree),
        v(5, s.confirmed_decree);
    v(6, s.child_gpid), v(7, s.meta_split_status), v(8, s.hp_node);
    v(1002, s.last_prepared_decree), v(1003, s.committed_decree);
  }
  Decree committed() const { return committed_decree.value_or(last_committed_decree); }
  bool operator==(const GroupCheckRequest&) const = default;
};

// The answer; also the argument of RPC_LEARN_COMPLETION_NOTIFY. A replica that is still loading
// answers all defaults. A learner that is invited but can't be one answers kObjectNotFound, which
// ends its session.
struct GroupCheckResponse {
  PartitionId pid;
  ErrorCode err = ErrorCode::kOk;
  Decree last_committed_decree_in_app;
  Decree last_committed_decree_in_prepare_list;
  // Of a learner, as its signature.
  LearnerStatus learner_status = LearnerStatus::kInvalid;
  int64_t learner_signature = 0;
  // The responder.
  Endpoint node;
  std::optional<bool> is_split_stopped;
  DiskStatus disk_status = DiskStatus::kNormal;
  std::optional<HostPort> hp_node;
  // Arion's: the end of what it holds, and the ballot of that mutation (as replica_info's 1004).
  std::optional<Decree> last_prepared_decree;
  std::optional<Ballot> last_mutation_ballot;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid), v(2, s.err), v(3, s.last_committed_decree_in_app),
        v(4, s.last_committed_decree_in_prepare_list);
    v(5, s.learner_status), v(6, s.learner_signature), v(7, s.node), v(8, s.is_split_stopped);
    v(9, s.disk_status), v(10, s.hp_node), v(1003, s.last_prepared_decree),
        v(1004, s.last_mutation_ballot);
  }
  bool operator==(const GroupCheckResponse&) const = default;
};

// RPC_LEARN: a learner asks its primary for what it lacks. A session has several rounds.
struct LearnRequest {
  PartitionId pid;
  Endpoint learner;
  // Names the session: (ballot << 32) + n.
  int64_t signature = 0;
  // What the learner holds: applied, and committed in its prepare list.
  Decree last_committed_decree_in_app;
  Decree last_committed_decree_in_prepare_list;
  // Not used.
  Blob app_specific_learn_request;
  // 0: its log is complete; -1: it has no log. A primary of 2.5.0 looks at it.
  std::optional<int64_t> max_gced_decree;
  std::optional<HostPort> hp_learner;
  // Generation 26 only.
  std::optional<int32_t> checksum_type;
  // Arion's, of a duplicated table: this session's log has what is kept for other clusters, up to
  // here; 0: nothing of it.
  std::optional<Decree> kept_through;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid), v(2, s.learner), v(3, s.signature), v(4, s.last_committed_decree_in_app);
    v(5, s.last_committed_decree_in_prepare_list), v(6, s.app_specific_learn_request),
        v(7, s.max_gced_decree);
    v(8, s.hp_learner), v(9, s.checksum_type), v(1000, s.kept_through);
  }
  bool operator==(const LearnRequest&) const = default;
};

// Files below base_local_dir that a learner may take: of indexes.
struct LearnIndexes {
  std::vector<std::string> files;
  // Of `files`, in their order; checksums as in LearnState.
  std::vector<int64_t> sizes;
  std::vector<std::string> checksums;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.files), v(2, s.sizes), v(3, s.checksums);
  }
  bool operator==(const LearnIndexes&) const = default;
};

// What a learner gets: mutations in `meta`, or files to copy. Made by the primary for one answer.
struct LearnState {
  // Which decrees are sent.
  int64_t from_decree_excluded = 0;
  Decree to_decree_included;
  // LT_CACHE, LT_LOG: raw mutations back to back.
  Blob meta;
  // Relative to base_local_dir; to be copied (RPC_NFS_COPY).
  std::vector<std::string> files;
  std::optional<Decree> learn_start_decree;
  // Of `files`, in their order.
  std::optional<std::vector<int64_t>> file_sizes;
  // crc32c, 8 hex digits, between Arion servers.
  std::optional<std::vector<std::string>> file_checksums;
  // Arion's, with a checkpoint: beside it.
  std::optional<LearnIndexes> indexes;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.from_decree_excluded), v(2, s.to_decree_included), v(3, s.meta), v(4, s.files);
    v(5, s.learn_start_decree), v(6, s.file_sizes), v(7, s.file_checksums), v(1000, s.indexes);
  }
  bool operator==(const LearnState&) const = default;
};

// The primary's answer.
struct LearnResponse {
  ErrorCode err = ErrorCode::kOk;
  ReplicaConfiguration config;
  // Of the primary, at the answer.
  Decree last_committed_decree;
  // From here on the learner gets prepares; -1: not decided.
  Decree prepare_start_decree;
  LearnType type = LearnType::kInvalid;
  LearnState state;
  // The primary, and the directory that `files` are relative to.
  Endpoint learnee;
  std::string base_local_dir;
  // The tag of the primary's disk, for information.
  std::optional<std::string> replica_disk_tag;
  std::optional<HostPort> hp_learnee;
  // Arion's, with kCache: all from prepare_start_decree on is prepared after this answer. An older
  // version's primary does so after the first answer of a session only.
  std::optional<bool> prepares_all_after;
  // Arion's, with kLog and kCache: the mutations are to be logged from this decree on, also what
  // the learner has applied: other clusters lack it, and are sent it out of logs.
  std::optional<Decree> kept_from;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.config), v(3, s.last_committed_decree), v(4, s.prepare_start_decree),
        v(5, s.type);
    v(6, s.state), v(7, s.learnee), v(8, s.base_local_dir), v(9, s.replica_disk_tag),
        v(10, s.hp_learnee), v(1000, s.prepares_all_after), v(1001, s.kept_from);
  }
  bool operator==(const LearnResponse&) const = default;
};

// The answer to RPC_LEARN_COMPLETION_NOTIFY.
struct LearnNotifyResponse {
  PartitionId pid;
  ErrorCode err = ErrorCode::kOk;
  int64_t signature = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid), v(2, s.err), v(3, s.signature);
  }
  bool operator==(const LearnNotifyResponse&) const = default;
};

// RPC_NFS_GET_FILE_SIZE: asks for the sizes of files to copy.
struct GetFileSizeRequest {
  Endpoint source;
  // Where the copy goes; for information.
  std::string dst_dir;
  std::vector<std::string> file_list;
  std::string source_dir;
  bool overwrite = true;
  std::optional<std::string> source_disk_tag;
  std::optional<std::string> dest_disk_tag;
  std::optional<PartitionId> pid;
  std::optional<HostPort> hp_source;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.source), v(2, s.dst_dir), v(3, s.file_list), v(4, s.source_dir), v(5, s.overwrite);
    v(6, s.source_disk_tag), v(7, s.dest_disk_tag), v(8, s.pid), v(9, s.hp_source);
  }
  bool operator==(const GetFileSizeRequest&) const = default;
};
// The sizes, or an error for all of them.
struct GetFileSizeResponse {
  // The position in the error list (base/error_code.h).
  int32_t error = 0;
  std::vector<std::string> file_list;
  // In the order asked.
  std::vector<int64_t> size_list;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.file_list), v(3, s.size_list);
  }
  bool operator==(const GetFileSizeResponse&) const = default;
};
// RPC_NFS_COPY: asks for a piece of a file.
struct CopyRequest {
  Endpoint source;
  std::string source_dir;
  std::string dst_dir;
  std::string file_name;
  int64_t offset = 0;
  int32_t size = 0;
  // The piece ends the file.
  bool is_last = false;
  bool overwrite = true;
  std::optional<std::string> source_disk_tag;
  std::optional<PartitionId> pid;
  std::optional<HostPort> hp_source;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.source), v(2, s.source_dir), v(3, s.dst_dir), v(4, s.file_name), v(5, s.offset),
        v(6, s.size);
    v(7, s.is_last), v(8, s.overwrite), v(9, s.source_disk_tag), v(10, s.pid), v(11, s.hp_source);
  }
  bool operator==(const CopyRequest&) const = default;
};
// The piece. A learner checks crc32c before it writes anything of it.
struct CopyResponse {
  // The content has all bytes that were asked for, or there is an error.
  ErrorCode error = ErrorCode::kOk;
  Blob file_content;
  int64_t offset = 0;
  int32_t size = 0;
  // Of file_content; Arion's extension.
  std::optional<int32_t> crc32c;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.file_content), v(3, s.offset), v(4, s.size), v(1001, s.crc32c);
  }
  bool operator==(const CopyResponse&) const = default;
};

}  // namespace arion
