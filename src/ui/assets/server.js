// The page of a replica server: its requests, its log, its disks, what it is opening and copying.
// SPDX-License-Identifier: Apache-2.0
import {h} from './dom.js';
import {byteRate, bytes, count, duration, percent, plural, rate, timeOfDay, NONE} from './format.js';
import {figure, health, progress, section, state, table, tiles} from './parts.js';

const WRITES = new Set(['put', 'remove', 'multi_put', 'multi_remove', 'incr', 'check_and_set', 'check_and_mutate', 'duplicate']);
const isWrite = labels => WRITES.has(labels.operation);
const isRead = labels => !WRITES.has(labels.operation);
const REQUESTS = 'request_seconds';
const ROWS_MAX = 10;  // of hot keys and slow requests
const STAGES = 'write_stage_seconds';
const STAGE_NAMES = {queue: 'Queue', log_append: 'Log append', log_sync: 'Log sync', replicate: 'Other members', apply: 'Apply', reply: 'Reply'};

export const shortcuts = (_, about) => ({
  c: ['To the whole cluster’s page', () => {
    if (about.meta_servers.length > 0) location.href = `//${about.meta_servers[0]}/ui`;
  }],
});

export async function read(ask) {
  const paths = ['/recovery', `/hotkeys?limit=${ROWS_MAX}`, `/slow?limit=${ROWS_MAX}`];
  const [recovery, hot, slow] = await Promise.all(paths.map(async path => JSON.parse(await ask(path, 'application/json'))));
  return {recovery, hot, slow};
}

const DISK_TROUBLES = {io_error: 'fails', space_insufficient: 'is full', open_files_insufficient: 'waits for open files',
  memory_insufficient: 'waits for memory', refused: 'waits for permission'};

function disksOf(window) {
  const r = window.newest;
  return r.values('disk_state', 'disk').map(tag => {
    const of = name => r.sum(name, {disk: tag});
    // Several directories on one device share its log: "d0,d1".
    const shared = labels => (labels.disk ?? '').split(',').includes(tag);
    return {
      tag,
      state: r.samples('disk_state', {disk: tag}).find(s => s.value === 1)?.labels.state ?? 'unknown',
      slow: of('disk_slow') === 1,
      sync: window.quantile(0.99, 'log_sync_seconds', shared),
      lastSync: of('disk_sync_p99_seconds'),
      engineSync: window.quantile(0.99, 'engine_sync_seconds', shared),
      writes: window.rate('log_written_bytes_total', shared),
      available: of('disk_available_bytes'),
      capacity: of('disk_capacity_bytes'),
      errors: of('disk_io_errors_total'),
      failed: of('disk_failed_replicas'),
      queued: r.sum('disk_pool_queued', shared),
      logs: of('log_bytes'),
    };
  }).sort((a, b) => (b.sync ?? b.lastSync ?? 0) - (a.sync ?? a.lastSync ?? 0) || (a.tag < b.tag ? -1 : 1));
}

const replicas = (reading, status) => reading.sum('replicas', {status}) ?? 0;

