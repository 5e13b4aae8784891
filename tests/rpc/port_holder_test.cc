// Who holds a port, as a failed start says it. SPDX-License-Identifier: Apache-2.0
#include "rpc/port_holder.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>

#include "base/status.h"

namespace arion {
namespace {

class PortHolderTest : public testing::Test {
 protected:
  ~PortHolderTest() override {
    for (int fd : {first_, second_})
      if (fd >= 0) close(fd);
  }
  // Binds to a free port of loopback.
  static uint16_t Bind(int fd) {
    sockaddr_in own{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof(own)), 0);
    socklen_t size = sizeof(own);
    getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size);
    return ntohs(own.sin_port);
  }
  // "pid 4711 (name)"
  static std::string Ourselves() {
    std::ifstream comm("/proc/self/comm");
    std::string name;
    std::getline(comm, name);
    return absl::StrCat("pid ", getpid(), " (", name, ")");
  }
  int first_ = -1, second_ = -1;
};

TEST_F(PortHolderTest, WhoListensIsNamed) {
  first_ = socket(AF_INET, SOCK_STREAM, 0);
  const uint16_t port = Bind(first_);
  ASSERT_EQ(listen(first_, 1), 0);
  EXPECT_EQ(DescribePortHolder(port), Ourselves());
}

TEST_F(PortHolderTest, AnOutgoingConnectionIsNoListener) {
  first_ = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{
      .sin_family = AF_INET, .sin_port = htons(Bind(first_)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  ASSERT_EQ(listen(first_, 1), 0);
  second_ = socket(AF_INET, SOCK_STREAM, 0);
  const uint16_t port = Bind(second_);
  ASSERT_EQ(connect(second_, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  EXPECT_EQ(DescribePortHolder(port), "an outgoing connection of " + Ourselves());
}

TEST_F(PortHolderTest, APortOfUdpIsHeldToo) {
  first_ = socket(AF_INET, SOCK_DGRAM, 0);
  EXPECT_THAT(DescribePortHolder(Bind(first_)), testing::HasSubstr(Ourselves()));
}

TEST_F(PortHolderTest, OfAFreePortNothingIsSaid) { EXPECT_EQ(DescribePortHolder(1), ""); }

}  // namespace
}  // namespace arion
