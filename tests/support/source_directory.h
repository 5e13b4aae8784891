// Where this source tree lies, for tests that read files of it or beside it. Compiled in one place: a path in every
// test's command line would keep trees at different places from sharing a compiler's cache.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace arion {

std::string SourceDirectory();  // absolute, no slash at its end

}  // namespace arion