function healthOf(found, window) {
  const r = window.newest;
  const {recovery} = found;
  const wrong = [];
  for (const disk of disksOf(window)) {
    if (disk.state in DISK_TROUBLES) wrong.push(`disk ${disk.tag} ${DISK_TROUBLES[disk.state]}`);
    else if (disk.slow) wrong.push(`disk ${disk.tag} is slow: its flushes take ${duration(disk.lastSync)}`);
  }
  const failed = r.sum('disk_failed_replicas') ?? 0;
  if (failed > 0) wrong.push(`${plural(failed, 'copy was', 'copies were')} set aside as damaged`);
  const stuck = r.sum('stuck') ?? 0;
  if (stuck > 0) wrong.push(`${plural(stuck, 'work does', 'works do')} not move: see /stuck`);
  const waiting = r.sum('log_waiting_for_space') ?? 0;
  if (waiting > 0) wrong.push(`${plural(waiting, 'log waits', 'logs wait')}`);
  if (r.sum('open_files_short') > 0)
    wrong.push(`open files: its limit of ${count(r.sum('process_max_fds'))} carries ${plural(r.sum('replicas_max'), 'copy', 'copies')}, new ones go elsewhere (raise LimitNOFILE of its service)`);
  const doing = [];
  if (recovery.phase !== 'done') {
    const left = recovery.remaining_seconds === null ? '' : `, about ${duration(recovery.remaining_seconds)} left`;
    doing.push(`it opens what it found: ${count(recovery.replicas_done)} of ${plural(recovery.replicas_total, 'copy', 'copies')}${left}`);
  }
  const learning = replicas(r, 'learner');
  if (learning > 0) doing.push(`${plural(learning, 'copy is', 'copies are')} being learned, ${byteRate(window.rate('disk_copy_received_bytes_total'))}`);
  const sentence = parts => (parts.length === 0 ? '' : parts.join('; ').replace(/^./, c => c.toUpperCase()) + '.');
  const primaries = replicas(r, 'primary');
  const secondaries = replicas(r, 'secondary');
  const held = primaries + secondaries;
  const well = held === 0 ? 'It holds no copy yet.' : `It serves ${plural(held, 'copy', 'copies')}, ${count(primaries)} of them as primary.`;
  const isBad = disksOf(window).some(d => d.state in DISK_TROUBLES) || waiting > 0;
  return {
    grade: isBad ? 'bad' : wrong.length > 0 ? 'warn' : recovery.phase !== 'done' ? 'busy' : 'good',
    wrong: sentence(wrong) || well,
    doing: sentence(doing),
  };
}

export function mark(found, window) {
  return {bad: '✕ ', warn: '! ', busy: '↻ ', good: ''}[healthOf(found, window).grade];
}

export function chartsOf() {
  const latency = (title, which) => ({title, format: duration, least: 1e-3, series: [
    {label: 'p99', of: w => w.quantile(0.99, REQUESTS, which)},
    {label: 'p50', of: w => w.quantile(0.5, REQUESTS, which)},
  ]});
  return [
    {title: 'Requests a second', format: rate, least: 10, series: [
      {label: 'writes', of: w => w.seconds > 0 ? w.rate(`${REQUESTS}_count`, isWrite) ?? 0 : null},
      {label: 'reads', of: w => w.seconds > 0 ? w.rate(`${REQUESTS}_count`, isRead) ?? 0 : null},
    ]},
    latency('Latency of writes', isWrite),
    latency('Latency of reads', isRead),
    {title: 'Log sync', format: duration, least: 1e-3, series: [
      {label: 'p99', of: w => w.quantile(0.99, 'log_sync_seconds')},
      {label: 'p50', of: w => w.quantile(0.5, 'log_sync_seconds')},
    ]},
    {title: 'Bytes written a second', format: byteRate, least: 1e6, series: [
      {label: 'logs', of: w => w.rate('log_written_bytes_total')},
      {label: 'engines', of: w => w.rate('engine_written_bytes_total')},
    ]},
    {title: 'CPU', format: percent, least: 0.1, series: [{label: 'of one core', of: w => w.rate('process_cpu_seconds_total')}]},
  ];
}

export function draw(found, window, _, about) {
  const {grade, wrong, doing} = healthOf(found, window);
  return {
    health: [health(grade, wrong, doing)],
    first: [summary(window, about), ...(found.recovery.phase === 'done' ? [] : [recovery(found.recovery)])],
    rest: [operations(window), stages(window), tables(window), indexes(window), duplications(window), disks(window), log(window), hotKeys(found.hot), slowRequests(found.slow), copies(window),
      ...(found.recovery.phase === 'done' ? [recovery(found.recovery)] : []), sharedLog(window)].filter(Boolean),
  };
}

