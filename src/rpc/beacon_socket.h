// BeaconSocket: beacons over UDP (rpc/PROTOCOL.md 1.2): one frame a datagram, answered to the
// header's `from`.
//
// Threads   Its loop's thread. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <asio/io_context.hpp>
#include <asio/ip/udp.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "rpc/asio_connection.h"

namespace arion {

class BeaconSocket : public std::enable_shared_from_this<BeaconSocket> {
 public:
  BeaconSocket(std::shared_ptr<ConnectionHost> host, asio::io_context& context,
               asio::ip::udp::socket socket)
      : host_(host), context_(context), socket_(std::move(socket)) {}

  void Receive();
  void Stop();

 private:
  void Handle(std::string_view datagram);

  void Answer(const Frame& request, ErrorCode error, const std::string& body);

  const std::weak_ptr<ConnectionHost> host_;
  asio::io_context& context_;
  asio::ip::udp::socket socket_;
  asio::ip::udp::endpoint sender_;
  bool stopped_ = false;
  std::array<char, 2048> datagram_;
};

}  // namespace arion
