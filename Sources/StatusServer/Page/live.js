// Asks, shows, and asks again at each event: what is shown never rests on a single message having come through.

const routes = new Set(document.documentElement.dataset.routes.split(' '));
const state = { status: null, histories: {}, services: [], gone: [], events: [], next: null };
const kept = 500;
const goneFor = 600;

/** The JSON of a route below this page's own address; `null` when there is no such thing. */
async function ask(path) {
  const response = await fetch(path, { headers: { Accept: 'application/json' }, cache: 'no-cache', signal: AbortSignal.timeout(15000) });
  contact.at = Date.now();
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
      found();
    } catch {
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

// One stream for all tabs that are looked at: a browser opens six connections to a server, and each stream holds one. The
// tab that has it tells the others; tabs that nobody looks at have none and tell nothing.

const me = Math.random();
const channel = new BroadcastChannel(`nwpath ${location.pathname}`);
const silence = 3000;
let stream = null;
let pause = 2;
let reopenAt = 0;
let heard = 0;

const say = (word) => channel.postMessage({ word, from: me });

function announce(word) {
  say(word);
  take(word);
}

function take(word) {
  if (word === 'open') setLive('live: connected', 'live');
  if (word === 'closed') setLive('live: disconnected', 'lost');
  if (word !== 'here') want(word === 'closed');
}

function openStream() {
  stream?.close();
  stream = new EventSource('api/v1/events');
  stream.onopen = () => {
    pause = 2;
    announce('open');
  };
  stream.onerror = () => {
    stream.close();
    reopenAt = Date.now() + pause * 1000;
    pause = Math.min(30, pause * 2);
    announce('closed');
  };
  for (const name of names) stream.addEventListener(name, () => announce('event'));
}

function closeStream(isTold) {
  stream?.close();
  if (stream && isTold) say('gone');
  stream = null;
}

channel.onmessage = ({ data: { word, from } }) => {
  if (document.hidden) return;
  if (word === 'ask') {
    if (stream) say(stream.readyState === EventSource.OPEN ? 'open' : 'here');
    return;
  }
  heard = word === 'gone' ? Date.now() - silence + 500 * me : Date.now();
  // Two may have begun at a time; one is enough.
  if (stream && from < me) closeStream(false);
  if (word !== 'gone') take(word);
};

function lookOn() {
  if (document.hidden) return closeStream(true);
  heard = Date.now() - silence + 300;
  say('ask');
  setTimeout(tick, 350);
  want(true);
}

// Contact. Without it what is shown is old, and says so, until the service answers again.

const contact = { at: null, isLost: false, since: Date.now(), pause: 2, retryAt: null };

function setLive(word, kind) {
  byId('live').dataset.state = kind;
  setText(byId('live'), word);
}

function found() {
  if (!contact.isLost) return;
  Object.assign(contact, { isLost: false, pause: 2, retryAt: null });
  byId('banner').classList.remove('stale');
  byId('banner-text').removeAttribute('aria-live');
  setText(byId('retry'), '');
  reopenAt = 0;
}

function lost() {
  if (contact.retryAt !== null) return;
  setLive('live: disconnected', 'lost');
  byId('banner').classList.add('stale');
  if (!contact.isLost) contact.since = contact.at ?? contact.since;
  contact.isLost = true;
  contact.retryAt = Date.now() + contact.pause * 1000;
  contact.pause = Math.min(30, contact.pause * 2);
  showLoss();
  // Read out once, not at every second.
  byId('banner-text').setAttribute('aria-live', 'off');
}

function showLoss() {
  const last = state.status && headlines[state.status.headline.state]?.[1].toLowerCase();
  const seen = last ? `, last seen ${last} at ${hourAndMinute(new Date(contact.at))}` : '';
  byId('banner').dataset.state = 'lost';
  setText(byId('banner-symbol'), '?');
  setText(byId('banner-text'), `No contact for ${duration(Math.floor((Date.now() - contact.since) / 1000))}${seen}`);
  byId('banner-hint').hidden = true;
  byId('banner-since').replaceChildren();
  document.title = `? ${state.status?.host ?? location.hostname}`;
}

/** A service whose machine is gone closes no stream. */
async function feel() {
  if (document.hidden || contact.isLost) return;
  try {
    await fetch('-/healthy', { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(5000) });
    contact.at = Date.now();
  } catch {
    lost();
  }
}

function tick() {
  if (document.hidden) return;
  if (stream) say('here');
  if (stream ? stream.readyState === EventSource.CLOSED && Date.now() >= reopenAt : Date.now() - heard > silence) openStream();
  if (!contact.isLost) return countOn();
  showLoss();
  const rest = Math.ceil((contact.retryAt - Date.now()) / 1000);
  if (rest > 0) return setText(byId('retry'), `reconnecting in ${rest} s`);
  contact.retryAt = null;
  setText(byId('retry'), '');
  want(true);
}

byId('openapi').hidden = !routes.has('/api/v1/openapi.json');
byId('services-search').addEventListener('input', () => showServices(state.services, state.gone));
byId('services-type').addEventListener('change', () => showServices(state.services, state.gone));
byId('events-kind').addEventListener('change', () => showEvents(state.events));
window.addEventListener('resize', markScrolling);
window.addEventListener('pagehide', () => closeStream(true));
document.addEventListener('visibilitychange', lookOn);
setInterval(tick, 1000);
setInterval(feel, 10000);
setInterval(() => document.hidden || want(true), 60000);
lookOn();
