// Reads and shows everything, again at each event: what is shown never depends on a single message.

const state = { status: null, day: null, days: null, history: null, probes: [], records: new Map(), diagnosis: null, services: [], past: [], gone: [], events: [], next: null };
const kept = 500;
const goneFor = 600;

class NoContact extends Error {}

/** The JSON of a route below this page's own address; `null` when there is no such thing. */
async function ask(path) {
  const response = await fetch(path, { headers: { Accept: 'application/json' }, cache: 'no-cache', signal: AbortSignal.timeout(15000) })
    .catch(() => { throw new NoContact(path); });
  contact.at = Date.now();
  readClock(response);
  contact.isRefused = response.status === 401;
  if (response.status === 404 || response.status === 410) return null;
  if (!response.ok) throw new NoContact(`${path}: ${response.status}`);
  return response.json().catch(() => { throw new NoContact(path); });
}

/** The events since the last ones, and whether the list had to be read again. */
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

/** The services that went by an event. */
function servicesGone(event) {
  if (event.event === 'service.removed') return [{ event, service: event.service }];
  return (event.event === 'services.lost' ? event.names : []).map((label) => {
    const [name, type] = label.slice(0, -1).split(/ \((?=_)/);
    return { event, service: { name, type, interface: event.interface } };
  });
}

/** Services that went lately; those from before this page was opened are in the log. */
async function readGone(events, isNew) {
  const earlier = isNew ? (await ask('api/v1/events?since=10m&event=service.removed,services.lost&limit=1000'))?.events ?? [] : [];
  const latest = new Map();
  for (const entry of [...state.gone, ...[...earlier, ...events].flatMap(servicesGone)]) latest.set(serviceKey(entry.service), entry);
  state.gone = [...latest.values()].filter((entry) => secondsSince(entry.event.time) < goneFor);
}

/** Right after a start the log of earlier runs is still being read: then there is no history yet. */
async function readHistory() {
  try {
    [state.day, state.days] = await Promise.all(['24h', `${mostDays}d`].map((age_) => ask(`api/v1/history?since=${age_}`)));
    chooseSpan(state.day);
    const span = time.span;
    const history = await ask(`api/v1/history?since=${span}&step=${spans[span][2]}`);
    if (span === time.span) state.history = history;
  } catch {
    clearTimeout(retry);
    retry = setTimeout(() => document.hidden || want(true), 2000);
  }
}
let retry;

/** What each probe measured over the time shown. */
async function readRecords() {
  const span = time.span ?? '1h';
  const read = await Promise.all(state.probes.slice(0, time.areAllShown ? undefined : mostLanes).map(async ({ name }) =>
    [name, await ask(`api/v1/probes/${encodeURIComponent(name)}/history?since=${span}&step=${spans[span][2]}`)]));
  if (span === time.span) state.records = new Map(read.filter(([, record]) => record));
}

/** The services of now; where there are none, those that were there last. */
async function readServices() {
  state.services = (await ask('api/v1/services'))?.services ?? [];
  const past = state.services.length > 0 ? [] : (await ask('api/v1/services/history'))?.services ?? [];
  const end = max(...past.map((service) => ms(service.last_seen)));
  state.past = past.filter((service) => end - ms(service.last_seen) < goneFor * 1000);
}

/** Reads everything that may have changed and shows it. */
async function refresh(isFull) {
  if (isFull) ask('api/v1/config').then((answer) => { asking.hasToken = Boolean(answer?.token_file); }, () => {});
  const [status, { events, isNew }] = await Promise.all([ask('api/v1/status'), readEvents()]);
  state.status = status;
  // What matters most is on the screen before the rest is asked for.
  show();
  const tells = (...kinds) => isFull || isNew || events.some((event) => kinds.some((kind) => event.event.startsWith(kind)));
  const jobs = [readGone(events, isNew)];
  const probes = ask('api/v1/probes').then((answer) => { state.probes = answer?.probes ?? []; });
  jobs.push(probes);
  if (tells('path.', 'headline.', 'daemon.', 'probe.')) jobs.push(Promise.all([readHistory(), probes]).then(readRecords));
  if (tells('service', 'census')) jobs.push(readServices());
  jobs.push(readTraffic(!isNew && events.some((event) => /^(traffic|config)/.test(event.event))));
  jobs.push(ask('api/v1/diagnosis').then((answer) => { state.diagnosis = answer; }));
  await Promise.all(jobs);
  if (opened.at && !outageAt(ms(opened.at))?.end) await readOutage();
  show();
}

function show() {
  const { status } = state;
  if (!status || contact.isLost) return;
  showHeadline(status);
  showChains(status);
  showAsking(status);
  showDiagnosis(state.diagnosis);
  showMore(status, state.day);
  showDays(state.days);
  showSpans();
  showTime(state.history, state.probes, state.records);
  showTraffic(traffic);
  showHappened(state.events);
  showMachine(status);
  showNearby(status, state.services, state.past);
  showDrawer();
}

// Where the reader is: the overview, an outage of it, all events, or the drawer of services.

function goTo() {
  let place_ = location.hash.slice(1);
  try { place_ = decodeURIComponent(place_); } catch { /* It is shown as it is. */ }
  const [name, value] = place_.split(/=(.*)/s);
  if (name === 'main') return;
  if (name === 'link') return redeem(value ?? '');
  const isEvery = name === 'events';
  const wasEvery = !byId('every').hidden;
  byId('overview').hidden = isEvery;
  byId('spans').hidden = isEvery;
  byId('every').hidden = !isEvery;
  if (isEvery && !wasEvery) {
    readEvery();
    byId('every-title').focus();
  }
  if (name === 'services' && !byId('drawer').open) {
    byId('drawer').showModal();
    byId('drawer-search').value = '';
    drawer.shown = 50;
    offer(byId('drawer-type'), value ? [[value, value]] : []);
    byId('drawer-type').value = value ?? '';
    showDrawer();
  }
  if (name !== 'services' && byId('drawer').open) byId('drawer').close();
  const outage = name === 'outage' && ms(value) ? value : null;
  if (outage !== opened.at) openOutage(outage);
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
    } catch (error) {
      if (!(error instanceof NoContact)) console.error(error);
      lost();
      isFullWanted = true;
      break;
    }
    await new Promise((done) => setTimeout(done, shortest));
  }
  isRefreshing = false;
}