function summary(window, about) {
  const r = window.newest;
  const lease = r.sum('lease_remaining_seconds');
  const memory = r.sum('process_resident_memory_bytes');
  const value = (label, text, number, metric, more) => ({label, text, value: number, metric, ...more});
  return tiles([
    value('Writes', rate(window.rate(`${REQUESTS}_count`, isWrite) ?? 0)),
    value('Write p99', duration(window.quantile(0.99, REQUESTS, isWrite))),
    value('Reads', rate(window.rate(`${REQUESTS}_count`, isRead) ?? 0)),
    value('Read p99', duration(window.quantile(0.99, REQUESTS, isRead))),
    value('Log sync p99', duration(window.quantile(0.99, 'log_sync_seconds'))),
    value('Copies', count(replicas(r, 'primary') + replicas(r, 'secondary')), replicas(r, 'primary') + replicas(r, 'secondary'), 'arion_replicas',
      {note: `${count(replicas(r, 'primary'))} primary`}),
    {label: 'Durability', text: about.durability, value: about.durability, grade: about.durability === 'fsync' ? null : 'warn',
      note: about.durability === 'fsync' ? 'survives a power cut' : 'not past a power cut'},
    lease === 0 ? {label: 'Lease', text: 'lost', grade: 'bad', note: 'it may not serve'} : null,
    value('Memory', bytes(memory), memory, 'arion_process_resident_memory_bytes'),
    value('CPU', percent(window.rate('process_cpu_seconds_total')), null, null, {note: 'of one core'}),
  ]);
}

function operations(window) {
  const r = window.newest;
  const rows = [];
  for (const name of r.values(`${REQUESTS}_count`, 'table').sort()) {
    const kinds = r.samples(`${REQUESTS}_count`, {table: name}).map(s => s.labels.operation).sort();
    for (const operation of kinds) {
      const labels = {table: name, operation};
      const all = r.sum(`${REQUESTS}_count`, labels);
      const failed = r.sum('request_errors_total', labels) ?? 0;
      rows.push([name, operation, rate(window.rate(`${REQUESTS}_count`, labels)), duration(window.quantile(0.5, REQUESTS, labels)),
        duration(window.quantile(0.99, REQUESTS, labels)), figure(count(all), all, `arion_${REQUESTS}_count`),
        failed > 0 ? state('warn', count(failed)) : count(failed)]);
    }
  }
  return section('operations', 'Requests', 'rates and latencies of the last ten seconds',
    table('Requests by table and operation', [{title: 'Table', is: true}, {title: 'Operation'}, {title: 'Rate', n: true}, {title: 'p50', n: true},
      {title: 'p99', n: true}, {title: 'Answered', n: true}, {title: 'Errors', n: true}], rows,
    'No client has asked this server for anything yet.'));
}

function stages(window) {
  const r = window.newest;
  const known = r.values(`${STAGES}_count`, 'stage');
  if (known.length === 0) return null;
  const total = window.rate(`${STAGES}_sum`);
  const rows = Object.keys(STAGE_NAMES).filter(stage => known.includes(stage)).map(stage => {
    const seconds = window.rate(`${STAGES}_sum`, {stage});
    const times = window.rate(`${STAGES}_count`, {stage});
    const share = total ? seconds / total : null;
    return [STAGE_NAMES[stage], [h('progress', {max: 1, value: share ?? 0, 'aria-hidden': 'true'}), h('span', {class: 'share'}, percent(share))],
      duration(times ? seconds / times : null), duration(window.quantile(0.5, STAGES, {stage})), duration(window.quantile(0.99, STAGES, {stage}))];
  });
  return section('stages', 'Where a write’s time goes', 'of the last ten seconds',
    table('Stages of writes', [{title: 'Stage', is: true}, {title: 'Share of the time'}, {title: 'Mean', n: true}, {title: 'p50', n: true}, {title: 'p99', n: true}], rows, ''));
}

