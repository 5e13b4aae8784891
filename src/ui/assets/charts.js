// Lines over time, drawn by uPlot where the build has it.
// SPDX-License-Identifier: Apache-2.0
import {h} from './dom.js';
import {NONE, timeOfDay} from './format.js';

const POINTS_MAX = 450;  // fifteen minutes
const HEIGHT = 150;
const SECONDS_LEAST = 60;  // on the x axis
const DASHES = [[], [5, 3], [1.5, 3]];
const all = [];

export async function loadPlots() {
  await new Promise((resolve, reject) => {
    const script = h('script', {src: '/ui/uplot.js', onload: resolve, onerror: reject});
    document.head.append(h('link', {rel: 'stylesheet', href: '/ui/uplot.css'}), script);
  });
}

// Of a custom property, as the canvas understands it.
function colour(name) {
  const probe = document.body.appendChild(h('span', {class: `colour-${name}`}));
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

export class Chart {
  // `series`: [{label, of: window => number or null}]; `format`: how a value is written; `least`: the y axis reaches at
  // least so far.
  constructor(grid, {title, format, series, least}) {
    this.format = format;
    this.series = series;
    this.least = least;
    this.data = [[], ...series.map(() => [])];
    this.values = series.map(() => h('data', {}, NONE));
    this.when = h('span', {class: 'when'});
    this.box = h('div', {class: 'plot', 'aria-hidden': 'true'});
    grid.append(h('figure', {class: 'card chart'},
      h('figcaption', {}, title, this.when),
      h('ul', {class: 'legend'}, series.map((s, i) => h('li', {}, h('span', {class: `swatch series-${i + 1}`}), s.label, ' ', this.values[i]))),
      this.box));
    all.push(this);
  }

  add(at, window) {
    this.data[0].push(at / 1000);
    this.series.forEach((s, i) => this.data[i + 1].push(s.of(window)));
    if (this.data[0].length > POINTS_MAX) this.data.forEach(column => column.shift());
    if (this.plot) this.plot.setData(this.data);
    else this.draw();
    this.tell();
  }
  // A gap: figures from before and after are not to be joined.
  interrupt(at) {
    if (this.data[0].length === 0 || this.data.slice(1).every(column => column.at(-1) === null)) return;
    this.data[0].push(at / 1000);
    this.series.forEach((_, i) => this.data[i + 1].push(null));
    this.plot?.setData(this.data);
  }
  // The figures under the pointer, else the newest.
  tell() {
    const under = this.plot?.cursor.idx ?? null;
    const i = under ?? this.data[0].length - 1;
    this.values.forEach((value, s) => {
      value.textContent = this.format(this.data[s + 1][i] ?? null);
    });
    this.when.textContent = under === null ? '' : timeOfDay(this.data[0][i] * 1000);
  }
  draw() {
    this.plot?.destroy();
    const axis = {
      stroke: colour('muted'), grid: {stroke: colour('line'), width: 1}, ticks: {show: false}, font: '11px system-ui, sans-serif',
    };
    this.plot = new uPlot({
      width: this.width(), height: HEIGHT, padding: [8, 4, 0, 0], legend: {show: false},
      cursor: {y: false, points: {size: 6}, drag: {x: false, y: false}},
      // For a single point uPlot would have the x axis span a day.
      scales: {x: {range: () => this.span()}, y: {range: (_, low, high) => [0, Math.max(high ?? 0, this.least) * 1.08]}},
      axes: [
        {...axis, size: 24, space: 84, values: (_, ticks) => ticks.map(t => timeOfDay(t * 1000))},
        {...axis, size: 66, space: 36, values: (_, ticks) => ticks.map(t => this.format(t))},
      ],
      series: [{}, ...this.series.map((s, i) => ({
        label: s.label, stroke: colour(`series-${i + 1}`), dash: DASHES[i], width: 1.75, points: {show: false},
      }))],
      hooks: {setCursor: [() => this.tell()]},
    }, this.data, this.box);
  }
  // Of the x axis.
  span() {
    const last = this.data[0].at(-1);
    return [Math.min(this.data[0][0], last - SECONDS_LEAST), last];
  }
  width() {
    return Math.max(200, this.box.clientWidth);
  }
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => all.forEach(chart => chart.plot && chart.draw()));
addEventListener('resize', () => all.forEach(chart => chart.plot?.setSize({width: chart.width(), height: HEIGHT})));
