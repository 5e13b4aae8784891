// SPDX-License-Identifier: Apache-2.0
#include "ui/ui_pages.h"
#include "ui/ui_assets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>

namespace arion {
namespace {

const UiAsset* Find(std::string_view name) {
  for (const UiAsset& asset : UiAssets())
    if (asset.name == name) return &asset;
  return nullptr;
}

std::string_view HeaderOf(const HttpResponse& response, std::string_view name) {
  for (const auto& [known, value] : response.headers)
    if (known == name) return value;
  return {};
}

bool IsOurs(const UiAsset& asset) { return !asset.name.starts_with("uplot"); }

TEST(UiPagesTest, SendsPackedBytesToWhoUnderstandsThem) {
  const UiAsset* app = Find("app.js");
  ASSERT_NE(app, nullptr);
  const HttpResponse packed = AnswerAsset(*app, {.headers = {{"accept-encoding", "gzip, br"}}});
  EXPECT_EQ(HeaderOf(packed, "Content-Encoding"), "gzip");
  EXPECT_EQ(packed.body.substr(0, 2), "\x1f\x8b");
  EXPECT_LT(packed.body.size(), app->bytes.size());
  const HttpResponse plain = AnswerAsset(*app, {});
  EXPECT_EQ(HeaderOf(plain, "Content-Encoding"), "");
  EXPECT_EQ(plain.body, app->bytes);
  EXPECT_EQ(plain.content_type, "text/javascript; charset=utf-8");
}

TEST(UiPagesTest, SendsNothingToWhoHasItAlready) {
  const UiAsset* app = Find("app.js");
  ASSERT_NE(app, nullptr);
  const HttpResponse again =
      AnswerAsset(*app, {.headers = {{"if-none-match", std::string(app->etag)}}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(AnswerAsset(*app, {.headers = {{"if-none-match", "\"older\""}}}).status, 200);
}

TEST(UiPagesTest, LetsThePageLoadNothingFromElsewhereOrInline) {
  for (const UiAsset& asset : UiAssets()) {
    const HttpResponse response = AnswerAsset(asset, {});
    const std::string_view policy = HeaderOf(response, "Content-Security-Policy");
    EXPECT_NE(policy.find("default-src 'none'"), std::string_view::npos);
    EXPECT_EQ(policy.find("unsafe"), std::string_view::npos);
  }
}

TEST(UiPagesTest, NamesNoOtherHost) {
  for (const UiAsset& asset : UiAssets()) {
    if (!IsOurs(asset)) continue;
    const std::string text(asset.bytes);
    const std::regex address("https?://[^'\" ]*");
    for (std::sregex_iterator found(text.begin(), text.end(), address), end; found != end; ++found)
      EXPECT_EQ(found->str(), "http://www.w3.org/2000/svg") << asset.name;
  }
}

TEST(UiPagesTest, HasEveryFileItAsksFor) {
  std::set<std::string> wanted;
  for (const UiAsset& asset : UiAssets()) {
    if (!IsOurs(asset)) continue;
    const std::string text(asset.bytes);
    const std::regex file("(/ui/|from '\\./)([a-z_]+\\.(js|css))['\"]");
    for (std::sregex_iterator found(text.begin(), text.end(), file), end; found != end; ++found)
      wanted.insert((*found)[2].str());
  }
  EXPECT_TRUE(wanted.contains("app.js") && wanted.contains("style.css") &&
              wanted.contains("dom.js"));
  for (const std::string& name : wanted) {
    // Asked for only where about.json says that the build has plots.
    if (name.starts_with("uplot")) continue;
    EXPECT_NE(Find(name), nullptr) << name;
  }
  EXPECT_EQ(Find("uplot.js") == nullptr, Find("uplot.css") == nullptr);
}

}  // namespace
}  // namespace arion
