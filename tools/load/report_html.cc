// The HTML report: plots as SVG, so that the file is whole by itself.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>

#include "base/status.h"
#include "tools/load/report.h"
#include "tools/load/report_text.h"

namespace arion::load {
namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 240;
constexpr double kLeft = 70;
constexpr double kBottom = 26;
constexpr double kTop = 10;
constexpr std::string_view kColours[] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728"};

std::string Escape(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

enum class Scale { kLinear, kLogarithmic };
enum class Ticks { kEighths, kWhole };  // of the x axis

struct Plot {
  std::string title;
  std::string x_label;
  Scale scale = Scale::kLinear;
  Ticks x_ticks = Ticks::kEighths;
  std::function<std::string(double)> y_text;
  std::function<std::string(double)> x_text;
  std::vector<Line> lines;
};

// Where values come to lie.
class Axes {
 public:
  explicit Axes(const Plot& plot) : scale_(plot.scale), ticks_(plot.x_ticks) {
    double y_least = INFINITY;
    for (const Line& line : plot.lines) {
      for (const auto& [x, y] : line.points) {
        x_first_ = std::min(x_first_, x);
        x_last_ = std::max(x_last_, x);
        y_least = std::min(y_least, y);
        y_last_ = std::max(y_last_, y);
      }
    }
    if (scale_ == Scale::kLogarithmic) {
      y_first_ = std::pow(10, std::floor(std::log10(std::max(1.0, y_least))));
      y_last_ = std::pow(10, std::ceil(std::log10(std::max(y_last_, y_first_ * 10))));
    } else {
      y_last_ = std::max(1.0, y_last_ * 1.05);
    }
    if (x_last_ <= x_first_) x_last_ = x_first_ + 1;
  }
  double X(double x) const {
    return kLeft + (x - x_first_) / (x_last_ - x_first_) * (kWidth - kLeft - 10);
  }
  double Y(double y) const {
    double share = (y - y_first_) / (y_last_ - y_first_);
    if (scale_ == Scale::kLogarithmic) {
      share = std::log(std::max(y, y_first_) / y_first_) / std::log(y_last_ / y_first_);
    }
    return kTop + (1 - share) * (kHeight - kBottom - kTop);
  }
  std::vector<double> YTicks() const {
    std::vector<double> ticks;
    if (scale_ == Scale::kLogarithmic) {
      for (double y = y_first_; y <= y_last_ * 1.001; y *= 10) ticks.push_back(y);
    } else {
      for (int i = 0; i <= 4; ++i) ticks.push_back(y_last_ * i / 4);
    }
    return ticks;
  }
  std::vector<double> XTicks() const {
    std::vector<double> ticks;
    if (ticks_ == Ticks::kWhole) {
      for (double x = std::ceil(x_first_); x <= x_last_; ++x) ticks.push_back(x);
      return ticks;
    }
    for (int i = 0; i <= 8; ++i) ticks.push_back(x_first_ + (x_last_ - x_first_) * i / 8);
    return ticks;
  }

 private:
  const Scale scale_;
  const Ticks ticks_;
  double x_first_ = INFINITY;
  double x_last_ = -INFINITY;
  double y_first_ = 0;
  double y_last_ = 0;
};

std::string Draw(const Plot& plot) {
  const bool is_empty = std::all_of(plot.lines.begin(), plot.lines.end(),
                                    [](const Line& line) { return line.points.empty(); });
  if (is_empty) return "";
  const Axes axes(plot);
  std::string out = absl::StrFormat("<h3>%s</h3>\n<svg viewBox=\"0 0 %g %g\">\n",
                                    Escape(plot.title), kWidth, kHeight);
  for (double y : axes.YTicks()) {
    absl::StrAppendFormat(&out,
                          "<line class=\"grid\" x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\"/>"
                          "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                          kLeft, kWidth - 10, axes.Y(y), axes.Y(y), kLeft - 6, axes.Y(y) + 4,
                          plot.y_text(y));
  }
  for (double x : axes.XTicks()) {
    absl::StrAppendFormat(&out, "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%s</text>\n",
                          axes.X(x), kHeight - 8, plot.x_text(x));
  }
  for (size_t i = 0; i < plot.lines.size(); ++i) {
    absl::StrAppendFormat(&out, "<polyline stroke=\"%s\" points=\"",
                          kColours[i % std::size(kColours)]);
    for (const auto& [x, y] : plot.lines[i].points) {
      absl::StrAppendFormat(&out, "%.1f,%.1f ", axes.X(x), axes.Y(y));
    }
    out += "\"/>\n";
  }
  out += "</svg>\n<p class=\"legend\">";
  for (size_t i = 0; i < plot.lines.size(); ++i) {
    absl::StrAppendFormat(&out, "<span style=\"color:%s\">&#9644; %s</span> ",
                          kColours[i % std::size(kColours)], Escape(plot.lines[i].name));
  }
  return out + Escape(plot.x_label) + "</p>\n";
}

std::string LatencyTick(double nanos) { return LatencyText(static_cast<int64_t>(nanos)); }
std::string SecondsTick(double seconds) { return absl::StrFormat("%.3gs", seconds); }

std::string ThroughputPlot(const PhaseResult& phase) {
  Plot plot{.title = phase.name + ": operations a second",
            .y_text = [](double y) { return CountText(static_cast<uint64_t>(y)); },
            .x_text = SecondsTick,
            .lines = {{.name = "operations"}, {.name = "errors"}}};
  for (const SeriesPoint& point : phase.series) {
    plot.lines[0].points.emplace_back(point.at_seconds, point.operations_a_second);
    plot.lines[1].points.emplace_back(point.at_seconds, static_cast<double>(point.errors));
  }
  return Draw(plot);
}

std::string LatencyPlot(const PhaseResult& phase, size_t kind) {
  Plot plot{.title = absl::StrCat(phase.name, ": ", Text(NameOf(static_cast<Kind>(kind))), ", ",
                                  phase.loop == LoopKind::kOpen ? "intended" : "service",
                                  " latency by second"),
            .scale = Scale::kLogarithmic,
            .y_text = LatencyTick,
            .x_text = SecondsTick,
            .lines = {{.name = "p50"}, {.name = "p99"}, {.name = "p99.9"}, {.name = "max"}}};
  for (const SeriesPoint& point : phase.series) {
    const SeriesPoint::Latencies& of = point.kinds[kind];
    if (!of.has_any) continue;
    const int64_t values[] = {of.p50, of.p99, of.p999, of.max};
    for (size_t i = 0; i < plot.lines.size(); ++i) {
      plot.lines[i].points.emplace_back(point.at_seconds, static_cast<double>(values[i]));
    }
  }
  return Draw(plot);
}

// The usual picture of a tail: each step to the right is a tenth of what was left.
std::string TailPlot(const PhaseResult& phase, size_t kind) {
  const KindTally& tally = phase.total.kinds[kind];
  Plot plot{
      .title = absl::StrCat(phase.name, ": ", Text(NameOf(static_cast<Kind>(kind))),
                            ", latency by percentile"),
      .scale = Scale::kLogarithmic,
      .x_ticks = Ticks::kWhole,
      .y_text = LatencyTick,
      .x_text = [](double x) { return absl::StrFormat("%.6g%%", 100 * (1 - std::pow(10, -x))); },
      .lines = {{.name = "service"}}};
  if (phase.loop == LoopKind::kOpen) plot.lines.push_back({.name = "intended"});
  const double last = std::log10(static_cast<double>(std::max<uint64_t>(2, tally.service.count())));
  for (double x = 0; x <= last; x += last / 100) {
    const double percentile = 100 * (1 - std::pow(10, -x));
    const LatencyHistogram* of[] = {&tally.service, &tally.intended};
    for (size_t i = 0; i < plot.lines.size(); ++i) {
      plot.lines[i].points.emplace_back(x, static_cast<double>(of[i]->Percentile(percentile)));
    }
  }
  return Draw(plot);
}

}  // namespace

std::string HtmlOf(const Report& report) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>arion_load</title>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<style>:root{color-scheme:light dark}"
      "body{font:14px system-ui,sans-serif;font-variant-numeric:tabular-nums;max-width:900px;"
      "margin:2em auto;padding:0 "
      "1em;color:light-dark(#222,#ddd);background:light-dark(#fff,#14181a)}"
      "pre{background:light-dark(#f4f4f4,#1e2427);padding:1em;overflow-x:auto}svg{width:100%}"
      "svg text{font-size:11px;fill:light-dark(#555,#aaa)}.grid{stroke:light-dark(#ddd,#333)}"
      "polyline{fill:none;stroke-width:1.5}.legend{margin:0}</style></head><body>\n"
      "<h1>arion_load</h1>\n<h2>Configuration</h2>\n";
  absl::StrAppend(&out, "<pre>", Escape(ConfigurationText(report.configuration)),
                  "</pre>\n<h2>Summary</h2>\n<pre>", Escape(SummaryText(report)), "</pre>\n");
  for (const PhaseResult& phase : report.phases) {
    absl::StrAppend(&out, "<h2>", Escape(phase.name), "</h2>\n", ThroughputPlot(phase));
    for (size_t kind = 0; kind < kKinds; ++kind) {
      if (phase.total.kinds[kind].service.count() == 0) continue;
      out += LatencyPlot(phase, kind) + TailPlot(phase, kind);
    }
  }
  return out + "</body></html>\n";
}

}  // namespace arion::load
