// SPDX-License-Identifier: Apache-2.0
#include "rpc/beacon_socket.h"

#include <asio/buffer.hpp>
#include <asio/post.hpp>

#include "base/log.h"
#include "messages/meta_messages.h"
#include "rpc/asio_transport.h"
#include "rpc/rpc_gate.h"

namespace arion {
namespace {

// Fits one packet of every usual network: a datagram in fragments is lost if one of them is.
constexpr size_t kDatagramBytesMax = 1000;

}  // namespace

void BeaconSocket::Receive() {
  socket_.async_receive_from(asio::buffer(datagram_), sender_,
                             [self = shared_from_this()](const std::error_code& error, size_t n) {
                               if (self->stopped_) return;
                               if (!error) self->Handle({self->datagram_.data(), n});
                               self->Receive();
                             });
}

void BeaconSocket::Stop() {
  stopped_ = true;
  std::error_code ignored;
  socket_.close(ignored);
}

void BeaconSocket::Handle(std::string_view datagram) {
  std::shared_ptr<ConnectionHost> host = host_.lock();
  // A parser for each datagram: what is broken in one says nothing of the next.
  FrameParser parser(FrameParser::Expect::kRdsn);
  parser.Feed(datagram);
  Frame frame;
  if (host == nullptr || datagram.size() > kDatagramBytesMax ||
      parser.Next(&frame) != FrameParser::Result::kFrame) {
    LOG_EVERY_T(WARNING, 10) << "dropped a datagram of " << datagram.size() << " bytes from "
                             << sender_ << ": " << parser.error();
    return;
  }
  const RequestHandler* handler = host->handler();
  // Nothing but beacons comes by UDP, where anybody can name any sender: what is more than a beacon
  // needs a connection.
  if (!frame.is_request || frame.header.name != kRpcBeacon || !frame.header.from.IsValid() ||
      handler == nullptr) {
    return;
  }
  if (RpcGate* const gate = host->options().gate) {
    const Endpoint peer{.ip = sender_.address().to_v4().to_uint(), .port = sender_.port()};
    const ErrorCode refusal = gate->Admit(frame.header, peer, frame.cluster_tag(), frame.body);
    frame.SetClusterTag(gate->OurTag());
    if (refusal != ErrorCode::kOk) return Answer(frame, refusal, {});
  }
  InboundRequest request;
  request.header = frame.header;
  request.body = std::exchange(frame.body, {});
  request.responder = Responder([self = shared_from_this(), frame = std::move(frame)](
                                    ErrorCode error, std::string body) mutable {
    // The answer may come on any thread, and the socket is its loop's.
    asio::post(self->context_, [self, frame = std::move(frame), error, body = std::move(body)] {
      self->Answer(frame, error, body);
    });
  });
  (*handler)(std::move(request));
}

void BeaconSocket::Answer(const Frame& request, ErrorCode error, const std::string& body) {
  std::shared_ptr<ConnectionHost> host = host_.lock();
  if (stopped_ || host == nullptr) return;
  std::string header =
      RdsnReplyHeader(request, error, host->local(), body, Checksums::kHeaderAndBody);
  if (header.size() + body.size() > kDatagramBytesMax) {
    LOG_EVERY_T(WARNING, 10) << "an answer of " << body.size() << " bytes does not fit a datagram";
    return;
  }
  std::array<asio::const_buffer, 2> pieces = {asio::buffer(header), asio::buffer(body)};
  std::error_code ignored;  // a lost datagram is the protocol's daily bread
  // To where the sender says that it listens, not to where the datagram came from.
  asio::ip::udp::endpoint to(asio::ip::address_v4(request.header.from.ip),
                             request.header.from.port);
  socket_.send_to(pieces, to, 0, ignored);
}

}  // namespace arion
