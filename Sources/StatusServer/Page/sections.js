// One function a section: it takes what the API said and shows it.

const yes = (flag, word = 'yes') => (flag ? verdict('ok', word) : verdict('', 'no'));

const headlines = {
  online: ['ok', 'Online'], connected: ['ok', 'Connected'], slow: ['warn', 'Slow'], login_needed: ['bad', 'Login needed'],
  no_internet: ['bad', 'No Internet'], local_only: ['bad', 'Local only'], offline: ['bad', 'Offline'],
};

function showBanner(status) {
  const { state, message, hint: action, since } = status.headline;
  const [kind, word] = headlines[state] ?? ['', words(state)];
  const symbol = { ok: '✓', warn: '▲', bad: '✗' }[kind] ?? '…';
  byId('banner').dataset.state = kind;
  setText(byId('banner-symbol'), symbol);
  setText(byId('banner-text'), `${word}: ${message}`);
  const hint = [action, ...status.path.warnings.map(words)].filter(Boolean).join('; ');
  setText(byId('banner-hint'), hint);
  byId('banner-hint').hidden = !hint;
  byId('banner-since').replaceChildren('for ', age(since));
  document.title = `${symbol} ${status.host}: ${word}, ${message}`;
  setText(byId('host'), status.host);
  setText(byId('version'), status.daemon.version);
  byId('problems').hidden = status.problems.length === 0;
  byId('problems').replaceChildren(...status.problems.map((problem) =>
    element('li', {}, verdict('warn', problem.part), `: ${problem.message}`)));
  byId('snapshot').replaceChildren(`State ${status.stream}.${status.seq} of `, moment(status.time));
}

function showTiles(status, histories) {
  const path = status.path;
  const tile = (name, value, note) =>
    element('li', {}, element('span', { class: 'muted' }, name), ' ', element('b', {}, value), note && [' ', element('small', {}, note)]);
  const caution = (flag) => (flag ? verdict('warn', 'yes') : verdict('', 'no'));
  const portal = path.captive_portal;
  const tiles = [
    tile('IPv4', yes(path.supports_ipv4)), tile('IPv6', yes(path.supports_ipv6)), tile('DNS', yes(path.supports_dns)),
    tile('Expensive', caution(path.is_expensive)), tile('Constrained', caution(path.is_constrained)),
    typeof portal === 'boolean' ? tile('Captive portal', caution(portal)) : tile('Captive portal', verdict('', '–'), 'not checked'),
  ];
  for (const [name, span] of [['24 h', 86400], ['7 d', 604800], ['30 d', 2592000]]) {
    const history = histories[name];
    const share = history?.availability_percent;
    const known = history && history.known_seconds < span * 0.99 ? `of ${duration(history.known_seconds)} known` : undefined;
    tiles.push(tile(`Available ${name}`, typeof share === 'number' ? percent(share) : verdict('', '–'), known));
  }
  byId('tiles').replaceChildren(...tiles);
}

/** How many seconds of the stretch lie between two moments, in milliseconds. */
function overlap(stretch, from, to) {
  const end = stretch.end ? Date.parse(stretch.end) : Infinity;
  return Math.max(0, Math.min(end, to) - Math.max(Date.parse(stretch.start), from)) / 1000;
}

function timelineCell(history, from, to) {
  const inside = history.outages.map((outage) => [outage, overlap(outage, from, to)]).filter(([, length]) => length > 0);
  const down = inside.reduce((total, [, length]) => total + length, 0);
  const unknown = history.unknown.reduce((total, stretch) => total + overlap(stretch, from, to), 0);
  const time = `${hourAndMinute(new Date(from))}–${hourAndMinute(new Date(to))}`;
  if (down > 0) return { kind: 'bad', height: 1, text: `${time}: down ${duration(down)} (${words(inside[0][0].reason)})` };
  if (unknown > (to - from) / 2000) return { kind: 'unknown', height: 0.18, text: `${time}: not known` };
  return { kind: 'ok', height: 0.62, text: `${time}: satisfied` };
}

