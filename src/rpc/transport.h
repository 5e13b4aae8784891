// Transport: sends and receives the protocol's messages; knows framing, nothing of their meaning.
//
// Shapes    `body` is always the *wrapped* argument or result: an anonymous struct with one field
//           (id 0 or 1), as it lies in a THFT args struct, an RDSN body, and a mutation's update
//           (rpc/PROTOCOL.md 3.1). RPC_PREPARE's body is three parts (8.1 there). Encode/decode:
//           rpc/thrift_codec.h.
// Errors    RPC-level, by name: what the peer said, or kTimeout, kNetworkFailure (could not
//           connect, or the connection closed before the answer), kInvalidData (undecodable
//           answer). was_never_sent: nobody can have carried the call out.
// Threads   Thread-safe. Handlers run on an event-loop thread and must not block: they post to a
//           strand. Call's callback runs on the strand given, exactly once, unless that strand's
//           owner died first.
// Promises  transport/T1  Messages may be lost, delayed, duplicated (simulator) and reordered; an
//               answer is matched to its call.
//           transport/T2  A Responder answers at most once; one that is dropped unanswered says
//               nothing to the peer.
//           transport/T3  No bytes from a peer end the process; a broken frame costs at most its
//               connection.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error_code.h"
#include "base/ids.h"
#include "env/held_bytes.h"
#include "env/strand.h"

namespace arion {

enum class Framing : uint8_t { kThriftV0, kThriftV1, kRdsn };

struct RequestHeader {
  std::string name;  // RPC code, at most 47 characters
  PartitionId pid;   // 0.0 in server-to-server messages
  // 0 or unreal for some clients (rpc/PROTOCOL.md 2.1): never a reason to drop by itself, see
  // timeout_is_real
  int32_t timeout_ms = 0;
  bool timeout_is_real = false;  // RDSN and THFT v1
  int32_t thread_hash = 0;
  uint64_t partition_hash = 0;
  bool is_backup_request = false;
  bool forward_supported = false;  // RDSN bit 10: the caller follows an RPC-level kForwardToOthers
  Endpoint from;                   // RDSN: header's; THFT: the connection's remote address
  Framing framing = Framing::kRdsn;
};

// An answer's bytes; a piece of a file in their middle needs not pass through the process.
struct ReplyBody {
  struct Piece {
    std::unique_ptr<HeldBytes> held;
    std::string behind;
  };
  std::string bytes;  // all of them, or those before the piece
  std::unique_ptr<Piece> piece = nullptr;

  ReplyBody() = default;
  ReplyBody(std::string all) : bytes(std::move(all)) {}  // NOLINT: an answer is its bytes
  ReplyBody(const char* all) : bytes(all) {}             // NOLINT
  ReplyBody(std::string before, std::unique_ptr<HeldBytes> held, std::string behind)
      : bytes(std::move(before)),
        piece(std::make_unique<Piece>(Piece{std::move(held), std::move(behind)})) {}
  size_t size() const {
    return bytes.size() + (piece ? piece->held->size() + piece->behind.size() : 0);
  }
  // For who wants them in one.
  operator std::string() && {  // NOLINT
    if (piece) bytes += piece->held->Read() + piece->behind;
    piece = nullptr;
    return std::move(bytes);
  }
};

class Responder {
 public:
  using Function = absl::AnyInvocable<void(ErrorCode, ReplyBody body) &&>;
  Responder() = default;
  explicit Responder(Function function) : function_(std::move(function)) {}
  Responder(Responder&&) = default;
  Responder& operator=(Responder&&) = default;

  // `body` is empty when `error` is not kOk. Error names unsafe for the framing are mapped
  // (SafeForThriftClients).
  void Reply(ErrorCode error, ReplyBody body = {}) {
    if (!function_) return;
    Function function = std::move(function_);
    function_ = nullptr;
    std::move(function)(error, std::move(body));
  }
  bool pending() const { return static_cast<bool>(function_); }

 private:
  Function function_ = nullptr;
};

struct InboundRequest {
  RequestHeader header;
  std::string body;  // wrapped argument
  Responder responder;
};
using RequestHandler = std::function<void(InboundRequest)>;

// Messages of different lanes never stand in each other's way: each lane has connections of its
// own.
enum class Lane : uint8_t { kData, kBulk, kBeacon };

struct OutboundRequest {
  std::string name;
  std::string body;
  PartitionId pid;  // set only for client data RPCs
  int32_t thread_hash = 0;
  uint64_t partition_hash = 0;
  absl::Duration timeout = absl::Seconds(5);
  Lane lane = Lane::kData;
  bool is_backup_request = false;  // a read that a secondary may answer
};

struct RpcResult {
  ErrorCode error = ErrorCode::kOk;
  std::string body = {};
  bool was_never_sent = false;  // of a kNetworkFailure: no byte of the call has left, nor will
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual Endpoint local() const = 0;  // where this server listens; a pure client: port <= 1023
  // Before the first request arrives. Requests whose name has no handler get kHandlerNotFound.
  virtual void SetHandler(RequestHandler handler) = 0;
  virtual void Call(Endpoint to, OutboundRequest request, StrandPtr reply_on,
                    absl::AnyInvocable<void(RpcResult)> done) = 0;
  virtual void SendOneWay(Endpoint to, OutboundRequest request) = 0;
};

}  // namespace arion
