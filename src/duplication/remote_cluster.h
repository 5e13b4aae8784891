// RemoteCluster: another cluster that tables are duplicated to: asks its meta servers who leads a
// partition there, and sends requests to that server.
//
// Shapes    The table there has the same partition count, so a partition's writes go to the one of
//           the same index. Who leads is asked once for all partitions of a table, and again when
//           a request did not reach its partition, once a second at most. A request may wait for
//           that: it goes only if its sender leads even then.
// Threads   Send: any. The rest runs on a strand of its own.
// Lifetime  Owned by a shared_ptr; what is under way holds it weakly, and ends without an answer
//           when it is gone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/instant.h"
#include "duplication/duplication_sender.h"
#include "env/strand.h"
#include "messages/configuration.h"
#include "rpc/transport.h"

namespace arion {

class Environment;

// One for each other cluster that is configured.
class RemoteCluster : public std::enable_shared_from_this<RemoteCluster> {
 public:
  // `meta_servers`: where they are now; empty: not known. `environment` and `transport` outlive it.
  RemoteCluster(Environment& environment, Transport& transport, std::string name,
                std::function<std::vector<Endpoint>()> meta_servers);

  // One request of partition `index` of `partition_count`, under the table's name there.
  struct Request {
    std::string table;
    int32_t index = 0;
    int32_t partition_count = 0;
    std::string body;
    uint64_t partition_hash = 0;
    // Asked at the moment of sending, on any thread: whether the sender still leads. Empty: it
    // does.
    std::function<bool()> may_go;
  };
  // `then` runs on `reply_on`.
  void Send(Request request, StrandPtr reply_on, DuplicationSender::SentDone then);

 private:
  struct Waiting {
    Request request;
    StrandPtr reply_on;
    DuplicationSender::SentDone then;
  };
  // What is known of a table there.
  struct KnownTable {
    // By index.
    std::vector<PartitionConfiguration> partitions;
    int32_t app_id = 0;
    // Is to be asked for before the next request.
    bool is_stale = true;
    bool is_being_asked_for = false;
    std::vector<Waiting> waiting;
  };

  void Begin(Waiting waiting);
  void Ask(const std::string& name);
  // Of `name`; `trouble`: why it is not known; empty: it is.
  void OnAsked(const std::string& name, const std::string& trouble);
  void SendTo(KnownTable& table, Waiting waiting);
  void OnAnswer(Waiting waiting, const RpcResult& result);
  static void Answer(Waiting& waiting, SendOutcome outcome);

  Environment& environment_;
  Transport& transport_;
  const std::string name_;
  const StrandPtr strand_;
  const std::function<std::vector<Endpoint>()> meta_servers_;
  std::map<std::string, KnownTable> tables_;
};

}  // namespace arion
