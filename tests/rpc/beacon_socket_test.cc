// Beacons over UDP: what is answered, and where to.
// SPDX-License-Identifier: Apache-2.0
#include "rpc/beacon_socket.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/coding.h"
#include "tests/rpc/loopback.h"

namespace arion {
namespace {

class BeaconSocketTest : public LoopbackTest {};

TEST_F(BeaconSocketTest, BeaconsByUdpAreAnsweredToTheirFromAddress) {
  StartServer();
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in own{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof(own)), 0);
  socklen_t size = sizeof(own);
  getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size);
  Frame beacon;
  beacon.id = 77;
  beacon.context = kRdsnThriftBinary;
  beacon.header.name = kRpcBeacon;
  beacon.header.from = {.ip = INADDR_LOOPBACK, .port = ntohs(own.sin_port)};
  std::string body = EncodeWrapped(BeaconMessage{.time = 5});
  std::string datagram = RdsnRequestHeader(beacon, body, Checksums::kHeaderAndBody) + body;
  std::string broken = datagram;
  broken.back() ^= 1;

  int sender = socket(AF_INET, SOCK_DGRAM, 0);  // another port than `from`
  sockaddr_in to{.sin_family = AF_INET,
                 .sin_port = htons(server_.local().port),
                 .sin_addr = {htonl(INADDR_LOOPBACK)}};
  for (const std::string& bytes : {broken, std::string("short"), datagram}) {
    sendto(sender, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof(to));
  }
  auto request = requests_->Take();
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(DecodeWrapped<BeaconMessage>(request->body)->time, 5);
  request->responder.Reply(ErrorCode::kOk, EncodeWrapped(BeaconAck{.time = 5, .allowed = true}));
  pollfd ready{.fd = fd, .events = POLLIN};
  ASSERT_EQ(poll(&ready, 1, 20000), 1);
  char buffer[2000];
  ssize_t n = recv(fd, buffer, sizeof(buffer), 0);
  FrameParser parser(FrameParser::Expect::kRdsn);
  parser.Feed({buffer, static_cast<size_t>(n)});
  Frame ack;
  ASSERT_EQ(parser.Next(&ack), FrameParser::Result::kFrame) << parser.error();
  EXPECT_EQ(ack.id, 77u);
  EXPECT_TRUE(DecodeWrapped<BeaconAck>(ack.body)->allowed);
  EXPECT_NE(LoadLittle<uint32_t>(buffer + 12), 0u) << "the answer carries checksums too";
  EXPECT_EQ(requests_->size(), 0u);
  close(fd);
  close(sender);
}

}  // namespace
}  // namespace arion
