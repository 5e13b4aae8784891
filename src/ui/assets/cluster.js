// The page of a meta server: what the cluster is like.
// SPDX-License-Identifier: Apache-2.0
import {h} from './dom.js';
import {age, count, duration, plural, rate, NONE} from './format.js';
import {figure, health, section, state, table, tiles} from './parts.js';

const GRADES = {healthy: 'good', reduced: 'warn', failing: 'bad'};
const ILL = ['dead', 'unreadable', 'unwritable', 'writable_ill'];
const ROWS_MAX = 50;

const seen = {filter: '', onlyUnhealthy: false, all: false};

export const shortcuts = redraw => ({
  '/': ['Filter the tables', () => document.getElementById('filter')?.focus()],
  u: ['Show only tables that are not healthy, or all', () => {
    seen.onlyUnhealthy = !seen.onlyUnhealthy;
    redraw();
  }],
});

export async function read(ask) {
  const cluster = JSON.parse(await ask('/ui/cluster.json', 'application/json'));
  if (cluster.leadership.is_one_of_several) cluster.ensemble = JSON.parse(await ask('/meta/ensemble', 'application/json'));
  return cluster;
}

const total = t => Object.values(t.partitions).reduce((sum, n) => sum + n, 0);
const unhealthy = t => ILL.reduce((sum, name) => sum + t.partitions[name], 0);

export function mark(cluster) {
  return {healthy: '', reduced: '! ', failing: '✕ '}[cluster.health] ?? '';
}

export function chartsOf() {
  return [
    {title: 'Partitions that are not healthy', format: count, least: 4, series: [
      {label: 'fewer copies', of: w => w.newest.sum('writable_ill_partitions') ?? 0},
      {label: 'refuse writes', of: w => w.newest.sum('unwritable_partitions') ?? 0},
      {label: 'no primary', of: w => (w.newest.sum('unreadable_partitions') ?? 0) + (w.newest.sum('dead_partitions') ?? 0)},
    ]},
    {title: 'Configuration changes a second', format: rate, least: 1, series: [
      {label: 'changes', of: w => w.rate('partition_configuration_changes_total')},
    ]},
  ];
}

export function draw(cluster, window, redraw) {
  // One that follows knows nothing of tables and servers.
  if (!cluster.leadership.is_leader) {
    const isFollower = cluster.leadership.leader !== null;
    return {
      health: [health(isFollower ? 'busy' : 'warn', cluster.wrong, cluster.doing, isFollower ? 'Follows' : 'No leader')],
      first: [leaderLink(cluster)],
      rest: ensemble(cluster.ensemble),
    };
  }
  return {
    health: [health(GRADES[cluster.health], cluster.wrong, cluster.doing)],
    first: [summary(cluster, window), heatMapOrThatThere(cluster, redraw)],
    rest: [servers(cluster), work(cluster), ...ensemble(cluster.ensemble)],
  };
}

function summary(cluster, window) {
  const partitions = cluster.tables.reduce((sum, t) => sum + total(t), 0);
  const of = name => cluster.tables.reduce((sum, t) => sum + t.partitions[name], 0);
  const alive = cluster.servers.filter(s => s.alive).length;
  const silent = cluster.servers.length - alive;
  const bad = (label, name, note) => ({
    label, text: count(of(name)), value: of(name), metric: `arion_${name}_partitions`,
    grade: of(name) > 0 ? (name === 'writable_ill' ? 'warn' : 'bad') : null, note: of(name) > 0 ? note : null,
  });
  const changes = window.newest.sum('partition_configuration_changes_total');
  return tiles([
    {label: 'Servers alive', text: count(alive), value: alive, metric: 'arion_alive_replica_servers',
      grade: silent ? 'warn' : null, note: silent ? `${count(silent)} silent` : `of ${count(cluster.servers.length)}`},
    {label: 'Partitions healthy', text: count(of('healthy')), value: of('healthy'), metric: 'arion_healthy_partitions',
      note: `of ${count(partitions)}`},
    bad('Fewer copies', 'writable_ill', 'still served'),
    bad('Too few to write', 'unwritable', 'writes refused'),
    bad('No primary', 'unreadable', 'not served'),
    bad('No copy at all', 'dead', 'not served'),
    {label: 'Member changes', text: count(changes), value: changes,
      metric: 'arion_partition_configuration_changes_total', note: 'since the start'},
    {label: 'Level', text: cluster.level, value: cluster.level},
  ]);
}

