// Asks, shows, and asks again at each event: what is shown never rests on a single message having come through.

const routes = new Set(document.documentElement.dataset.routes.split(' '));
const state = { status: null, histories: {}, services: [], gone: [], events: [], next: null };
const kept = 500;
const goneFor = 600;

/** The JSON of a route below this page's own address; `null` when there is no such thing. */
async function ask(path) {
  const response = await fetch(path, { headers: { Accept: 'application/json' }, cache: 'no-cache' });
  readClock(response);
  if (response.status === 404 || response.status === 410) return null;
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}

/** What the log says since it was last asked, and whether it had to be begun anew. */
async function readEvents() {
  const fresh = [];
  while (state.next !== null) {
    const page = await ask(`api/v1/events?limit=200&since=${encodeURIComponent(state.next)}`);
    if (page === null) break;
    state.next = page.next;
    fresh.push(...page.events);
    if (page.events.length < 200) {
      state.events = [...state.events, ...fresh].slice(-kept);
      return { events: fresh, isNew: false };
    }
  }
  const page = await ask('api/v1/events?limit=200');
  state.next = page?.next ?? null;
  state.events = page?.events ?? [];
  return { events: state.events, isNew: true };
}

/** Services that went lately; those from before this page was opened are in the log. */
async function readGone(events, isNew) {
  const earlier = isNew ? (await ask('api/v1/events?since=10m&event=service.removed&limit=1000'))?.events ?? [] : [];
  const latest = new Map();
  for (const entry of [...state.gone, ...[...earlier, ...events].filter((event) => event.event === 'service.removed')
    .map((event) => ({ event, service: event.service }))]) latest.set(serviceKey(entry.service), entry);
  state.gone = [...latest.values()].filter((entry) => secondsSince(entry.event.time) < goneFor);
}

/** Right after a start the log of earlier runs is still being read: then there is no history yet. */
async function readHistories() {
  try {
    const [day_, week, month] = await Promise.all(['24h', '7d', '30d'].map((span) => ask(`api/v1/history?since=${span}`)));
    state.histories = { '24 h': day_, '7 d': week, '30 d': month };
  } catch {
    setTimeout(() => want(true), 2000);
  }
}

/** Reads everything that may have changed and shows it. */
async function refresh(isFull) {
  const [status, { events, isNew }] = await Promise.all([ask('api/v1/status'), readEvents()]);
  const tells = (...kinds) => isFull || isNew || events.some((event) => kinds.some((kind) => event.event.startsWith(kind)));
  const jobs = [readGone(events, isNew)];
  if (tells('path.', 'daemon.')) jobs.push(readHistories());
  if (tells('service', 'census')) jobs.push(ask('api/v1/services').then((answer) => { state.services = answer?.services ?? []; }));
  if (routes.has('/api/v1/probes')) jobs.push(ask('api/v1/probes').then((answer) => showProbes(answer?.probes ?? [])));
  if (routes.has('/api/v1/diagnosis')) jobs.push(ask('api/v1/diagnosis').then((answer) => showDiagnosis(answer?.verdicts ?? [])));
  await Promise.all(jobs);
  state.status = status;
  show();
}

function show() {
  showBanner(state.status);
  showTiles(state.status, state.histories);
  if (state.histories['24 h']) showTimeline(state.histories['24 h']);
  showPaths(state.status);
  showInterfaces(state.status);
  showGateways(state.status);
  showServices(state.services, state.gone);
  showEvents(state.events);
  byId('services-section').hidden = !state.status.services && state.services.length === 0;
  markScrolling();
}

// Refreshing: at once after the first event, then as often as answers come, never two at a time.

const shortest = 200;
let isRefreshing = false;
let isWanted = false;
let isFullWanted = false;

async function want(isFull = false) {
  isWanted = true;
  isFullWanted ||= isFull;
  if (isRefreshing) return;
  isRefreshing = true;
  while (isWanted) {
    const full = isFullWanted;
    isWanted = isFullWanted = false;
    try {
      await refresh(full);
      byId('banner').classList.remove('stale');
    } catch (failure) {
      lost();
      isFullWanted = true;
      break;
    }
    await new Promise((done) => setTimeout(done, shortest));
  }
  isRefreshing = false;
}

// The stream is only a bell. Its events have names, so each name has to be listened to.

const names = ['log.opened', 'log.gap', 'daemon.started', 'daemon.stopping', 'config.reloaded', 'config.rejected',
  'stream.reset', 'netlink.overrun', 'clock.jumped', 'path.snapshot', 'path.changed', 'path.flapping', 'headline.changed',
  'interface.added', 'interface.changed', 'interface.removed', 'address.added', 'address.removed', 'route.changed',
  'gateway.changed', 'gateway.unreachable', 'gateway.reachable', 'dns.changed', 'probe.failed', 'probe.recovered',
  'captive_portal.detected', 'captive_portal.cleared', 'verdict.raised', 'verdict.cleared',
  'service.added', 'service.changed', 'service.removed', 'service.resolve_failed', 'service_type.added', 'service_type.removed', 'census.completed', 'mdns.name_conflict'];
let stream = null;
let pause = 2;
let retryAt = null;

function setLive(word, kind) {
  byId('live').dataset.state = kind;
  setText(byId('live'), word);
}

function connect() {
  retryAt = null;
  setText(byId('retry'), '');
  stream?.close();
  stream = new EventSource('api/v1/events');
  stream.onopen = () => {
    pause = 2;
    setLive('live: connected', 'live');
    want();
  };
  stream.onerror = lost;
  for (const name of names) stream.addEventListener(name, () => want());
}

/** The service does not answer: what is shown is old, and says so, until it answers again. */
function lost() {
  stream?.close();
  if (retryAt !== null) return;
  setLive('live: disconnected', 'lost');
  byId('banner').classList.add('stale');
  retryAt = Date.now() + pause * 1000;
  pause = Math.min(30, pause * 2);
}

function tick() {
  countOn();
  if (retryAt === null) return;
  const rest = Math.ceil((retryAt - Date.now()) / 1000);
  if (rest <= 0) connect();
  else setText(byId('retry'), `reconnecting in ${rest} s`);
}

byId('openapi').hidden = !routes.has('/api/v1/openapi.json');
byId('services-search').addEventListener('input', () => showServices(state.services, state.gone));
byId('services-type').addEventListener('change', () => showServices(state.services, state.gone));
byId('events-kind').addEventListener('change', () => showEvents(state.events));
window.addEventListener('resize', markScrolling);
setInterval(tick, 1000);
setInterval(() => want(true), 60000);
want(true);
connect();
