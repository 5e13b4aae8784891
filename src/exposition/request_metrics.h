// What clients ask of a replica server, on /metrics, /slow and /hotkeys.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/instant.h"
#include "exposition/process_metrics.h"
#include "metrics/metric_registry.h"
#include "stats/request_stats.h"

namespace arion {

struct HttpRequest;
struct HttpResponse;
class RecentRows;
class SlowRequests;

// Counts, times, bytes and errors by kind of request, and the stages of writes; also the sums that
// older collectors know. `recent` is shared with the other families of the server.
MetricRegistrations RegisterRequests(MetricRegistry& registry,
                                     const std::shared_ptr<RecentRows>& recent);

// /slow as JSON, newest first. Of one table (?table=t) or partition (?partition=2.1), at most
// ?limit=100.
HttpResponse AnswerSlow(const SlowRequests& slow, const HttpRequest& request);
// /hotkeys as JSON, hottest first, with the same arguments. Keys are texts in which bytes that are
// not ASCII stand as \xhh.
HttpResponse AnswerHotKeys(const RequestBook& book, Instant now, const HttpRequest& request);

}  // namespace arion