function showTimeline(history) {
  const cells = 96;
  const end = Date.parse(history.until);
  const start = Date.parse(history.since);
  const length = (end - start) / cells;
  const bars = Array.from({ length: cells }, (_, index) => {
    const cell = timelineCell(history, start + index * length, start + (index + 1) * length);
    const height = Math.round(44 * cell.height);
    return drawing('rect', { class: cell.kind, x: index * 10 + 1, y: 44 - height, width: 8, height },
      drawing('title', {}, cell.text));
  });
  const down = history.outages.reduce((total, outage) => total + overlap(outage, start, end), 0);
  const unknown = history.unknown.reduce((total, stretch) => total + overlap(stretch, start, end), 0);
  const count = history.outages.length;
  const text = (count === 0 ? 'No outage' : `${count} ${count === 1 ? 'outage' : 'outages'}, ${duration(down)}`)
    + (unknown >= 60 ? `; ${duration(unknown)} not known` : '');
  const axis = [24, 18, 12, 6, 0].map((hours) => element('span', {}, hourAndMinute(new Date(end - hours * 3600e3))));
  const legend = [['ok', 'satisfied'], ['bad', 'outage'], ['unknown', 'not known']].map(([kind, word]) =>
    element('span', { class: 'muted' }, legendKey(kind), ` ${word}`));
  byId('timeline').replaceChildren(
    drawing('svg', { role: 'img', viewBox: '0 0 960 44', preserveAspectRatio: 'none', 'aria-label': `Timeline of 24 hours: ${text}` }, ...bars),
    element('div', { class: 'axis', 'aria-hidden': 'true' }, axis),
    element('p', { class: 'legend' }, element('strong', { id: 'timeline-text' }, text), legend));
  byId('outages').hidden = count === 0;
  fill(byId('outages'), history.outages.slice(-20).reverse().map((outage) => [
    moment(outage.start), outage.end ? duration(outage.duration_seconds) : [age(outage.start), ' so far'], outage.message || words(outage.reason),
  ]), '');
}

function legendKey(kind) {
  const height = { ok: 8, bad: 12, unknown: 3 }[kind];
  const key = drawing('svg', { viewBox: '0 0 8 12', width: 8, height: 12, 'aria-hidden': 'true', class: 'key' },
    drawing('rect', { class: kind, x: 0, y: 12 - height, width: 8, height }));
  return key;
}

function showPaths(status) {
  fill(byId('paths'), status.monitors.map(({ monitor, path, since }) => {
    const supports = [path.supports_ipv4 && 'IPv4', path.supports_ipv6 && 'IPv6', path.supports_dns && 'DNS'];
    const cost = [path.is_expensive && 'expensive', path.is_constrained && 'constrained'].filter(Boolean);
    const isSatisfied = path.status === 'satisfied';
    return [
      monitor,
      [verdict(isSatisfied ? 'ok' : 'bad', path.status === 'requiresConnection' ? 'requires a connection' : path.status),
        path.message ? element('div', { class: 'muted' }, path.message) : null],
      path.interfaces.map((interface_) => interface_.name).join(', ') || '–',
      supports.filter(Boolean).join(', ') || '–',
      cost.length > 0 ? verdict('warn', cost.join(', ')) : 'normal',
      age(since),
    ];
  }), 'No monitor');
}

function showInterfaces(status) {
  fill(byId('interfaces'), status.interfaces.map((link) => {
    const gateways = status.gateways.filter((gateway) => gateway.interface.name === link.name);
    const changes = link.carrier_changes > 0 ? element('small', {}, ` (${link.carrier_changes} changes)`) : null;
    const others = link.alternative_names.length > 0 ? element('small', {}, ` ${link.alternative_names.join(', ')}`) : null;
    return [
      [link.name, others],
      [link.type, link.kind ? element('small', {}, ` ${link.kind}`) : null],
      link.usable ? verdict('ok', 'usable') : verdict('bad', words(link.problem ?? 'not usable')),
      [link.carrier ? 'yes' : 'no', changes],
      link.addresses.length > 0
        ? lines(link.addresses.map((address) => element('span', { class: 'nowrap' }, code(`${address.address}/${address.prefix_length}`),
          address.flags.length > 0 ? element('small', {}, ` ${address.flags.join(', ')}`) : null)))
        : '–',
      gateways.length > 0 ? lines(gateways.map((gateway) => code(gateway.address))) : '–',
      link.required ? 'yes' : 'no',
    ];
  }), 'No interface');
}

function showGateways(status) {
  const answers = { true: verdict('ok', 'yes'), false: verdict('bad', 'no') };
  fill(byId('gateways'), status.gateways.map((gateway) => [
    code(gateway.address), gateway.interface.name, gateway.metric,
    answers[gateway.reachable]?.cloneNode(true) ?? verdict('', 'not asked'),
  ]), 'No gateway');
  const dns = status.dns;
  const pair = (name, value) => [element('dt', {}, name), element('dd', {}, value)];
  byId('dns').replaceChildren(
    ...pair('Usable', dns.usable ? verdict('ok', 'yes') : verdict('bad', 'no')),
    ...pair('Servers', dns.servers.length > 0 ? lines(dns.servers.map(code)) : 'none'),
    ...(dns.search.length > 0 ? pair('Search', dns.search.join(', ')) : []),
    ...pair('Source', dns.source || 'none'));
}

