// This machine, and the services nearby.

const mostLinks = 6;
let areAllLinksShown = false;

function addresses(link, isFull) {
  return link.addresses.map((address) => `${address.address}/${address.prefix_length}${isFull && address.flags.length > 0 ? ` ${address.flags.join(' ')}` : ''}`);
}

const wifi = ({ wifi: w = {} }) => [[w.ssid ?? (w.ssid_hex && `0x${w.ssid_hex}`)], [w.signal_dbm, ' dBm'], [w.bssid], [w.band, ' GHz'], [floor(w.rx_bits_per_second / 1e6), ' Mbit/s in'],
  [floor(w.tx_bits_per_second / 1e6), ' Mbit/s out']].map(([value, unit = '']) => value && `, ${value}${unit}`).filter(Boolean);

function showMachine(status) {
  const { dns, path } = status;
  const used = path.interfaces.map((link) => link.name);
  const rank = (link) => (used.includes(link.name) ? used.indexOf(link.name) : link.usable ? 100 : link.required ? 200 : 300);
  const links = [...status.interfaces].sort((left, right) => rank(left) - rank(right) || natural(left.name, right.name));
  const some = areAllLinksShown || links.length <= mostLinks + 1 ? links : links.slice(0, mostLinks);
  const cost = [path.is_expensive && 'expensive', path.is_constrained && 'constrained'].filter(Boolean);
  const gateways = status.gateways.map((gateway) => gateway.address);
  const monitors = status.monitors.map(({ monitor, path }) => [monitor, path.status === 'satisfied']);
  update('machine', [some, links.length, cost, gateways, dns, monitors], () => [
    some.map((link) => pair(link.name, [link.usable ? 'up' : inline({ class: link.required || used.includes(link.name) || links.length === 1 ? 'bad' : 'mute' },
      trouble(link)), linkType(link) && `, ${linkType(link)}`, wifi(link), link.required && ', required'], ...addresses(link).map(code))),
    links.length > some.length && pair('', button(`${links.length - some.length} more`, { 'data-key': 'links' }, () => { areAllLinksShown = true; show(); })),
    pair('Gateways', ...(gateways.length > 0 ? gateways.map(code) : ['none'])),
    pair('DNS', ...(dns.servers.length > 0 ? dns.servers.map((server, index) => [code(server), index === 0 && dns.source ? ` (${dns.source})` : '']) : ['none']),
      ...(dns.usable || dns.servers.length === 0 ? [] : [inline({ class: 'bad' }, 'not in reach')])),
    cost.length > 0 && pair('Cost', cost.join(', ')),
    monitors.length > 1 && pair('Monitors', monitors.map(([name, isGood], index) => [index > 0 ? ' · ' : '', `${name} `,
      inline({ class: isGood ? 'ok' : 'bad' }, isGood ? '✓' : '✗', aside(isGood ? ' satisfied' : ' unsatisfied'))])),
  ]);
}

/** A service of an event from before there were names has its type. */
const typeName = (service) => service.type_name ?? service.type;
const schemes = { '_http._tcp': 'http', '_https._tcp': 'https', '_ipps._tcp': 'https', '_ipp._tcp': 'http', '_ssh._tcp': 'ssh', '_sftp-ssh._tcp': 'sftp', '_smb._tcp': 'smb' };
const mostChips = 7;

/** How many services of each type there are, and what the type is called. */
function counted(services) {
  const counts = new Map();
  for (const service of services) counts.set(service.type, [(counts.get(service.type)?.[0] ?? 0) + 1, typeName(service)]);
  return [...counts].sort(([, [many, left]], [, [more, right]]) => more - many || natural(left, right));
}

function showNearby(status, present_, past) {
  const isPast = present_.length === 0 && past.length > 0 && isBad(status.headline.state);
  const services = isPast ? past : present_;
  byId('nearby').hidden = !status.services && services.length === 0;
  const hosts = new Set(services.map((service) => service.host)).size;
  const seen = isPast && services.map((service) => service.last_seen).sort().at(-1);
  update('nearby-count', [services.length, hosts, seen], () => services.length > 0
    && [plural(services.length, 'service'), isPast ? [', last known ', moment(seen)] : ` on ${plural(hosts, 'host')}`]);
  const types = counted(services);
  const chips = types.length > mostChips + 1 ? types.slice(0, mostChips) : types;
  update('types', [types, status.services?.last_census === null], () => types.length === 0
    ? inline({ class: 'mute' }, status.services?.last_census ? 'No services found on this network.' : 'Looking for services; none found yet.')
    : [chips.map(([type, [count, name]]) => jump(`services=${encodeURIComponent(type)}`, { class: 'chip', 'data-key': type }, `${name} `, element('b', {}, count))),
      types.length > chips.length && jump('services', { class: 'chip', 'data-key': 'more' }, `+${types.length - chips.length} types`)]);
}