function tables(window) {
  const r = window.newest;
  const rows = r.values('engine_file_bytes', 'table').sort().map(name => {
    const labels = {table: name};
    const lookups = window.rate('engine_cache_lookups_total', labels);
    const throttled = (window.rate('throttled_reads_total', labels) ?? 0) + (window.rate('throttled_writes_total', labels) ?? 0);
    const stopped = window.rate('engine_write_stalls_total', {...labels, kind: 'stopped'}) ?? 0;
    const files = r.sum('engine_file_bytes', labels);
    return [name, figure(bytes(files), files, 'arion_engine_file_bytes'), count(r.sum('engine_keys', labels)), bytes(r.sum('engine_memory_bytes', labels)),
      percent(lookups ? window.rate('engine_cache_hits_total', labels) / lookups : null), byteRate(window.rate('engine_compaction_bytes_total', labels)),
      bytes(r.sum('engine_uncompacted_bytes', labels)), throttled > 0 ? state('warn', rate(throttled)) : rate(throttled),
      stopped > 0 ? state('warn', 'held up') : 'no'];
  });
  return section('sizes', 'Tables', 'what this server has of them; every five seconds',
    table('Size of each table', [{title: 'Table', is: true}, {title: 'Files', n: true}, {title: 'Records, about', n: true}, {title: 'In memory', n: true},
      {title: 'Cache hits', n: true}, {title: 'Compactions', n: true}, {title: 'To compact', n: true}, {title: 'Throttled', n: true}, {title: 'Writes stall'}], rows,
    'It holds no copy yet.'));
}

function indexes(window) {
  const r = window.newest;
  const rows = r.samples('index_built_ratio').map(({labels, value}) => {
    const of = name => r.sum(name, {table: labels.table, index: labels.index});
    const missing = of('index_replicas_to_build') ?? 0;
    const renewed = of('index_replicas_renewed') ?? 0;
    return [labels.table, labels.index, figure(percent(value), value, 'arion_index_built_ratio'),
      missing > 0 ? state('warn', `${plural(missing, 'copy', 'copies')} to build`) : renewed > 0 ? `${plural(renewed, 'copy', 'copies')} built anew` : 'whole',
      figure(count(of('index_entries')), of('index_entries'), 'arion_index_entries'), count(of('index_left_out_records')),
      byteRate(r.sum('index_build_bytes_per_second', {table: labels.table})), duration(r.sum('index_build_left_seconds', {table: labels.table}))];
  });
  if (rows.length === 0) return null;
  const left = r.sum('index_build_left_bytes');
  return section('indexes', 'Indexes', left > 0 ? `${bytes(left)} to read, ${byteRate(r.sum('index_build_bytes_per_second'))}` : null,
    table('Indexes of the copies here', [{title: 'Table', is: true}, {title: 'Index'}, {title: 'Built', n: true}, {title: 'State'}, {title: 'Entries', n: true},
      {title: 'Left out', n: true}, {title: 'Reading', n: true}, {title: 'Time left', n: true}], rows, ''));
}

function duplications(window) {
  const r = window.newest;
  const places = new Map();
  for (const {labels, value} of r.samples('duplication_lag_seconds')) {
    const place = {table: labels.table, cluster: labels.cluster};
    const key = JSON.stringify(place);
    const one = places.get(key) ?? {place, partitions: 0, lag: 0};
    places.set(key, {...one, partitions: one.partitions + 1, lag: Math.max(one.lag, value)});
  }
  const rows = [...places.values()].map(({place, partitions, lag}) => {
    const stopped = r.sum('duplication_stopped', place) ?? 0;
    const paused = partitions - (r.sum('duplication_active', place) ?? 0);
    const behind = r.sum('duplication_lag_bytes', place);
    return [place.table, place.cluster, count(partitions), figure(duration(lag), lag, 'arion_duplication_lag_seconds'),
      count(r.sum('duplication_lag_decrees', place)), figure(bytes(behind), behind, 'arion_duplication_lag_bytes'),
      rate(window.rate('duplication_sent_updates_total', place)), byteRate(window.rate('duplication_sent_bytes_total', place)),
      stopped > 0 ? state('bad', `${plural(stopped, 'partition')} stopped`) : paused > 0 ? state('warn', 'paused, or in preparation')
        : window.rate('duplication_retries_total', place) > 0 ? state('warn', 'tries again') : state('good', 'sends')];
  });
  if (rows.length === 0) return null;
  return section('duplications', 'To other clusters', 'of the partitions that this server leads',
    table('Duplications of tables to other clusters', [{title: 'Table', is: true}, {title: 'Cluster'}, {title: 'Partitions', n: true}, {title: 'Behind', n: true},
      {title: 'Mutations', n: true}, {title: 'Of the log', n: true}, {title: 'Writes sent', n: true}, {title: 'Sending', n: true}, {title: 'State'}], rows, ''));
}

