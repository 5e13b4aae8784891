// The dashboard's files, as the build embedded them (embed.py).
//
// Threads   Constants: any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/types/span.h>

#include <string_view>

namespace arion {

// One file, made when the program is built; all views live as long as the program.
struct UiAsset {
  // "app.js"
  std::string_view name;
  std::string_view content_type;
  std::string_view etag;
  std::string_view bytes;
  std::string_view gzipped;
};

// All of them, "index.html" among them. The library that draws plots may be missing (ui_pages.cc,
// "plots"). Thread-safe.
absl::Span<const UiAsset> UiAssets();

}  // namespace arion
