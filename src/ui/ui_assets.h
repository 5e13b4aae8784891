// The dashboard's files, as the build embedded them (embed.py).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/types/span.h>

#include <string_view>

namespace arion {

struct UiAsset {
  std::string_view name;  // "app.js"
  std::string_view content_type;
  std::string_view etag;
  std::string_view bytes;
  std::string_view gzipped;
};

absl::Span<const UiAsset> UiAssets();

}  // namespace arion