// The stream is only a bell. Its events have names, so each name has to be listened to; the service fills them in.

const names = 'EVENT NAMES'.split(' ');

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
  if (word === 'open') setLive('live', 'live');
  if (word === 'closed') setLive('not live', 'lost');
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
    pause = min(30, pause * 2);
    announce('closed');
  };
  for (const name of names) on(stream, name, () => announce('event'));
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

const contact = { at: null, isLost: false, isRefused: false, since: Date.now(), pause: 2, retryAt: null };

function setLive(word, kind) {
  byId('live').dataset.state = kind;
  setText('live', word);
}

function found() {
  if (!contact.isLost) return;
  Object.assign(contact, { isLost: false, pause: 2, retryAt: null });
  document.body.classList.remove('stale');
  setText('retry', '');
  if (stream?.readyState === EventSource.OPEN) setLive('live', 'live');
  else say('ask');
  byId('cause').removeAttribute('aria-live');
  reopenAt = 0;
  show();
}

function lost() {
  if (contact.retryAt !== null) return;
  setLive('no contact', 'lost');
  document.body.classList.add('stale');
  if (!contact.isLost) contact.since = contact.at ?? contact.since;
  contact.isLost = true;
  contact.retryAt = Date.now() + contact.pause * 1000;
  contact.pause = min(30, contact.pause * 2);
  showLoss();
  // Read out once, not at every second.
  byId('cause').setAttribute('aria-live', 'off');
}

function showLoss() {
  const last = state.status && headlines[state.status.headline.state]?.[1];
  byId('hero').dataset.state = 'lost';
  setText('word', contact.isRefused ? 'Not allowed' : 'No contact');
  const length = `for ${duration(floor((Date.now() - contact.since) / 1000))}`;
  update('since', length, () => length);
  setText('message', contact.isRefused ? 'nwpath requires another password now.' : 'nwpath does not answer.');
  const hint = [contact.isRefused && 'Load this page again and log in.',
    last && `Last seen: ${last}, at ${toTheSecond(new Date(contact.at))}. What follows is from then.`].filter(Boolean).join(' ');
  update('hint', hint, () => hint);
  byId('more').hidden = true;
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
  if (!contact.isLost) {
    if (traffic.now?.enabled) readTraffic();
    return countOn();
  }
  showLoss();
  const rest = Math.ceil((contact.retryAt - Date.now()) / 1000);
  if (rest > 0) return setText('retry', `trying again in ${rest} s`);
  contact.retryAt = null;
  setText('retry', '');
  want(true);
}

for (const [name, act] of [['drawer-search', 'input'], ['drawer-type', 'change']]) {
  on(name, act, () => {
    drawer.shown = 50;
    showDrawer();
  });
}
on('drawer-more', 'click', () => { drawer.shown += 200; showDrawer(); });
on('drawer-close', 'click', () => byId('drawer').close());
on('drawer', 'close', () => { if (location.hash.startsWith('#services')) leave(); });
on('every-since', 'change', readEvery);
on('every-kind', 'change', showEvery);
on('every-search', 'input', showEvery);
on('every-more', 'click', () => { every.shown += 500; showEvery(); });
on('rights', 'submit', (event) => {
  event.preventDefault();
  asking.token = byId('token').value;
  byId('token').value = '';
  askNow();
});
watchPointer();
on(window, 'hashchange', goTo);
on(window, 'resize', () => showDay());
on(window, 'pagehide', () => closeStream(true));
on(document, 'visibilitychange', lookOn);
setInterval(tick, 1000);
setInterval(feel, 10000);
setInterval(() => document.hidden || want(true), 60000);
lookOn();
goTo();
