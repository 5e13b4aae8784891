// SPDX-License-Identifier: Apache-2.0
#include "tools/log/sha256.h"

#include <absl/strings/escaping.h>
#include <openssl/sha.h>

#include "base/status.h"

namespace arion::logtool {

std::string Sha256Hex(std::string_view bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest), sizeof(digest)});
}

}  // namespace arion::logtool
