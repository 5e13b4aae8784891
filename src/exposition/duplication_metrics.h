// The figures of duplications to other clusters: what each partition led here still has to send,
// and what was sent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "exposition/process_metrics.h"

namespace arion {

class Clock;
class DuplicationBook;

// By table, other cluster and partition; what was sent by table and other cluster.
MetricRegistrations RegisterDuplications(MetricRegistry& registry,
                                         std::shared_ptr<const DuplicationBook> book,
                                         const Clock& clock, uint64_t log_bytes_max);

}  // namespace arion
