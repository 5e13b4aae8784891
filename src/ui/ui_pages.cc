// SPDX-License-Identifier: Apache-2.0
#include "ui/ui_pages.h"

#include <absl/strings/str_cat.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <string_view>

#include "base/status.h"
#include "ui/ui_assets.h"

namespace arion {
namespace {

// Nothing from elsewhere, nothing inline, in nobody's frame.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string FactsJson(const UiFacts& facts) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
  const auto write = [&](std::string_view text) {
    json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  };
  const auto field = [&](const char* name, std::string_view text) {
    json.Key(name);
    write(text);
  };
  json.StartObject();
  field("role", facts.role);
  field("cluster", facts.cluster);
  field("address", facts.address);
  field("version", facts.version);
  field("commit", facts.commit);
  field("durability", facts.durability);
  // The page draws plots only if the build embedded the library for it.
  json.Key("plots");
  json.Bool(std::any_of(UiAssets().begin(), UiAssets().end(),
                        [](const UiAsset& asset) { return asset.name == "uplot.js"; }));
  json.Key("meta_servers");
  json.StartArray();
  for (const std::string& address : facts.meta_servers) write(address);
  json.EndArray();
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace

HttpResponse AnswerAsset(const UiAsset& asset, const HttpRequest& request) {
  HttpResponse response{.content_type = std::string(asset.content_type),
                        .headers = {{"ETag", std::string(asset.etag)},
                                    // Kept, but asked for each time: after an upgrade no browser
                                    // mixes two versions' files.
                                    {"Cache-Control", "no-cache"},
                                    {"Vary", "Accept-Encoding"},
                                    {"Content-Security-Policy", std::string(kPolicy)},
                                    {"X-Content-Type-Options", "nosniff"},
                                    {"Referrer-Policy", "no-referrer"}}};
  if (request.Header("if-none-match") == asset.etag) {
    response.status = 304;
  } else if (request.Header("accept-encoding").find("gzip") != std::string_view::npos) {
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.body = asset.gzipped;
  } else {
    response.body = asset.bytes;
  }
  return response;
}

void AddUi(PageServer& pages, const UiFacts& facts) {
  for (const UiAsset& asset : UiAssets()) {
    const Page page = [&asset](const HttpRequest& request) { return AnswerAsset(asset, request); };
    // Both forms, since relative addresses in the page and people who type it use either.
    if (asset.name == "index.html") {
      pages.Add("/ui", "the dashboard, for a browser", page);
      pages.Add("/ui/", "", page);
    } else {
      pages.Add(absl::StrCat("/ui/", Text(asset.name)), "", page);
    }
  }
  pages.Add("/ui/about.json", "", [json = FactsJson(facts)](const HttpRequest&) {
    return HttpResponse{.content_type = "application/json", .body = json};
  });
}

}  // namespace arion
