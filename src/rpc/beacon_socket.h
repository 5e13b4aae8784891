// BeaconSocket: beacons over UDP (rpc/PROTOCOL.md 1.2): one frame a datagram, answered to the
// header's `from`.
//
// Threads   Its loop's thread.
// Lifetime  Held by shared_ptr; its host may go first, then nothing is answered.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <asio/io_context.hpp>
#include <asio/ip/udp.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "rpc/asio_connection.h"

namespace arion {

// One bound socket of a transport, made by its Listen. What is no beacon, or is broken or over
// 1,000 bytes, is dropped without an answer. So is an answer that would be larger. A sender must
// expect a beacon or its answer to be lost.
class BeaconSocket : public std::enable_shared_from_this<BeaconSocket> {
 public:
  BeaconSocket(std::shared_ptr<ConnectionHost> host, asio::io_context& context,
               asio::ip::udp::socket socket)
      : host_(host), context_(context), socket_(std::move(socket)) {}

  // Takes datagrams from now on, one after the other, until Stop.
  void Receive();
  // Closes the socket. Beacons that were taken are no longer answered.
  void Stop();

 private:
  // Checks one datagram, asks the gate, and gives the beacon to the host's handler.
  void Handle(std::string_view datagram);

  // Sends once, to the request's `from`; errors of the socket are ignored.
  void Answer(const Frame& request, ErrorCode error, const std::string& body);

  const std::weak_ptr<ConnectionHost> host_;
  asio::io_context& context_;
  asio::ip::udp::socket socket_;
  asio::ip::udp::endpoint sender_;
  bool stopped_ = false;
  std::array<char, 2048> datagram_;
};

}  // namespace arion
