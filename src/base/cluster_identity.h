// ClusterIdentity: which cluster a server is of. The name is configured; the id is made once by the
// cluster's meta server, and every replica server keeps it beside its data.
//
// Shapes    A tag of 52 bits states both in messages between servers: 20 bits of the name's
//           checksum, 32 of the id. 0, as a whole or in a part: not known, which goes with
//           everything (clients, tools, servers of older versions, a server's first moments).
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace arion {

// One for a server, made in main/ before anything listens. The name never changes; the id is
// learned once and then stays, unless Forget is called.
//
//   ClusterIdentity cluster("production");
//   if (!cluster.Adopt(id_of_meta_server)) return Refuse(cluster.ToString());
//   if (const auto what = cluster.DiffersIn(tag_of_peer)) return Refuse(*what);
class ClusterIdentity {
 public:
  // The id is not known yet.
  explicit ClusterIdentity(std::string name);

  const std::string& name() const { return name_; }
  // 0: not known yet.
  uint32_t id() const { return id_.load(std::memory_order_acquire); }
  // Takes `id` (not 0) for ours where none is known. False: ours is another.
  bool Adopt(uint32_t id);
  // The id is not known any more: it was made for a cluster that turns out to have another.
  void Forget();

  // What this server states of itself now.
  uint64_t tag() const { return tag_.load(std::memory_order_acquire); }
  // nullopt: a server with that tag may be one of ours. Else in what it differs, as a word for a
  // message.
  std::optional<std::string_view> DiffersIn(uint64_t tag) const;
  // Whether the tag states our name.
  bool HasNameOf(uint64_t tag) const;
  static uint32_t IdOf(uint64_t tag) { return static_cast<uint32_t>(tag); }
  // "production" (id 01234567)
  std::string ToString() const;

 private:
  const std::string name_;
  const uint64_t name_tag_;
  std::atomic<uint32_t> id_ = 0;
  std::atomic<uint64_t> tag_;
};

// An id as text, 8 hexadecimal digits; nullopt: the text is none.
std::string FormatClusterId(uint32_t id);
std::optional<uint32_t> ParseClusterId(std::string_view text);

}  // namespace arion
