// What can be told of a block whose checksum is right and that still can't be read: mutations with
// codes of other versions, counts that do not fit.
//
// Threads   Pure; takes any bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace arion::logtool {

// A line for each mutation as far as they can be told apart, codes by name and payload size.
std::string UnreadableBlockText(std::string_view mutations);

}  // namespace arion::logtool
