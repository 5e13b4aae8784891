// What both pages are put together from.
// SPDX-License-Identifier: Apache-2.0
import {h} from './dom.js';

// A figure with what it was read from, so that it can be compared to /metrics.
export function figure(text, value, metric) {
  return h('data', {value: value ?? '', 'data-metric': metric}, text);
}

// {label, text, value, metric, note, grade}: grade 'warn' or 'bad' also says so in words by `note`.
export function tiles(list) {
  return h('dl', {class: 'tiles'}, list.filter(Boolean).map(tile => h('div', {class: 'tile', 'data-grade': tile.grade},
    h('dt', {}, tile.label),
    h('dd', {}, figure(tile.text, tile.value, tile.metric), tile.note && h('small', {}, tile.note)))));
}

export function section(id, title, aside, ...content) {
  return h('section', {id, 'aria-labelledby': `${id}-title`},
    h('div', {class: 'section-head'}, h('h2', {id: `${id}-title`}, title), aside && h('p', {class: 'aside'}, aside)),
    content);
}

// columns: [{title, n: true for numbers, is: true for what names the row}]; rows: arrays of cells.
export function table(label, columns, rows, emptyText) {
  if (rows.length === 0) return h('p', {class: 'empty'}, emptyText);
  return h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `${label}, table`},
    h('table', {},
      h('thead', {}, h('tr', {}, columns.map(c => h('th', {scope: 'col', class: c.n && 'n'}, c.title)))),
      h('tbody', {}, rows.map(row => h('tr', {}, row.map((cell, i) => {
        const column = columns[i];
        return h(column.is ? 'th' : 'td', {scope: column.is && 'row', class: column.n && 'n'}, cell);
      }))))));
}

// A state in words behind a sign of its own shape.
export const state = (grade, text) => h('span', {class: 'state', 'data-grade': grade}, text);

export function health(grade, wrong, doing, name) {
  name ??= {good: 'Healthy', warn: 'Reduced', bad: 'Failing', busy: 'Starting'}[grade];
  return h('div', {class: 'health', 'data-grade': grade},
    h('span', {class: 'badge'}, name),
    h('div', {}, h('p', {class: 'wrong'}, wrong), doing && h('p', {class: 'doing'}, doing)));
}

export function progress(label, done, total, text) {
  return h('div', {class: 'progress'},
    h('span', {}, label),
    h('progress', {max: Math.max(total, 1), value: total > 0 ? done : 1, 'aria-label': label}),
    h('span', {class: 'n'}, text));
}
