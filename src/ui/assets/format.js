// Numbers as people read them; a unit always stands beside.
// SPDX-License-Identifier: Apache-2.0

export const NONE = '–';

const isNumber = n => typeof n === 'number' && Number.isFinite(n);
const grouped = new Intl.NumberFormat('en-US', {maximumFractionDigits: 0});

// Three digits that count: 1.23, 12.3, 123, 1,234.
function short(n) {
  const size = Math.abs(n);
  return size >= 100 ? grouped.format(n) : n.toFixed(size >= 9.995 ? 1 : 2);
}

export const count = n => (isNumber(n) ? grouped.format(n) : NONE);
export const rate = n => (isNumber(n) ? `${n > 0 && n < 10 ? n.toFixed(1) : grouped.format(n)} /s` : NONE);
export const percent = share => (isNumber(share) ? `${Math.round(share * 100)} %` : NONE);

export function bytes(n) {
  if (!isNumber(n)) return NONE;
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let i = 0;
  while (Math.abs(n) >= 999.5 && i < units.length - 1) {
    n /= 1000;
    ++i;
  }
  return i === 0 ? `${Math.round(n)} B` : `${short(n)} ${units[i]}`;
}
export const byteRate = n => (isNumber(n) ? `${bytes(n)}/s` : NONE);

// Seconds, from microseconds to days.
export function duration(seconds) {
  if (!isNumber(seconds)) return NONE;
  if (seconds === 0) return '0 s';
  if (seconds < 0.9995e-3) return `${short(seconds * 1e6)} µs`;
  if (seconds < 0.9995) return `${short(seconds * 1e3)} ms`;
  if (seconds < 59.5) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

// How long ago, in whole seconds.
export const age = seconds => (isNumber(seconds) && seconds < 59.5 ? `${Math.round(seconds)} s` : duration(seconds));

export const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;
export const timeOfDay = ms => new Date(ms).toLocaleTimeString('en-GB');
