// Duplications: a table's writes are sent on to a table of another cluster, by its primaries. What
// tools ask the meta server for (rpc/PROTOCOL.md 7.2). How servers tell each other how far they
// are: DuplicationSyncRequest in meta_messages.h.
//
// Shapes    Fields that only Arion knows have ids from 1000 on (rpc/PROTOCOL.md 3.6). 2.5.0 does
//           not know remote_app_name, remote_replica_count and kRpcListDuplication.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error_code.h"
#include "messages/meta_messages.h"

namespace arion {

inline constexpr char kRpcAddDuplication[] = "RPC_CM_ADD_DUPLICATION";
inline constexpr char kRpcModifyDuplication[] = "RPC_CM_MODIFY_DUPLICATION";
inline constexpr char kRpcQueryDuplication[] = "RPC_CM_QUERY_DUPLICATION";
inline constexpr char kRpcListDuplication[] = "RPC_CM_LIST_DUPLICATION";

// How far a duplication is.
enum class DuplicationStatus : int32_t {
  kInit = 0,
  // Every partition makes a checkpoint that has all before its start.
  kPrepare = 1,
  // The other cluster has made the table, and fetches the checkpoints.
  kApp = 2,
  // Writes are sent.
  kLog = 3,
  kPause = 4,
  kRemoved = 5,
};
// "DS_LOG", as it is stored; "DS_UNKNOWN" for any other value.
constexpr std::string_view DuplicationStatusName(DuplicationStatus status) {
  switch (status) {
    case DuplicationStatus::kInit:
      return "DS_INIT";
    case DuplicationStatus::kPrepare:
      return "DS_PREPARE";
    case DuplicationStatus::kApp:
      return "DS_APP";
    case DuplicationStatus::kLog:
      return "DS_LOG";
    case DuplicationStatus::kPause:
      return "DS_PAUSE";
    case DuplicationStatus::kRemoved:
      return "DS_REMOVED";
  }
  return "DS_UNKNOWN";
}

// What a sender does with what it can't send.
enum class DuplicationFailMode : int32_t {
  // Tries for ever.
  kSlow = 0,
  // Leaves it out, and counts it.
  kSkip = 1,
  // Of older versions; as kSlow here.
  kFast = 2,
};
// "FAIL_SLOW"; "FAIL_UNKNOWN" for any other value.
constexpr std::string_view DuplicationFailModeName(DuplicationFailMode mode) {
  switch (mode) {
    case DuplicationFailMode::kSlow:
      return "FAIL_SLOW";
    case DuplicationFailMode::kSkip:
      return "FAIL_SKIP";
    case DuplicationFailMode::kFast:
      return "FAIL_FAST";
  }
  return "FAIL_UNKNOWN";
}

// RPC_CM_ADD_DUPLICATION: a table is to be duplicated to another cluster.
struct AddDuplicationRequest {
  std::string app_name;
  std::string remote_cluster_name;
  // Absent or true: the other cluster makes the table, with all that is in it. False: it has the
  // table, and only writes from now on are sent.
  std::optional<bool> is_duplicating_checkpoint;
  std::optional<std::string> remote_app_name;
  // 0 or absent: as many as here.
  std::optional<int32_t> remote_replica_count;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name), v(2, s.remote_cluster_name), v(3, s.is_duplicating_checkpoint),
        v(4, s.remote_app_name), v(5, s.remote_replica_count);
  }
  bool operator==(const AddDuplicationRequest&) const = default;
};
// kOk: it is stored; or there was one already, and these are its ids. kDupExist: the same, to who
// named the table there.
struct AddDuplicationResponse {
  ErrorCode err = ErrorCode::kOk;
  int32_t appid = 0;
  int32_t dupid = 0;
  std::optional<std::string> hint;
  std::optional<std::string> remote_app_name;
  std::optional<int32_t> remote_replica_count;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.appid), v(3, s.dupid), v(4, s.hint), v(5, s.remote_app_name),
        v(6, s.remote_replica_count);
  }
  bool operator==(const AddDuplicationResponse&) const = default;
};

// RPC_CM_MODIFY_DUPLICATION: pauses it, lets it go on, removes it, or says what is done with what
// can't be sent. What is absent stays as it is.
struct ModifyDuplicationRequest {
  std::string app_name;
  int32_t dupid = 0;
  // A DuplicationStatus.
  std::optional<int32_t> status;
  // A DuplicationFailMode.
  std::optional<int32_t> fail_mode;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name), v(2, s.dupid), v(3, s.status), v(4, s.fail_mode);
  }
  bool operator==(const ModifyDuplicationRequest&) const = default;
};
struct ModifyDuplicationResponse {
  ErrorCode err = ErrorCode::kOk;
  int32_t appid = 0;
  // Arion's: why not.
  std::optional<std::string> hint;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.appid), v(1000, s.hint);
  }
  bool operator==(const ModifyDuplicationResponse&) const = default;
};

// RPC_CM_QUERY_DUPLICATION: which duplications has the table?
struct QueryDuplicationRequest {
  std::string app_name;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name);
  }
  bool operator==(const QueryDuplicationRequest&) const = default;
};
struct QueryDuplicationResponse {
  ErrorCode err = ErrorCode::kOk;
  int32_t appid = 0;
  std::vector<DuplicationEntry> entry_list;
  // Arion's: the clusters of [pegasus.clusters], and their meta servers with commas between; of
  // some none may be known at the moment.
  std::optional<std::map<std::string, std::string>> clusters;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(3, s.appid), v(4, s.entry_list), v(1000, s.clusters);
  }
  bool operator==(const QueryDuplicationResponse&) const = default;
};

// RPC_CM_LIST_DUPLICATION: the same of all tables of which the name fits, as ListAppsRequest means
// it.
struct ListDuplicationsRequest {
  std::string app_name_pattern;
  int32_t match_type = 1;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name_pattern), v(2, s.match_type);
  }
  bool operator==(const ListDuplicationsRequest&) const = default;
};
// The duplications of one table, by id.
struct TableDuplications {
  int32_t appid = 0;
  std::map<int32_t, DuplicationEntry> duplications;
  std::string app_name;
  int32_t partition_count = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.appid), v(2, s.duplications), v(3, s.app_name), v(4, s.partition_count);
  }
  bool operator==(const TableDuplications&) const = default;
};
struct ListDuplicationsResponse {
  ErrorCode err = ErrorCode::kOk;
  std::string hint_message;
  // By the table's name.
  std::map<std::string, TableDuplications> app_states;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.hint_message), v(3, s.app_states);
  }
  bool operator==(const ListDuplicationsResponse&) const = default;
};

}  // namespace arion
