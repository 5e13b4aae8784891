// SPDX-License-Identifier: Apache-2.0
#include "admin/meta_pages.h"

#include <gtest/gtest.h>

#include <map>

#include "meta/meta_options.h"
#include "meta/meta_service.h"
#include "meta_ensemble/follower_answers.h"
#include "meta_overview/cluster_overview.h"
#include "rpc/transport.h"

namespace arion {
namespace {

// One that does not lead.
class Follower : public MetaService {
 public:
  void Handle(InboundRequest request) override {
    AnswerAsFollower(leader, PeerGeneration::k25, request);
  }
  void Reconfigure(const MetaServerOptions&) override {}
  void Overview(std::function<void(ClusterOverview)>) override {}
  const MetaServerStats& stats() const override { return stats_; }

  std::optional<Endpoint> leader = Endpoint{0x0a000002, 34601};

 private:
  MetaServerStats stats_;
};

class MetaPagesTest : public ::testing::Test {
 protected:
  MetaPagesTest() {
    AddMetaPages([this](std::string path, const std::string&,
                        Page page) { pages_[std::move(path)] = std::move(page); },
                 follower_);
  }
  HttpResponse Ask(HttpRequest request) { return pages_.at(request.path)(request); }
  static std::string LocationOf(const HttpResponse& response) {
    for (const auto& [name, value] : response.headers)
      if (name == "Location") return value;
    return "";
  }

  Follower follower_;
  std::map<std::string, Page> pages_;
};

TEST_F(MetaPagesTest, WhoDoesNotLeadSendsReadersToTheOneThatDoes) {
  for (const char* path : {"/meta/apps", "/meta/nodes", "/meta/cluster"}) {
    const HttpResponse response = Ask({.method = "GET", .path = path});
    EXPECT_EQ(response.status, 307) << path;
    EXPECT_EQ(LocationOf(response), std::string("http://10.0.0.2:34601") + path);
  }
  for (const char* path : {"/meta/app", "/meta/app_envs", "/meta/split"}) {
    const HttpResponse response =
        Ask({.method = "GET", .path = path, .arguments = {{"name", "a b&c=\r\n"}, {"detail", ""}}});
    EXPECT_EQ(response.status, 307) << path;
    EXPECT_EQ(LocationOf(response),
              std::string("http://10.0.0.2:34601") + path + "?name=a%20b%26c%3D%0D%0A&detail");
  }
}

TEST_F(MetaPagesTest, WhatChangesSomethingIsNotSentOn) {
  const HttpResponse response = Ask({.method = "POST",
                                     .path = "/meta/app/start_compaction",
                                     .body = R"({"app_name":"t","type":"once"})"});
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(LocationOf(response), "");
  EXPECT_NE(response.body.find("http://10.0.0.2:34601"), std::string::npos) << response.body;
}

TEST_F(MetaPagesTest, WhereNobodyIsKnownToLeadThereIsNowhereToGo) {
  follower_.leader.reset();
  const HttpResponse response = Ask({.method = "GET", .path = "/meta/apps"});
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(LocationOf(response), "");
}

TEST_F(MetaPagesTest, WhatEachServerKnowsItselfIsAnsweredHere) {
  EXPECT_EQ(Ask({.method = "GET", .path = "/envs/list"}).status, 200);
  EXPECT_EQ(Ask({.method = "GET", .path = "/meta/app"}).status, 400) << "no table is named";
}

}  // namespace
}  // namespace arion
