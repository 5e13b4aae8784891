// ZooKeeperSession: one session with a ZooKeeper ensemble, as far as meta servers need one: nodes
// by their paths, ephemeral nodes in a sequence, watches, transactions.
//
// Shapes    A path begins with '/' and has no '/' at its end. Data are bytes, at most
//           kNodeBytesMax; nodes without data have empty ones.
// Errors    NotFound, AlreadyExists: the node. FailedPrecondition: another version; children that
//           are in the way. PermissionDenied: an access list forbids it. InvalidArgument: the path,
//           or too many bytes; nothing was sent. Unavailable: no answer came, it may have been done
//           or not, and may yet be done while this session lasts and has not connected anew.
//           Cancelled: the session has ended; the last questions may have been carried out.
//           Internal: anything else, by the name of ZooKeeper's code.
// Threads   Strand-bound, and so are all callbacks. None comes before the call that asks for it has
//           returned.
// Lifetime  Destroying it ends the session at once: its ephemeral nodes go, and no callback comes
//           any more. It does not wait for that.
// Promises  zookeeper_session/Z1  What was asked is carried out in the order of the calls, and each
//               answer comes after those before it, as long as the connection holds.
//           zookeeper_session/Z2  Each question is answered once, at the latest when the session
//               has ended (Cancelled), unless this is destroyed first.
//           zookeeper_session/Z3  A change of a transaction is carried out with all others of it,
//               or none is.
// Sources   ZooKeeper's programmer's guide; its C client's behaviour as measured: README.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "env/strand.h"

namespace arion {

// What is known of a node.
struct ZooKeeperNode {
  std::string data;
  // How often its data were set since it was made.
  int32_t version = 0;
  // The session whose ephemeral node it is; 0: of none.
  int64_t owner = 0;
  // When it was made, by the ensemble's clock; 0: not known.
  int64_t created_unix_ms = 0;
};

// One change of a transaction, or a condition of it.
struct ZooKeeperStep {
  enum class Kind {
    kCheck,   // the node is there and was never set: its version is 0
    kCreate,  // persistent, with `data`
    kSet,     // to `data`, whatever its version
    kRemove,  // whatever its version
  };
  Kind kind = Kind::kCheck;
  std::string path;
  std::string data;
  bool operator==(const ZooKeeperStep&) const = default;
};

// Made by ZooKeeper::Connect.
class ZooKeeperSession {
 public:
  // A server refuses packets of more than 1 MiB by closing the connection.
  static constexpr size_t kNodeBytesMax = 900 << 10;
  // Of all paths and data of a transaction.
  static constexpr size_t kTransactionBytesMax = 900 << 10;

  enum class State {
    kConnecting,  // no server answers now; what is asked may wait for one
    kConnected,
    kEnded,  // for good: expired, or refused
  };
  enum class Mode { kPersistent, kEphemeralSequential };

  virtual ~ZooKeeperSession() = default;

  // 0 before it was connected for the first time.
  virtual int64_t id() const = 0;
  // After which the ensemble ends the session where it hears nothing of it. As agreed on with the
  // server; as asked for, before that.
  virtual absl::Duration timeout() const = 0;

  // Open to everybody, as the older versions' are. Tells the path, which has ten digits behind
  // `path` where it is sequential.
  virtual void Create(const std::string& path, const std::string& data, Mode mode,
                      absl::AnyInvocable<void(absl::StatusOr<std::string>)> done) = 0;
  virtual void Get(const std::string& path,
                   absl::AnyInvocable<void(absl::StatusOr<ZooKeeperNode>)> done) = 0;
  // `changed` comes once: when the node was set or removed, or is not watched any more. Not where
  // `done` hears of an error.
  virtual void GetAndWatch(const std::string& path, absl::AnyInvocable<void()> changed,
                           absl::AnyInvocable<void(absl::StatusOr<ZooKeeperNode>)> done) = 0;
  // The names of its children, in no order.
  virtual void List(const std::string& path,
                    absl::AnyInvocable<void(absl::StatusOr<std::vector<std::string>>)> done) = 0;
  virtual void Remove(const std::string& path, absl::AnyInvocable<void(absl::Status)> done) = 0;
  // All steps in their order, or none (zookeeper_session/Z3). An error is that of the first step
  // that fails, and names its path.
  virtual void Commit(const std::vector<ZooKeeperStep>& steps,
                      absl::AnyInvocable<void(absl::Status)> done) = 0;
  // What is read afterwards is at least as new as what the ensemble's leader knew when it was asked.
  virtual void Sync(const std::string& path, absl::AnyInvocable<void(absl::Status)> done) = 0;
};

// A ZooKeeper ensemble: where it is, and how sessions with it are had.
class ZooKeeper {
 public:
  virtual ~ZooKeeper() = default;
  // Begins a session, which looks for a server for as long as it lives. `on_state` hears of each
  // change, the first connection among them; after kEnded of nothing more.
  virtual std::unique_ptr<ZooKeeperSession> Connect(
      StrandPtr strand, std::function<void(ZooKeeperSession::State)> on_state) = 0;
};

}  // namespace arion
