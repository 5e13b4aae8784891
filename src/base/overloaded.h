// Overloaded: what std::visit takes: a lambda for each alternative.
//
//   std::visit(Overloaded{[](const Put& put) { ... }, [](const Remove& remove) { ... }}, request);
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace arion {

// Made in the call to std::visit and gone with it. A missing alternative does not compile.
template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace arion