// How many of its table's primaries a server has, against an even share: 1 none, 3 its share, 5 half as many again.
function heat(share, even) {
  if (share.primaries + share.secondaries === 0) return 0;
  const times = share.primaries / even;
  return times === 0 ? 1 : times <= 0.7 ? 2 : times <= 1.3 ? 3 : times <= 1.5 ? 4 : 5;
}

const EMPTY = {primaries: 0, secondaries: 0, unhealthy: 0, opening: 0, learning: 0};

function cell(share, even, isAlive) {
  const words = [`${plural(share.primaries, 'primary', 'primaries')}, ${plural(share.secondaries, 'secondary', 'secondaries')}`];
  if (share.unhealthy) words.push(`${share.unhealthy} of partitions that are not healthy`);
  if (share.opening) words.push(`${share.opening} being opened`);
  if (share.learning) words.push(`${share.learning} being made`);
  const all = words.join(', ');
  const empty = Object.values(share).every(n => n === 0);
  return h('td', {class: 'heat', 'data-heat': heat(share, even), 'data-ill': share.unhealthy > 0, 'data-silent': !isAlive, title: all,
    'aria-label': all},
    empty ? '·' : [h('b', {}, count(share.primaries)), ` + ${count(share.secondaries)}`,
      share.unhealthy > 0 && h('em', {class: 'ill'}, ` !${count(share.unhealthy)}`),
      share.opening + share.learning > 0 && h('em', {class: 'busy'}, ` ↻${count(share.opening + share.learning)}`)]);
}

const shortName = (address, servers) => {
  const [host, port] = address.split(':');
  if (servers.length === 1) return address;
  if (servers.every(s => s.server.startsWith(`${host}:`))) return `:${port}`;
  return servers.every(s => s.server.endsWith(`:${port}`)) ? host : address;
};

function durability(t) {
  if (t.durability.length === 0) return h('span', {class: 'muted'}, NONE);
  const only = t.durability.length === 1 ? t.durability[0] : null;
  if (only === 'fsync') return h('span', {title: 'An acknowledged write survives a power cut'}, 'fsync');
  if ((t.older_servers ?? []).length > 0) {
    return h('span', {title: `Members of an older version acknowledge what is in their page cache: ${t.older_servers.join(', ')}`},
      state('warn', 'not past a power cut of older servers'));
  }
  return state('warn', only === 'os' ? 'os: not past a power cut' : 'mixed: fsync and os');
}

// What its partitions wait for is in the title: they may be many.
function splitOf(split) {
  const words = [`split ${count(split.from)} → ${count(split.to)}: ${count(split.registered)} done`];
  if (split.paused > 0) words.push(`${count(split.paused)} paused`);
  if (split.seconds_left !== null) words.push(`about ${duration(split.seconds_left)} left`);
  return h('small', {title: split.parents.map(p => `${p.partition}: ${p.progress}`).join('\n')}, words.join(', '));
}

// The map is large where the cluster is: it is made anew only when something in it changed.
let drawnOf = null;
function heatMapOrThatThere(cluster, redraw) {
  const of = JSON.stringify([cluster.tables, cluster.servers.map(s => [s.server, s.alive]), seen]);
  const there = document.getElementById('tables');
  if (there && of === drawnOf) return there;
  drawnOf = of;
  return heatMap(cluster, redraw);
}

