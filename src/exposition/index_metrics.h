// The figures of indexes: how far each is built, and what it holds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "exposition/process_metrics.h"

namespace arion {

class IndexBook;

// By table and index, over the replicas that are here.
MetricRegistrations RegisterIndexes(MetricRegistry& registry,
                                    std::shared_ptr<const IndexBook> book);

}  // namespace arion