function hotKeys(hot) {
  const rows = hot.map(one => [h('code', {class: 'key'}, one.hash_key), one.table, one.partition, `${one.use}s`, rate(one.per_second), `${one.share_percent} %`]);
  return section('hot', 'Hot keys', 'of the last minute, by sampling',
    table('Hash keys asked for most', [{title: 'Hash key', is: true}, {title: 'Table'}, {title: 'Partition'}, {title: 'Use'}, {title: 'Rate', n: true},
      {title: 'Of its partition', n: true}], rows, 'No key stands out.'));
}

function slowRequests(slow) {
  const rows = slow.map(one => {
    const longest = Object.keys(STAGE_NAMES).filter(stage => one[`${stage}_us`] > 0).sort((a, b) => one[`${b}_us`] - one[`${a}_us`])[0];
    return [timeOfDay(one.ended_at_us / 1000), one.table, one.partition, one.operation, duration(one.took_us / 1e6),
      longest ? `${STAGE_NAMES[longest].toLowerCase()}, ${duration(one[`${longest}_us`] / 1e6)}` : NONE,
      one.error === 'ERR_OK' ? 'ok' : state('warn', one.error), one.from];
  });
  return section('slow', 'Slow requests', rows.length > 0 ? 'the latest first' : null,
    table('The last slow requests', [{title: 'At', is: true}, {title: 'Table'}, {title: 'Partition'}, {title: 'Operation'}, {title: 'Took', n: true},
      {title: 'Most of it'}, {title: 'Answer'}, {title: 'From'}], rows, 'None was slow.'));
}

function diskState(disk) {
  if (disk.state in DISK_TROUBLES) return state('bad', DISK_TROUBLES[disk.state]);
  return disk.slow ? state('warn', 'slow') : state('good', 'normal');
}

function disks(window) {
  const rows = disksOf(window).map(disk => [
    disk.tag, diskState(disk), duration(disk.sync ?? null), duration(disk.engineSync ?? null), byteRate(disk.writes),
    figure(bytes(disk.available), disk.available, 'arion_disk_available_bytes'),
    percent(disk.capacity > 0 ? 1 - disk.available / disk.capacity : null),
    count(disk.queued), disk.errors > 0 ? state('bad', count(disk.errors)) : count(disk.errors)]);
  return section('disks', 'Disks', 'the slowest first',
    table('Disks', [{title: 'Disk', is: true}, {title: 'State'}, {title: 'Log sync p99', n: true}, {title: 'Engine sync p99', n: true}, {title: 'Log writes', n: true},
      {title: 'Free', n: true}, {title: 'Used', n: true}, {title: 'Queued', n: true}, {title: 'I/O errors', n: true}], rows,
    'The disks are not known yet.'));
}

function log(window) {
  const r = window.newest;
  const rows = r.values('log_sync_seconds_count', 'disk').map(disk => {
    const mean = name => {
      const n = window.rate(`${name}_count`, {disk});
      return n ? (window.rate(`${name}_sum`, {disk}) / n).toFixed(1) : NONE;
    };
    const failures = r.sum('log_failures_total', {disk});
    return [disk, r.samples('log_info', {disk})[0]?.labels.method ?? NONE, duration(window.quantile(0.5, 'log_sync_seconds', {disk})),
      duration(window.quantile(0.99, 'log_sync_seconds', {disk})), rate(window.rate('log_syncs_total', {disk})),
      mean('log_records_per_write'), mean('log_writes_per_sync'), failures > 0 ? state('bad', count(failures)) : count(failures)];
  });
  return section('log', 'Log', 'of the last ten seconds',
    table('Log devices', [{title: 'Disk', is: true}, {title: 'Written by'}, {title: 'Sync p50', n: true}, {title: 'Sync p99', n: true}, {title: 'Syncs', n: true},
      {title: 'Mutations a block', n: true}, {title: 'Blocks a sync', n: true}, {title: 'Failures', n: true}], rows, 'No log is written yet.'));
}

