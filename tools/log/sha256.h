// SHA-256 as lower-case hexadecimal digits, by OpenSSL; for `dump -j`, whose lines name payloads by
// it. OpenSSL's one door.
//
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace arion::logtool {

std::string Sha256Hex(std::string_view bytes);

}  // namespace arion::logtool
