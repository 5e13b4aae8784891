// SPDX-License-Identifier: Apache-2.0
#include "tools/pages/server_page.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "tools/shell/progress.h"

namespace arion::shell {
namespace {

TEST(ServerPageTest, SamplesAreReadWithTheirLabels) {
  const auto samples = ParseSamples(
      "# HELP arion_x y\narion_up 1\narion_x_total{disk=\"a,b\",table=\"t\\\"}\"} 2.5\nother 3\n"
      "arion_broken{disk=\"a\narion_none\n");
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].name, "up");
  EXPECT_EQ(samples[1].labels.at("disk"), "a,b");
  EXPECT_EQ(samples[1].labels.at("table"), "t\"}");
  EXPECT_EQ(SumOf(samples, "x_total", "disk", "a,b"), 2.5);
  EXPECT_EQ(SumOf(samples, "x_total", "disk", "c"), 0);
}

// Answers one question with these bytes, then holds the connection, or closes it, until the asker is gone.
class OneAnswer {
 public:
  OneAnswer(std::string bytes, bool holds) : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    at_ = {INADDR_LOOPBACK, ntohs(address.sin_port)};
    thread_ = std::thread([this, bytes = std::move(bytes), holds] {
      const int fd = accept(listener_, nullptr, nullptr);
      char asked[4096];
      EXPECT_GT(recv(fd, asked, sizeof(asked), 0), 0);
      EXPECT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(bytes.size()));
      if (holds) {
        EXPECT_EQ(recv(fd, asked, sizeof(asked), 0), 0);
      }
      close(fd);
    });
  }
  ~OneAnswer() {
    thread_.join();
    close(listener_);
  }
  Endpoint at() const { return at_; }

 private:
  const int listener_;
  Endpoint at_;
  std::thread thread_;
};

// As servers of 2.5 leave their connections.
TEST(ServerPageTest, AnAnswerEndsWhereItSaysThoughTheConnectionStaysOpen) {
  const OneAnswer page("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", true);
  const auto read = FetchPage(page.at(), "/version", PageForm::kJson);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, "hello");

  const OneAnswer none("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone", true);
  EXPECT_TRUE(IsNoSuchPage(FetchPage(none.at(), "/metrics", PageForm::kText).status()));
}

TEST(ServerPageTest, AnAnswerThatSaysNoLengthEndsWithItsConnection) {
  const OneAnswer page("HTTP/1.1 200 OK\r\n\r\nhello", false);
  EXPECT_EQ(*FetchPage(page.at(), "/version", PageForm::kJson), "hello");
}

TEST(ServerPageTest, AnAnswerThatIsCutOffIsNone) {
  const OneAnswer page("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", false);
  const absl::Status read = FetchPage(page.at(), "/version", PageForm::kJson).status();
  EXPECT_EQ(read.code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(IsNoSuchPage(read));
}

TEST(ServerPageTest, AQuantileIsTheEndOfItsBucket) {
  const auto samples = ParseSamples(
      "arion_t_bucket{le=\"0.001\"} 50\narion_t_bucket{le=\"0.002\"} 99\n"
      "arion_t_bucket{le=\"+Inf\"} 100\n");
  EXPECT_EQ(QuantileOf(samples, "t", 0.5), 0.001);
  EXPECT_EQ(QuantileOf(samples, "t", 0.99), 0.002);
  EXPECT_EQ(QuantileOf(samples, "t", 1), 0.002) << "the last end that is a number";
  EXPECT_EQ(QuantileOf(samples, "u", 0.5), 0);
}

TEST(ProgressTest, TellsRateAndRest) {
  EXPECT_EQ(ProgressText(0, 40, "partitions", absl::Seconds(1)), "0/40 partitions");
  EXPECT_EQ(ProgressText(12, 40, "partitions", absl::Seconds(4)),
            "12/40 partitions, 3.0/s, 9 s left");
  EXPECT_EQ(ProgressText(40, 40, "partitions", absl::Seconds(4)), "40/40 partitions");
}

}  // namespace
}  // namespace arion::shell
