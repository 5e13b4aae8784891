// Readings of /metrics (Prometheus' text), and what lies between two of them.
// SPDX-License-Identifier: Apache-2.0

const SAMPLE = /^(\w+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const unescaped = text => text.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c));

export class Reading {
  constructor(text, at) {
    this.at = at;  // milliseconds
    this.families = new Map();
    this.names = new Set();  // those without a sample yet too
    for (const line of text.split('\n')) {
      if (line.startsWith('# TYPE arion_')) this.names.add(line.split(' ', 3)[2].replace(/^arion_/, ''));
      const found = line.startsWith('#') ? null : SAMPLE.exec(line);
      if (!found) continue;
      const labels = {};
      if (found[2]) for (const [, name, value] of found[2].matchAll(LABEL)) labels[name] = unescaped(value);
      const name = found[1].replace(/^arion_/, '');
      if (!this.families.has(name)) this.families.set(name, []);
      this.families.get(name).push({labels, value: Number(found[3].replace('Inf', 'Infinity'))});
    }
  }

  // `labels`: those it must have, {disk: 'd0'}, or a function that says whether they are meant.
  samples(name, labels = {}) {
    const all = this.families.get(name) ?? [];
    if (typeof labels === 'function') return all.filter(s => labels(s.labels));
    const wanted = Object.entries(labels);
    return wanted.length === 0 ? all : all.filter(s => wanted.every(([k, v]) => s.labels[k] === v));
  }
  // Of the samples that are meant; null if there is none.
  sum(name, labels) {
    const found = this.samples(name, labels);
    return found.length === 0 ? null : found.reduce((total, s) => total + s.value, 0);
  }
  // What values a label has in a family.
  values(name, label) {
    return [...new Set(this.samples(name).map(s => s.labels[label]).filter(v => v !== undefined))];
  }
}

// The last readings, the newest at the end.
export class Window {
  constructor(milliseconds) {
    this.milliseconds = milliseconds;
    this.readings = [];
  }

  add(reading) {
    // A server that was started anew counts from nothing.
    const start = r => r.sum('process_start_time_seconds');
    if (this.newest && start(this.newest) !== start(reading)) this.readings = [];
    this.readings.push(reading);
    while (this.readings.length > 2 && reading.at - this.readings[1].at >= this.milliseconds) this.readings.shift();
  }
  get newest() {
    return this.readings.at(-1);
  }
  get oldest() {
    return this.readings[0];
  }
  get seconds() {
    return this.readings.length < 2 ? 0 : (this.newest.at - this.oldest.at) / 1000;
  }

  // A counter's change a second; null where there were no two readings yet.
  rate(name, labels) {
    const now = this.newest?.sum(name, labels) ?? null;
    if (now === null || this.seconds === 0) return null;
    return Math.max(0, now - (this.oldest.sum(name, labels) ?? 0)) / this.seconds;
  }
  // Of what a histogram recorded within the window, in its unit; null: nothing.
  quantile(share, name, labels) {
    if (this.seconds === 0) return null;
    const cumulative = r => {
      const of = new Map();
      for (const s of r.samples(`${name}_bucket`, labels)) {
        const bound = Number(s.labels.le.replace('Inf', 'Infinity'));
        of.set(bound, (of.get(bound) ?? 0) + s.value);
      }
      return of;
    };
    const before = cumulative(this.oldest);
    const now = [...cumulative(this.newest)].map(([bound, n]) => [bound, n - (before.get(bound) ?? 0)]);
    now.sort((a, b) => a[0] - b[0]);
    const total = now.at(-1)?.[1] ?? 0;
    if (total <= 0) return null;
    let low = 0;
    let below = 0;
    for (const [bound, n] of now) {
      if (n >= share * total) {
        if (bound === Infinity) return low;
        return low + (bound - low) * ((share * total - below) / (n - below || 1));
      }
      low = bound;
      below = n;
    }
    return low;
  }
}
