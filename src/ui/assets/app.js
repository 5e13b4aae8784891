// Asks the server again and again, and draws what it says. Reads only.
// SPDX-License-Identifier: Apache-2.0
import {Chart, loadPlots} from './charts.js';
import * as clusterPage from './cluster.js';
import {h, morph} from './dom.js';
import {age, timeOfDay} from './format.js';
import {Reading, Window} from './metrics.js';
import * as serverPage from './server.js';

const EVERY_MS = 2000;
const TIMEOUT_MS = 5000;
const WINDOW_MS = 10000;

const $ = id => document.getElementById(id);
const window10 = new Window(WINDOW_MS);
let about = null;
let page = null;
let charts = [];
let latest = null;     // what the page's own read() gave
let answeredAt = null; // milliseconds
let failure = null;    // what went wrong with the last request
let paused = false;

async function ask(path, accept) {
  const answer = await fetch(path, {headers: {Accept: accept}, signal: AbortSignal.timeout(TIMEOUT_MS), cache: 'no-store'});
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.text();
}

async function poll() {
  try {
    if (!about) await begin();
    const reading = new Reading(await ask('/metrics', 'text/plain'), Date.now());
    const found = await page.read(ask, reading);
    const at = reading.at;
    window10.add(reading);
    if (about.plots && charts.length === 0) {
      charts = page.chartsOf(window10.newest).map(chart => new Chart($('chart-grid'), chart));
    }
    latest = found;
    answeredAt = at;
    failure = null;
    redraw();
    for (const chart of charts) chart.add(at, window10);
  } catch (error) {
    failure = error;
    for (const chart of charts) chart.interrupt(Date.now());
  }
  drawLive();
}

async function begin() {
  const facts = JSON.parse(await ask('/ui/about.json', 'application/json'));
  if (facts.plots) await loadPlots();
  about = facts;
  page = about.role === 'meta' ? clusterPage : serverPage;
  morph($('who'), [
    h('strong', {}, about.cluster), h('span', {}, `${about.role} server`), h('span', {class: 'address'}, about.address),
    about.role === 'meta' ? '' : h('nav', {'aria-label': 'Meta servers'},
      about.meta_servers.map(address => h('a', {href: `//${address}/ui`}, 'whole cluster')))]);
  morph($('foot'), [
    h('span', {}, `Arion ${about.version} (${about.commit})`),
    h('a', {href: '/metrics'}, '/metrics'), h('a', {href: '/'}, 'all pages')]);
  $('charts').hidden = false;
  if (!about.plots) {
    morph($('chart-grid'), [h('p', {class: 'empty'}, 'This build has no plots: thirdparty/get-uplot was not run before it.')]);
  }
}

function redraw() {
  if (!latest) return;
  const parts = page.draw(latest, window10, redraw, about);
  morph($('health'), parts.health);
  morph($('first'), parts.first);
  morph($('rest'), parts.rest);
  $('title').textContent = `${about.cluster}: ${about.role} server ${about.address}`;
  document.title = `${page.mark(latest, window10)}${about.cluster} · ${about.address} · Arion`;
}

// How old the figures are, once a second.
function drawLive() {
  const seconds = answeredAt === null ? null : (Date.now() - answeredAt) / 1000;
  const stale = failure !== null || (seconds !== null && !paused && seconds > 3 * EVERY_MS / 1000);
  document.body.classList.toggle('stale', stale && answeredAt !== null);
  document.body.classList.toggle('paused', paused);
  const where = location.host;
  if (stale && answeredAt === null) {
    morph($('health'), [h('div', {class: 'health', 'data-grade': 'bad'}, h('span', {class: 'badge'}, 'Unreachable'),
      h('div', {}, h('p', {class: 'wrong'}, `${where} does not answer.`), h('p', {class: 'doing'}, 'It is asked again every two seconds.')))]);
  }
  const text = paused ? `paused · ${age(seconds)} old`
    : stale ? (seconds === null ? 'no answer' : `stale · ${age(seconds)} old`)
    : seconds === null ? 'asking' : 'live';
  morph($('live'), [h('span', {class: 'dot'}), h('span', {}, text)]);
  const note = $('stale-note');
  if (!stale || answeredAt === null) note?.remove();
  else {
    const words = `${where} does not answer. The figures are from ${timeOfDay(answeredAt)}, ${age(seconds)} ago.`;
    if (note) note.textContent = words;
    else $('health').before(h('p', {id: 'stale-note', role: 'alert'}, words));
  }
}

// Keyboard -------------------------------------------------------------------------------------------------------------

const keys = () => ({
  '?': ['Show this list', () => $('help').showModal()],
  p: ['Pause, or go on', () => {
    paused = !paused;
    drawLive();
    if (!paused) poll();
  }],
  ...(page ? page.shortcuts(redraw, about) : {}),
});

function openHelp() {
  morph($('help-keys'), [...Object.entries(keys()).flatMap(([key, [what]]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, what)]),
    h('dt', {}, h('kbd', {}, 'Tab')), h('dd', {}, 'Next link, field or table; the arrow keys scroll a table')]);
  $('help').showModal();
}
$('help-button').onclick = openHelp;

addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || $('help').open) return;
  if (event.target instanceof HTMLInputElement) {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  if (event.key === '?') {
    openHelp();
    event.preventDefault();
    return;
  }
  const known = keys()[event.key];
  if (!known) return;
  event.preventDefault();
  known[1]();
});

// ----------------------------------------------------------------------------------------------------------------------

async function forever() {
  for (;;) {
    if (!paused && !document.hidden) await poll();
    await new Promise(resolve => setTimeout(resolve, EVERY_MS));
  }
}
document.addEventListener('visibilitychange', () => {
  if (document.hidden) for (const chart of charts) chart.interrupt(Date.now());
});
setInterval(drawLive, 1000);
forever();
