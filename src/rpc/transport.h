// Transport: sends and receives the protocol's messages; knows framing, nothing of their meaning.
//
//   transport.SetHandler([](InboundRequest request) {                       // before Listen
//     strand->Post([request = std::move(request)]() mutable {
//       request.responder.Reply(ErrorCode::kOk, EncodeWrapped(answer));
//     });
//   });
//   transport.Call(peer, {.name = kRpcQueryConfig, .body = EncodeWrapped(question)}, strand,
//                  [](RpcResult result) { ... });                           // on the strand, once
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
#include "env/strand.h"

namespace arion {

class HeldBytes;

// How a message came: from a client of either Thrift version, or from a server.
enum class Framing : uint8_t { kThriftV0, kThriftV1, kRdsn };

// What a request says beside its argument. The transport fills it from the frame's header; nothing
// in it is to be trusted beyond what the gate has judged.
struct RequestHeader {
  // The RPC code, at most 47 characters.
  std::string name;
  // 0.0 in server-to-server messages.
  PartitionId pid;
  // 0 or unreal for some clients (rpc/PROTOCOL.md 2.1): never a reason to drop a request by itself.
  // See timeout_is_real.
  int32_t timeout_ms = 0;
  // RDSN and THFT v1.
  bool timeout_is_real = false;
  int32_t thread_hash = 0;
  uint64_t partition_hash = 0;
  // The client also asked the primary, or will: a secondary may answer this read.
  bool is_backup_request = false;
  // RDSN bit 10: the caller follows an RPC-level kForwardToOthers.
  bool forward_supported = false;
  // The server that the header of an RDSN request names (a port above 1023); else the connection's
  // remote address.
  Endpoint from;
  Framing framing = Framing::kRdsn;
};

// An answer's bytes. A piece of a file in their middle need not pass through the process.
// Move-only.
struct ReplyBody {
  // That piece, and the bytes behind it.
  struct Piece {
    std::unique_ptr<HeldBytes> held;
    std::string behind;

    ~Piece();
    size_t size() const;
  };
  // All of them, or those before the piece.
  std::string bytes;
  std::unique_ptr<Piece> piece = nullptr;

  ReplyBody() = default;
  ReplyBody(std::string all) : bytes(std::move(all)) {}  // NOLINT: an answer is its bytes
  ReplyBody(const char* all) : bytes(all) {}             // NOLINT
  ReplyBody(std::string before, std::unique_ptr<HeldBytes> held, std::string behind);
  size_t size() const { return bytes.size() + (piece ? piece->size() : 0); }
  // For those who want them in one string.
  operator std::string() &&;  // NOLINT
};

// The right to answer one request, from any thread. Move-only.
class Responder {
 public:
  using Function = absl::AnyInvocable<void(ErrorCode, ReplyBody body) &&>;
  Responder() = default;
  explicit Responder(Function function) : function_(std::move(function)) {}
  Responder(Responder&&) = default;
  Responder& operator=(Responder&&) = default;

  // Answers; a second call does nothing. `body` is empty when `error` is not kOk. Error names that
  // are unsafe for the framing are mapped (SafeForThriftClients).
  void Reply(ErrorCode error, ReplyBody body = {}) {
    if (!function_) return;
    Function function = std::move(function_);
    function_ = nullptr;
    std::move(function)(error, std::move(body));
  }
  // Whether it has not answered yet.
  bool pending() const { return static_cast<bool>(function_); }

 private:
  Function function_ = nullptr;
};

// A request as the handler gets it, which moves it on to a strand. It ends with its responder's use
// or end.
struct InboundRequest {
  RequestHeader header;
  // The wrapped argument.
  std::string body;
  Responder responder;
};
// Called on a loop's thread for each request; must not block.
using RequestHandler = std::function<void(InboundRequest)>;

// Messages of different lanes never stand in each other's way: each lane has connections of its
// own. kData: requests of clients and between members. kBulk: pieces of files. kBeacon: beacons,
// which must not wait behind either.
enum class Lane : uint8_t { kData, kBulk, kBeacon };

// A request to be sent; used up by Call or SendOneWay.
struct OutboundRequest {
  std::string name;
  std::string body;
  // Set only for client data RPCs.
  PartitionId pid;
  int32_t thread_hash = 0;
  uint64_t partition_hash = 0;
  // Of Call; SendOneWay ignores it.
  absl::Duration timeout = absl::Seconds(5);
  Lane lane = Lane::kData;
  // A read that a secondary may answer.
  bool is_backup_request = false;
};

// How a call ended.
struct RpcResult {
  ErrorCode error = ErrorCode::kOk;
  std::string body = {};
  // Of a kNetworkFailure: no byte of the call has left, nor will.
  bool was_never_sent = false;
};

// AsioTransport is the real one; the simulator has its own. One for a server or client; main/ makes
// it, and it outlives all who call.
class Transport {
 public:
  virtual ~Transport() = default;
  // Where this server listens; of a pure client: port <= 1023.
  virtual Endpoint local() const = 0;
  // To be called before the first request arrives. The handler answers requests whose name it does
  // not know with kHandlerNotFound.
  virtual void SetHandler(RequestHandler handler) = 0;
  // Sends a request and waits for its answer, request.timeout at most.
  virtual void Call(Endpoint to, OutboundRequest request, StrandPtr reply_on,
                    absl::AnyInvocable<void(RpcResult)> done) = 0;
  // Sends a request that is not answered. It may be lost without notice.
  virtual void SendOneWay(Endpoint to, OutboundRequest request) = 0;
};

}  // namespace arion