function heatMap(cluster, redraw) {
  const rows = cluster.tables
    .filter(t => t.name.includes(seen.filter) && (!seen.onlyUnhealthy || unhealthy(t) > 0))
    .sort((a, b) => (unhealthy(b) > 0) - (unhealthy(a) > 0) || a.id - b.id);
  const shown = seen.all ? rows : rows.slice(0, ROWS_MAX);
  const controls = h('div', {class: 'controls'},
    h('input', {id: 'filter', type: 'search', placeholder: 'Filter tables', 'aria-label': 'Filter tables by name',
      oninput: event => {
        seen.filter = event.target.value;
        redraw();
      }}),
    h('button', {type: 'button', 'aria-pressed': String(seen.onlyUnhealthy), onclick: () => {
      seen.onlyUnhealthy = !seen.onlyUnhealthy;
      redraw();
    }}, 'Only unhealthy'));
  const aside = [h('b', {}, 'primaries'), ' + secondaries', h('em', {class: 'ill'}, ' ! '), 'not healthy',
    h('em', {class: 'busy'}, ' ↻ '), 'being opened or made; the stronger the colour, the more of the table’s primaries'];
  if (cluster.tables.length === 0) {
    return section('tables', 'Tables', null, h('p', {class: 'empty'}, 'There is no table yet. ',
      h('code', {}, "arion_shell -e 'create temp -p 8'"), ' makes one.'));
  }
  const head = h('tr', {}, h('th', {scope: 'col'}, 'Table'), h('th', {scope: 'col', class: 'n'}, 'Healthy'),
    cluster.servers.map(s => h('th', {scope: 'col', class: 'node', 'data-silent': !s.alive},
      h('a', {href: `//${s.server}/ui`, title: `The page of ${s.server}`}, shortName(s.server, cluster.servers)),
      !s.alive && h('span', {class: 'silent'}, 'silent'))),
    h('th', {scope: 'col'}, 'Durability'));
  const alive = cluster.servers.filter(s => s.alive).length;
  const body = shown.map(t => {
    const shares = new Map(t.shares.map(s => [s.server, s]));
    const even = total(t) / Math.max(1, alive);
    return h('tr', {},
      h('th', {scope: 'row', title: t.name}, t.name, h('small', {}, `${t.replica_count} copies`), t.split && splitOf(t.split)),
      h('td', {class: 'n', 'data-ill': unhealthy(t) > 0}, figure(`${count(t.partitions.healthy)} / ${count(total(t))}`, t.partitions.healthy)),
      cluster.servers.map(s => {
        const {server: _, ...share} = shares.get(s.server) ?? {...EMPTY, server: ''};
        return cell(share, even, s.alive);
      }),
      h('td', {}, durability(t)));
  });
  const more = rows.length - shown.length;
  return section('tables', 'Tables by server', aside, controls,
    shown.length === 0 ? h('p', {class: 'empty'}, seen.onlyUnhealthy ? 'Every table is healthy.' : 'No table has such a name.')
      : h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Tables by server, table'},
          h('table', {class: 'map'}, h('thead', {}, head), h('tbody', {}, body))),
    more > 0 && h('button', {type: 'button', onclick: () => {
      seen.all = true;
      redraw();
    }}, `Show ${count(more)} more`));
}

function servers(cluster) {
  const silentFirst = [...cluster.servers].sort((a, b) => a.alive - b.alive);
  const rows = silentFirst.map(s => [
    h('a', {href: `//${s.server}/ui`}, s.server),
    !s.alive ? state('bad', 'silent') : s.unreadable_disks ? state('warn', 'a disk can’t be read')
      : s.full_disks.length > 0 ? state('warn', `takes no writes on ${s.full_disks.join(', ')}`)
      : s.lacks_open_files ? state('warn', 'no open files for more')
      : s.older ? state('warn', 'of an older version')
      : s.opening > 0 ? state('busy', `opening ${plural(s.opening, 'copy', 'copies')}`) : state('good', 'alive'),
    count(s.primaries), count(s.secondaries), count(s.unhealthy), count(s.learning)]);
  return section('servers', 'Replica servers', 'Latency, log and disks stand on each server’s own page.',
    table('Replica servers', [{title: 'Server', is: true}, {title: 'State'}, {title: 'Primaries', n: true}, {title: 'Secondaries', n: true},
      {title: 'Not healthy', n: true}, {title: 'Being made', n: true}], rows,
    'No replica server has reported to this meta server yet.'));
}