function copies(window) {
  const r = window.newest;
  const received = r.sum('disk_copy_received_bytes_total');
  const sent = r.sum('disk_copy_sent_bytes_total');
  const learning = replicas(r, 'learner');
  return section('copies', 'Learning', null, tiles([
    {label: 'Being learned here', text: count(learning), value: learning, metric: 'arion_replicas',
      note: learning > 0 ? `the longest for ${duration(r.sum('learn_seconds_max'))}` : null},
    {label: 'Receiving', text: byteRate(window.rate('disk_copy_received_bytes_total')), note: `${bytes(received)} since the start`},
    {label: 'Sending', text: byteRate(window.rate('disk_copy_sent_bytes_total')), note: `${bytes(sent)} since the start`},
  ]));
}

function recovery(report) {
  if (report.phase === 'done') {
    return section('recovery', 'Last start', null, h('p', {class: 'plain'}, report.replicas_total === 0 ? 'It found no copies to open.'
      : `${plural(report.replicas_done, 'copy', 'copies')} and ${bytes(report.bytes_done)} of logs in ${duration(report.elapsed_seconds)}, the first served after ${duration(report.first_served_after_seconds)}`
        + (report.replicas_failed > 0 ? `; ${plural(report.replicas_failed, 'copy', 'copies')} could not be opened.` : '.')));
  }
  const bars = report.disks.map(disk => h('li', {}, progress(disk.tag, disk.replicas_done + disk.replicas_failed, disk.replicas_total,
    disk.listed ? `${count(disk.replicas_done)} of ${plural(disk.replicas_total, 'copy', 'copies')}, ${bytes(disk.bytes_done)} of ${bytes(disk.bytes_total)}` : 'being listed')));
  const rows = report.under_way.slice(0, 10).map(one => [one.partition, one.disk, one.step.replace('_', ' '), duration(one.step_seconds),
    percent(one.bytes_total > 0 ? one.bytes_done / one.bytes_total : null)]);
  return section('recovery', 'Opening what was found', `${byteRate(report.bytes_per_second)}${report.remaining_seconds === null ? '' : `, about ${duration(report.remaining_seconds)} left`}`,
    h('ul', {class: 'bars'}, bars),
    table('Copies being opened', [{title: 'Partition', is: true}, {title: 'Disk'}, {title: 'Step'}, {title: 'Since', n: true}, {title: 'Log read', n: true}], rows,
      'None at this moment.'));
}

function sharedLog(window) {
  const r = window.newest;
  const files = r.sum('shared_log_files') ?? 0;
  const taken = r.sum('shared_log_taken_mutations_total') ?? 0;
  if (files === 0) {
    return section('shared-log', 'Shared log of an older version', null,
      h('p', {class: 'plain'}, taken > 0 ? `Collected: ${plural(taken, 'mutation was', 'mutations were')} taken over, no file is left.` : 'There is none on this server.'));
  }
  const blocking = r.sum('shared_log_blocking_replicas') ?? 0;
  return section('shared-log', 'Shared log of an older version', null, tiles([
    {label: 'Files left', text: count(files), value: files, metric: 'arion_shared_log_files'},
    {label: 'Bytes left', text: bytes(r.sum('shared_log_bytes')), value: r.sum('shared_log_bytes'), metric: 'arion_shared_log_bytes'},
    {label: 'Mutations taken over', text: count(taken), value: taken, metric: 'arion_shared_log_taken_mutations_total'},
    {label: 'Kept for', text: plural(blocking, 'copy', 'copies'), value: blocking, metric: 'arion_shared_log_blocking_replicas',
      note: blocking > 0 ? `the last is ${count(r.sum('shared_log_blocking_decrees'))} decrees behind` : null},
  ]));
}
