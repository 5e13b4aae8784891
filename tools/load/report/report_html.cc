// The HTML report: one file, whole by itself. Its plots are uPlot's, which the build embeds for the
// dashboard (src/ui); without it the report has the figures alone, and says so.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_replace.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "tools/load/report/report.h"
#include "tools/load/report/report_text.h"
#include "ui/ui_assets.h"

namespace arion::load {
namespace {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark }
body { font: 14px system-ui, sans-serif; font-variant-numeric: tabular-nums; max-width: 900px;
  margin: 2em auto; padding: 0 1em; color: light-dark(#222, #ddd); background: light-dark(#fff, #14181a) }
pre { background: light-dark(#f4f4f4, #1e2427); padding: 1em; overflow-x: auto }
.grid { color: light-dark(#ddd, #333) } .muted { color: light-dark(#555, #aaa) }
)css";

// `plots`: what WritePlot says. Drag to zoom, double click to see all again.
constexpr std::string_view kScript = R"js(
const COLOURS = ['#1f77b4', '#ff7f0e', '#2ca02c', '#d62728'];
const inUnit = (n, unit, name) => `${(n / unit).toPrecision(3)} ${name}`;
const FORMATS = {
  latency: n => n >= 1e9 ? inUnit(n, 1e9, 's') : n >= 1e6 ? inUnit(n, 1e6, 'ms') : n >= 1e3 ? inUnit(n, 1e3, 'µs') : `${n} ns`,
  count: n => n.toLocaleString('en', {maximumFractionDigits: 0}),
  seconds: n => `${+n.toFixed(1)} s`,
  nines: n => `${(100 * (1 - 10 ** -n)).toFixed(Math.max(0, Math.ceil(n) - 1))} %`,
};
const written = kind => (_, n) => n === null || n === undefined ? '–' : FORMATS[kind](n);
const colourOf = name => {
  const probe = document.body.appendChild(Object.assign(document.createElement('span'), {className: name}));
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
};
function draw(of, box) {
  const axis = kind => ({
    stroke: colourOf('muted'), grid: {stroke: colourOf('grid'), width: 1}, ticks: {show: false},
    values: (_, ticks) => ticks.map(n => n === null ? '' : FORMATS[kind](n)),
  });
  return new uPlot({
    title: of.title, width: box.clientWidth, height: 260,
    scales: {x: {time: false}, y: of.y === 'latency' ? {distr: 3} : {range: (_, low, high) => [0, Math.max(1, high * 1.05)]}},
    axes: [{...axis(of.x), ...(of.x === 'nines' && {incrs: [1, 2, 5]})}, {...axis(of.y), size: 72}],
    series: [{label: of.x === 'nines' ? 'percentile' : 'time', value: written(of.x)},
      ...of.names.map((label, i) => ({label, stroke: COLOURS[i], width: 1.5, points: {show: of.data[0].length < 2}, value: written(of.y)}))],
  }, of.data, box);
}
const drawn = plots.map(of => ({of, box: document.getElementById(of.at)}));
const drawAll = () => drawn.forEach(one => { one.plot?.destroy(); one.plot = draw(one.of, one.box); });
drawAll();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
addEventListener('resize', () => drawn.forEach(({plot, box}) => plot.setSize({width: box.clientWidth, height: 260})));
)js";

std::string Escape(std::string_view text) {
  return absl::StrReplaceAll(Text(text),
                             {{"<", "&lt;"}, {">", "&gt;"}, {"&", "&amp;"}, {"\"", "&quot;"}});
}

// Empty where the build has no such file.
std::string_view AssetOf(std::string_view name) {
  for (const UiAsset& asset : UiAssets())
    if (asset.name == name) return asset.bytes;
  return "";
}

// Columns over one x axis; a value that is not there is no point of its line.
struct Plot {
  std::string title;
  std::string_view x;  // how values are written: "seconds" or "nines"
  std::string_view y;  // "latency", in ns, on a logarithmic axis; or "count"
  std::vector<std::string_view> names;
  std::vector<double> at;
  std::vector<std::vector<std::optional<double>>> columns;
};

Plot ThroughputPlot(const PhaseResult& phase) {
  Plot plot{.title = phase.name + ": operations a second",
            .x = "seconds",
            .y = "count",
            .names = {"operations", "errors"},
            .columns = std::vector<std::vector<std::optional<double>>>(2)};
  for (const SeriesPoint& point : phase.series) {
    plot.at.push_back(point.at_seconds);
    plot.columns[0].push_back(point.operations_a_second);
    plot.columns[1].push_back(static_cast<double>(point.errors));
  }
  return plot;
}

Plot LatencyPlot(const PhaseResult& phase, size_t kind) {
  Plot plot{.title = absl::StrCat(phase.name, ": ", Text(NameOf(static_cast<Kind>(kind))), ", ",
                                  phase.loop == LoopKind::kOpen ? "intended" : "service",
                                  " latency by second"),
            .x = "seconds",
            .y = "latency",
            .names = {"p50", "p99", "p99.9", "max"},
            .columns = std::vector<std::vector<std::optional<double>>>(4)};
  for (const SeriesPoint& point : phase.series) {
    const SeriesPoint::Latencies& of = point.kinds[kind];
    const int64_t values[] = {of.p50, of.p99, of.p999, of.max};
    plot.at.push_back(point.at_seconds);
    for (size_t i = 0; i < plot.columns.size(); ++i) {
      plot.columns[i].push_back(
          of.has_any ? std::optional(static_cast<double>(std::max<int64_t>(1, values[i])))
                     : std::nullopt);
    }
  }
  return plot;
}

// The usual picture of a tail: each step to the right is a tenth of what was left.
Plot TailPlot(const PhaseResult& phase, size_t kind) {
  const KindTally& tally = phase.total.kinds[kind];
  Plot plot{.title = absl::StrCat(phase.name, ": ", Text(NameOf(static_cast<Kind>(kind))),
                                  ", latency by percentile"),
            .x = "nines",
            .y = "latency",
            .names = {"service"}};
  std::vector<const LatencyHistogram*> of = {&tally.service};
  if (phase.loop == LoopKind::kOpen) {
    plot.names.push_back("intended");
    of.push_back(&tally.intended);
  }
  plot.columns.resize(of.size());
  // As far as there are samples: with n of them no tail beyond 1 in n is known.
  const double last = std::log10(static_cast<double>(std::max<uint64_t>(2, tally.service.count())));
  for (int step = 0; step <= 100; ++step) {
    const double nines = last * step / 100;
    plot.at.push_back(nines);
    // A logarithmic axis has no 0.
    for (size_t i = 0; i < of.size(); ++i) {
      plot.columns[i].push_back(static_cast<double>(
          std::max<int64_t>(1, of[i]->Percentile(100 * (1 - std::pow(10, -nines))))));
    }
  }
  return plot;
}

void String(JsonWriter& out, std::string_view text) {
  out.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void WritePlot(JsonWriter& out, const Plot& plot, const std::string& at) {
  const auto member = [&out](std::string_view key, std::string_view value) {
    out.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
    String(out, value);
  };
  out.StartObject();
  member("at", at);
  member("title", plot.title);
  member("x", plot.x);
  member("y", plot.y);
  out.Key("names");
  out.StartArray();
  for (std::string_view name : plot.names) String(out, name);
  out.EndArray();
  out.Key("data");
  out.StartArray();
  out.StartArray();
  for (double x : plot.at) out.Double(x);
  out.EndArray();
  for (const auto& column : plot.columns) {
    out.StartArray();
    for (const std::optional<double>& y : column) {
      if (y) {
        out.Double(*y);
      } else {
        out.Null();
      }
    }
    out.EndArray();
  }
  out.EndArray();
  out.EndObject();
}

}  // namespace

std::string HtmlOf(const Report& report) {
  const std::string_view uplot = AssetOf("uplot.js");
  std::string out = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>arion_load</title>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>",
      Text(AssetOf("uplot.css")), Text(kStyle), "</style></head><body>\n<h1>arion_load</h1>\n",
      "<h2>Configuration</h2>\n<pre>", Escape(ConfigurationText(report.configuration)),
      "</pre>\n<h2>Summary</h2>\n<pre>", Escape(SummaryText(report)), "</pre>\n");
  if (uplot.empty()) {
    return out +
           "<p>This build has no plots: thirdparty/get-uplot was not run before it.</p>\n"
           "</body></html>\n";
  }
  rapidjson::StringBuffer plots;
  JsonWriter writer(plots);
  int count = 0;
  const auto add = [&](const Plot& plot) {
    const std::string at = absl::StrCat("plot", ++count);
    absl::StrAppend(&out, "<div id=\"", at, "\"></div>\n");
    WritePlot(writer, plot, at);
  };
  writer.StartArray();
  for (const PhaseResult& phase : report.phases) {
    absl::StrAppend(&out, "<h2>", Escape(phase.name), "</h2>\n");
    if (!phase.series.empty()) add(ThroughputPlot(phase));
    for (size_t kind = 0; kind < kKinds; ++kind) {
      if (phase.total.kinds[kind].service.count() == 0) continue;
      if (!phase.series.empty()) add(LatencyPlot(phase, kind));
      add(TailPlot(phase, kind));
    }
  }
  writer.EndArray();
  // "<" in a string would end the script where "/script" follows.
  const std::string data = absl::StrReplaceAll(plots.GetString(), {{"<", "\\u003c"}});
  return absl::StrCat(out, "<script>", Text(uplot), "</script>\n<script>\nconst plots = ", data,
                      ";", Text(kScript), "</script>\n</body></html>\n");
}

}  // namespace arion::load
