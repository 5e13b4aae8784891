// ByteStream and ByteSession: a connection of the transport whose first bytes are of another
// protocol, handed over to who speaks it (http/).
//
// Threads   OnBytes comes on the connection's loop and must not block. Post: any thread; the rest
//           of ByteStream on the loop (in OnBytes, or in a task given to Post).
// Lifetime  The connection holds the session; the session holds the stream weakly.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "env/strand.h"

namespace arion {

// The connection, as a session uses it. Sessions hold it weakly and lock it for each use: it may be
// closed at any moment.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Runs `task` on the connection's loop.
  virtual void Post(Task task) = 0;
  // Queues bytes; without effect on a closed connection. `sent` runs once the kernel has taken all
  // bytes.
  virtual void Write(std::string bytes, Task sent) = 0;
  // Queues the last bytes. OnBytes does not come any more, and the connection closes once they are
  // sent.
  virtual void WriteLast(std::string bytes) = 0;
  // While paused the peer's bytes stay in the kernel, but for what was read already.
  virtual void PauseReading() = 0;
  virtual void ResumeReading() = 0;
  virtual Endpoint peer() const = 0;
};

// The other protocol's end of the connection. Destroyed when the connection is closed.
class ByteSession {
 public:
  virtual ~ByteSession() = default;
  // The peer's next bytes, in order, in pieces of any size.
  virtual void OnBytes(std::string_view bytes) = 0;
};

// Makes the session of a new connection, on its loop.
using ByteSessionFactory =
    std::function<std::shared_ptr<ByteSession>(std::weak_ptr<ByteStream> stream)>;

}  // namespace arion