function work(cluster) {
  const more = cluster.work_total - cluster.work.length;
  const names = new Map(cluster.tables.map(t => [String(t.id), t.name]));
  const rows = cluster.work.map(w => [w.partition, names.get(w.partition.split('.')[0]) ?? NONE, w.step, w.server]);
  return section('work', 'Under way', cluster.work_total > 0 ? plural(cluster.work_total, 'step', 'steps') : null,
    table('Steps under way', [{title: 'Partition', is: true}, {title: 'Table'}, {title: 'Step'}, {title: 'Server'}], rows,
      'No step is under way.'),
    more > 0 && h('p', {class: 'empty'}, `and ${count(more)} more`));
}

const leaderLink = ({leadership: {leader}}) => h('p', {class: 'empty'},
  leader === null ? 'Nobody is known who leads.' : ['The cluster’s page: ', h('a', {href: `//${leader}/ui`}, leader)]);

const ms = n => (n === null ? NONE : duration(n / 1000));
const ago = n => (n === null ? NONE : `${age(n / 1000)} ago`);

// Of several meta servers: who they are, what this one did last at ZooKeeper, and how that is.
function ensemble(e) {
  if (!e) return [];
  const candidates = e.candidates.map(c => [
    c.address === e.self ? h('span', {}, c.address, h('small', {}, 'this one')) : h('a', {href: `//${c.address}/ui`}, c.address),
    c.leads ? state('good', 'leads') : state('busy', 'follows'), c.age_ms === null ? NONE : age(c.age_ms / 1000), c.node]);
  const words = [`its session ends after ${ms(e.session_timeout_ms)} of silence`];
  if (!e.is_connected) words.push('no server of ZooKeeper answers it now');
  if (e.is_leader) words.push(`it leads since ${new Date(e.since_unix_ms).toLocaleString('en-GB')}, and without another answer for ${ms(e.leads_for_ms)} more`);
  if (e.last_proof_ago_ms !== null) words.push(`its lock was proven ${ago(e.last_proof_ago_ms)}, in ${ms(e.last_proof_took_ms)}`);
  if (e.last_write_ago_ms !== null) words.push(`its last write was ${ago(e.last_write_ago_ms)}, in ${ms(e.last_write_took_ms)}`);
  if (e.trouble) words.push(`the candidates can’t be read: ${e.trouble}`);
  const servers = e.zookeeper.map(s => s.trouble
    ? [s.server, state('warn', s.trouble), NONE, NONE, NONE, NONE, NONE]
    : [s.server, state('good', s.mode), `${s.latency_min_ms} / ${s.latency_avg_ms} / ${s.latency_max_ms} ms`, count(s.outstanding),
      count(s.connections), count(s.nodes), s.version]);
  return [
    section('metas', 'Meta servers', `Of this one: ${words.join('; ')}.`,
      table('Meta servers', [{title: 'Server', is: true}, {title: 'State'}, {title: 'In the election for'}, {title: 'Node'}], candidates,
        'No candidate is known.')),
    section('zookeeper', 'ZooKeeper', null,
      table('ZooKeeper’s servers', [{title: 'Server', is: true}, {title: 'State'}, {title: 'Latency least / mean / most'},
        {title: 'Outstanding', n: true}, {title: 'Connections', n: true}, {title: 'Nodes', n: true}, {title: 'Version'}], servers,
        'No address of a server is known yet.'))];
}
