// CrashModel: what of the recorded operations is durable for sure, and what a power cut may keep of
// the rest.
//
// Shapes    Each unsynced operation is a Change of one or more atoms: a sector whose bytes differ
//           from what lay there; the size, grown as far as the kept sectors; the size, grown to
//           the end; a truncation; a name. A crash keeps any subset of the atoms, applied in the
//           order of the operations; names and content are independent.
// Promises  crash_model/R1  A change of a file is durable once that file's own sync, begun after
//               the change completed, succeeded; a direct write to a place that was written and
//               synced before also once a flush of the device, begun after it completed, succeeded.
//           crash_model/R2  A name is durable once its directory was synced.
//           crash_model/R3  What a failed sync or flush was to cover never becomes durable (it may
//               be there).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/crash/disk_tree.h"
#include "tests/crash/recorded_disk.h"

namespace arion::crash {

struct Change {
  Op op;  // kName, kWrite, kTruncate
  bool complete = false;
  bool failed = false;
  bool in_place = false;  // a flush of the device covers it
  bool lost = false;
  bool extends = false;           // the size grows to the end of the write
  uint64_t flush_id = 0;          // the first flush begun after it completed
  std::vector<uint32_t> sectors;  // of the file, that the write changes

  size_t atoms() const {
    return op.kind == OpKind::kWrite ? sectors.size() + (extends ? 2 : 0) : 1;
  }
  // Whose sync makes it durable.
  uint64_t object() const { return op.kind == OpKind::kName ? op.directory : op.inode; }
};

// Which atoms a crash kept: all changes' atoms in a row, a write's sizes after its sectors.
using Choice = std::vector<bool>;

class CrashModel {
 public:
  explicit CrashModel(Tree durable = {});

  // True: what a crash may leave has changed.
  bool Apply(const Op& op);

  const std::vector<Change>& changes() const { return changes_; }
  size_t atoms() const;
  Tree Build(const Choice& choice) const;
  // The process dies and the machine lives on: what was given to the disk arrives. What the next
  // process sees.
  Tree EndProcess();

 private:
  void AddWrite(const Op& op);
  void Settle(const Change& change);
  template <class Covers>
  bool SettleWhere(Covers covers);

  Tree durable_;
  std::vector<Change> changes_;
};

}  // namespace arion::crash