/** The last durations of a probe as a line without axes; what failed is a gap at the bottom. */
function spark(values) {
  const known = values.filter((value) => typeof value === 'number');
  if (known.length < 2) return '–';
  const top = Math.max(...known) || 1;
  const points = values.map((value, index) => {
    const height = typeof value === 'number' ? value / top : 0;
    return `${(index * 96 / (values.length - 1)).toFixed(1)},${(17 - 16 * height).toFixed(1)}`;
  });
  return drawing('svg', { class: 'spark', viewBox: '0 0 96 18', role: 'img', 'aria-label': `up to ${duration(top)}` },
    drawing('polyline', { points: points.join(' ') }));
}

function showProbes(probes) {
  byId('probes-section').hidden = probes.length === 0;
  fill(byId('probes'), probes.map((probe) => {
    const last = probe.last ?? {};
    const failure = words(last.reason ?? 'failed');
    return [
      probe.name, probe.target ?? '',
      last.success == null ? verdict('', probe.last ? 'not assessed' : 'not yet') : last.success ? verdict('ok', duration(last.duration_seconds)) : verdict('bad', failure),
      typeof probe.loss_percent === 'number' ? percent(probe.loss_percent) : '–',
      typeof probe.p95_seconds === 'number' ? duration(probe.p95_seconds) : '–',
      spark(probe.recent_seconds ?? []),
    ];
  }), '');
}

function showDiagnosis(verdicts) {
  byId('diagnosis').hidden = verdicts.length === 0;
  byId('diagnosis-list').replaceChildren(...verdicts.map((found) =>
    element('li', {}, element('strong', {}, found.message ?? words(found.code)), found.hint ? element('div', {}, found.hint) : null)));
}

/** The name of the interface; events of version 0.1 have the bare name. */
const interfaceName = (service) => service.interface.name ?? service.interface;
const serviceKey = (service) => [service.name, service.type, interfaceName(service)].join('\u0000');
const mostRows = 500;

/** Services, those that went within ten minutes greyed, narrowed by what the reader typed. */
function showServices(services, gone) {
  const present = new Set(services.map(serviceKey));
  const rows = [...services.map((service) => ({ service })), ...gone.filter((entry) => !present.has(serviceKey(entry.service)))];
  const compare = (left, right) => (left < right ? -1 : left > right ? 1 : 0);
  rows.sort((left, right) => compare(left.service.type, right.service.type) || compare(left.service.name, right.service.name));
  offer(byId('services-type'), [...new Set(rows.map((row) => row.service.type))].sort());
  const wanted = byId('services-search').value.trim().toLowerCase();
  const type = byId('services-type').value;
  const found = rows.filter(({ service }) => (!type || service.type === type) && (!wanted
    || [service.name, service.type, service.host, interfaceName(service), ...service.addresses].some((text) => text.toLowerCase().includes(wanted))));
  setText(byId('services-count'), `${found.length} of ${rows.length} services`
    + (found.length > mostRows ? `, the first ${mostRows} shown` : ''));
  fill(byId('services'), found.slice(0, mostRows).map(({ service, event }) => ({
    class: event ? 'gone' : undefined,
    cells: [
      service.name, service.type, [service.host, element('small', {}, ` on ${interfaceName(service)}`)], service.port,
      lines(service.addresses.map(code)), moment(service.first_seen),
      event ? ['gone ', age(event.time, ' ago'), ` (${words(event.removed?.reason ?? 'unknown')})`] : moment(service.last_seen),
    ],
  })), rows.length === 0 ? 'None heard yet' : 'Nothing matches');
}

function showEvents(events) {
  const kind = (event) => event.event.split('.')[0];
  offer(byId('events-kind'), [...new Set(events.map(kind))].sort());
  const wanted = byId('events-kind').value;
  const shown = events.filter((event) => !wanted || kind(event) === wanted).slice(-50).reverse();
  const grave = { warning: ['warn', 'warning'], error: ['bad', 'error'] };
  fill(byId('events'), shown.map((event) => [
    moment(event.time),
    [code(event.event), grave[event.severity] ? [' ', verdict(...grave[event.severity])] : null].flat(),
    event.message,
  ]), 'Nothing yet');
}