// The drawer: services by host, in natural order, narrowed by what the reader typed.

const drawer = { shown: 50, open: new Set() };
const interfaceName = (service) => service.interface.name ?? service.interface;
const serviceKey = (service) => [service.name, service.type, interfaceName(service)].join('\u0000');

function showDrawer() {
  if (!byId('drawer').open) return;
  const { services } = state;
  const known = new Set(state.gone.map(({ service }) => serviceKey(service)));
  const past = state.past.filter((service) => !known.has(serviceKey(service)));
  const gone = [...state.gone, ...past.map((service) => ({ service, event: { time: service.last_seen, removed: { reason: 'last known' } } }))];
  const present = new Set(services.map(serviceKey));
  // The history and records of many services at once know no hosts.
  const rows = [...services.map((service) => ({ service })), ...gone.filter((entry) => !present.has(serviceKey(entry.service)))]
    .map(({ service, event }) => ({ service: { host: '', addresses: [], ...service }, event }));
  offer(byId('drawer-type'), counted(rows.map(({ service }) => service)).map(([type, [, name]]) => [type, name]));
  const [wanted, type] = [byId('drawer-search').value.trim().toLowerCase(), byId('drawer-type').value];
  const found = rows.filter(({ service }) => (!type || service.type === type) && (!wanted
    || [service.name, service.type, typeName(service), service.host, interfaceName(service), ...service.addresses].some((text) => text.toLowerCase().includes(wanted))));
  found.sort((left, right) => natural(left.service.host, right.service.host) || natural(left.service.name, right.service.name) || natural(left.service.type, right.service.type));
  setText('drawer-count', `${found.length} of ${plural(rows.length, 'service')}`);
  byId('drawer-more').hidden = found.length <= drawer.shown;
  const some = found.slice(0, drawer.shown);
  update('services', some, () => {
    if (some.length === 0) return element('p', { class: 'mute' }, rows.length === 0 ? 'No services found' : 'Nothing matches');
    return [...Map.groupBy(some, ({ service }) => service.host)].map(([host, entries]) => [element('h3', {}, host || 'Host unknown', ' ', element('em', {}, entries[0].service.addresses.join(', '))),
      element('ul', {}, entries.map(serviceRow))]);
  });
}

/** The text of a service; it stays open when the drawer is drawn again. */
function text(key, title, pairs) {
  const node = element('details', { open: drawer.open.has(key) }, element('summary', { 'data-key': `text ${key}` }, title), element('dl', {}, pairs));
  on(node, 'toggle', () => (node.open ? drawer.open.add(key) : drawer.open.delete(key)));
  return node;
}

function serviceRow({ service, event }) {
  const scheme = schemes[service.type];
  const path = scheme?.startsWith('http') && typeof service.txt?.path === 'string' ? service.txt.path : '';
  const place_ = service.port ? `${service.host}:${service.port}` : '';
  const address = service.addresses.find((other) => !other.includes('%'));
  const key = serviceKey(service);
  const meanings = new Map(Object.entries(service.txt_meanings ?? {}));
  const texts = Object.entries(service.txt ?? {}).map(([key, value]) =>
    pair(key, [value === null ? '' : String(value), meanings.has(key) && element('em', {}, ` ${meanings.get(key)}`)]));
  return element('li', { class: event ? 'gone' : undefined }, element('b', {}, service.name), ' ', element('em', {}, `${typeName(service)}, on ${interfaceName(service)}`),
    element('div', {}, scheme && !event && address ? link(key, scheme, address, service.port, path && !path.startsWith('/') ? `/${path}` : path, place_) : place_,
      element('em', {}, event ? [' · gone ', age(event.time), ` ago (${words(event.removed?.reason ?? 'unknown')})`] : [' · seen ', age(service.last_seen), ' ago'])),
    texts.length > 0 && text(key, `${service.type}, ${plural(texts.length, 'text')}`, texts));
}
