// SPDX-License-Identifier: Apache-2.0
#include "rpc/port_holder.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/status.h"

namespace arion {
namespace {

struct Holder {
  std::string inode;
  bool listens = false;
};

// Sockets with this local port, listening ones first.
std::vector<Holder> SocketsOn(uint16_t port) {
  std::vector<Holder> holders;
  // A listener on an IPv6 address may hold the IPv4 port too. Addresses are in hex; the state 0A is
  // LISTEN.
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6", "/proc/net/udp"}) {
    std::ifstream in(table);
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
      std::istringstream words(line);
      std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
      words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >>
          timeout >> inode;
      size_t colon = local.rfind(':');
      unsigned local_port = 0;
      if (colon == std::string::npos ||
          std::sscanf(local.c_str() + colon + 1, "%x", &local_port) != 1)
        continue;
      if (local_port == port) holders.push_back({inode, state == "0A"});
    }
  }
  std::sort(holders.begin(), holders.end(),
            [](const Holder& a, const Holder& b) { return a.listens > b.listens; });
  return holders;
}

std::string ProcessWithSocket(const std::string& inode) {
  std::error_code ignored;  // processes come and go, and some are not ours to look into
  const std::string wanted = "socket:[" + inode + "]";
  for (const auto& process : std::filesystem::directory_iterator("/proc", ignored)) {
    std::string pid = process.path().filename();
    if (!std::all_of(pid.begin(), pid.end(), [](unsigned char c) { return std::isdigit(c); }))
      continue;
    for (const auto& fd : std::filesystem::directory_iterator(process.path() / "fd", ignored)) {
      // Each socket of a process is a link "socket:[inode]" among its descriptors.
      if (std::filesystem::read_symlink(fd.path(), ignored) != wanted) continue;
      std::ifstream comm(process.path() / "comm");
      std::string name;
      std::getline(comm, name);
      return absl::StrCat("pid ", pid, " (", name, ")");
    }
  }
  return "";
}

}  // namespace

std::string DescribePortHolder(uint16_t port) {
  std::vector<Holder> holders = SocketsOn(port);
  // The first whose process can be told: the others' descriptors may not be read.
  for (const Holder& holder : holders) {
    std::string process = ProcessWithSocket(holder.inode);
    if (process.empty()) continue;
    return holder.listens ? process : absl::StrCat("an outgoing connection of ", process);
  }
  return holders.empty() ? "" : "a process of another user, or a connection that is just closing";
}

}  // namespace arion
