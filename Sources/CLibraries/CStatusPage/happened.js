// What happened: events folded by cause, an outage with what belongs to it, and all of them on a page of their own.

const quiet = new Set(['census.completed', 'log.opened', 'path.snapshot', 'service_type.added', 'service_type.removed',
  'service.resolve_failed', 'route.changed']);
const mostRows = 12;
const together = 2500;
const opened = { at: null, events: null };

/** The outage of a moment; one that is older than the time shown seems to begin with it. */
function outageAt(moment_) {
  for (const history_ of [state.day, state.history, state.days]) {
    const found = history_?.outages.find((outage) => {
      const start = ms(outage.start);
      return (start - together <= moment_ || start - ms(history_.since) < 1500) && (!outage.end || moment_ < ms(outage.end));
    });
    if (found) return found;
  }
}

const nameOf = (thing) => thing?.name ?? thing;
const headlineOf = ({ first, followers }) => [first, ...followers].find((event) => event.event === 'headline.changed');
const isOfService = (event) => event.event.startsWith('service.');
/** How many services the events are about. */
const servicesOf = (events) => new Set(events.filter(isOfService).map((event) => serviceKey(event.service))).size
  + events.reduce((total, event) => total + (event.event.startsWith('services.') ? event.count : 0), 0);
const withoutWhat = { no_internet: 'without Internet', dns_broken: 'without DNS', offline: 'offline', local_only: 'with the local network only', login_needed: 'with a login needed' };
const reasons = { interface_down: 'lost its link', goodbye: 'signed off', expired: 'no answer any more', unresolvable: 'no address any more' };
const changes = { removed: 'gone', lost: 'gone', added: 'found', found: 'found' };

/** Such as `5 services gone (eth0 lost its link)`. */
function serviceLine(first, count) {
  const link = nameOf(first.interface ?? first.service.interface);
  const change = changes[first.event.split('.')[1]] ?? 'changed';
  const reason = first.event === 'services.lost' ? 'interface_down' : first.removed?.reason;
  const why = reason ? `${reason === 'interface_down' ? `${link} ` : ''}${reasons[reason] ?? words(reason)}` : `on ${link}`;
  return [`${count === 1 && first.service ? `${first.service.name} (${typeName(first.service)})` : plural(count, 'service')} ${change}`, `(${why})`];
}

/** Whether an event follows from the first one of a group. */
function belongs(event, { first, followers }) {
  const distance = ms(event.time) - ms(first.time);
  if (event.cause?.seq !== undefined) return event.cause.seq === first.seq;
  if (isOfService(event) && event.event === first.event) return distance <= 60000;
  if (!first.cause || distance > together) return false;
  if (event.event === 'headline.changed') return !headlineOf({ first, followers });
  return isOfService(event) && nameOf(event.service?.interface) === nameOf(first.interface);
}

/** Whether a probe or the diagnosis says what a headline beside it says too. */
function isTold(event, all) {
  const isFault = /(failed|detected|raised|stalled|lossy)$/.test(event.event);
  return /^(probe|captive_portal|verdict|traffic)/.test(event.event) && all.some((other) => other.headline && isBad(other.headline.state) === isFault
    && Math.abs(ms(other.time) - ms(event.time)) <= 15000);
}

/** Groups of one cause each, newest first. */
function fold(events) {
  const groups = [];
  for (const event of events) {
    if (quiet.has(event.event) || isTold(event, events)) continue;
    const group = groups.slice(-4).reverse().find((other) => belongs(event, other));
    if (group) group.followers.push(event);
    else groups.push({ first: event, followers: [] });
  }
  return groups.reverse();
}

function tone({ first, followers }) {
  const headline = headlineOf({ first, followers });
  if (headline) return headlines[headline.headline.state]?.[0] ?? '';
  const all = [first, ...followers];
  if (all.some((event) => event.severity === 'error')) return 'bad';
  if (all.some((event) => event.severity === 'warning')) return 'warn';
  return /(recovered|reachable|cleared|resumed)$/.test(first.event) && !first.event.endsWith('unreachable') ? 'ok' : '';
}
const toneWords = { bad: 'outage', warn: 'warning', untested: 'not tested', ok: 'good', '': 'note' };

/** A message without what is the same in all of them. */
const brief = (text) => text.replace(/^Path default( is (un)?satisfied)?:? /, '');

/** What a group is in one line: what came first, and what went with it. */
function line({ first, followers }) {
  const some = servicesOf([first]);
  if (some > 1 || isOfService(first)) return serviceLine(first, servicesOf([first, ...followers]));
  const [parts, lost] = [[], []];
  const headline = headlineOf({ first, followers });
  const path = followers.findLast((event) => event.event === 'path.changed');
  const now_ = headline?.headline.state;
  const before = headline?.previous;
  const word = headlines[now_]?.[1] ?? words(now_);
  if (before && isBad(before.state) && !isBad(now_)) {
    const back = headlines[now_]?.[0] === 'warn' ? 'Partly back' : `${word} again`;
    return [back, `after ${duration(before.duration_seconds)} ${withoutWhat[before.state]}`];
  }
  if (first === headline) return isBad(now_) ? [sentence(headline.headline.message), word] : [word, headline.headline.message];
  if (headline) parts.push(word);
  else if (path) parts.push(brief(path.message));
  for (const kind of ['address', 'gateway', 'service']) {
    const count = kind === 'service' ? servicesOf(followers) : new Set(followers.filter((event) => event.event.startsWith(`${kind}.`)).map((event) =>
      event.gateway?.address ?? event.previous?.address ?? event.address?.address)).size;
    if (count > 0) lost.push(plural(count, kind));
  }
  if (lost.length > 0) parts.push(`(${lost.join(', ')})`);
  return [sentence(brief(first.message), ['nwpath', nameOf(first.interface)]).replace(/\.$/, ''), parts.join(' ')];
}

function showHappened(events) {
  const groups = fold(events);
  const today = groups.filter((group) => isToday(new Date(group.first.time))).length;
  setText('count', today > 0 ? `${plural(today, 'change')} today` : '');
  const rows = groups.slice(0, mostRows).map((group) => ({ key: `${group.first.stream} ${group.first.seq}`, time: group.first.time, tone: tone(group),
    line: line(group), outage: tone(group) === 'bad' ? outageAt(ms(group.first.time) + 1) : undefined }));
  const open = opened.at && (outageAt(ms(opened.at)) ?? { start: opened.at, end: opened.at });
  if (open && !rows.some((row) => row.outage?.start === open.start)) {
    rows.push({ key: open.start, time: open.start, tone: 'bad', line: [brief(open.message || 'Outage'), ''], outage: open });
    rows.sort((left, right) => ms(right.time) - ms(left.time));
  }
  // A group and the ones that follow from it may be about one outage: its first row opens it.
  const first = new Map(rows.map((row) => [row.outage?.start, row.key]));
  update('happened', [rows, open, opened.events, day(new Date(now()))], () => rows.length === 0
    ? element('li', {}, element('em', {}, 'Nothing yet')) : rows.map((row_) => row(row_, first.get(row_.outage?.start) === row_.key && open)));
}

function row({ key, time: at_, tone: kind, line: [text, note], outage }, open) {
  const isOpen = open && open.start === outage?.start;
  const lasted = outage && outage.start !== outage.end && (outage.end ? duration(outage.duration_seconds) : ['for ', age(outage.start)]);
  const said = [text, ' ', (note || lasted) && element('em', {}, note, note && lasted && '; ', lasted)];
  return element('li', {}, moment(at_, withSeconds), inline({ class: `dot ${kind}` }, aside(toneWords[kind])),
    outage ? element('div', {}, button(said, { class: 'row', 'data-key': key, 'aria-expanded': String(Boolean(isOpen)) }, () => {
      if (isOpen) leave();
      else history.replaceState(null, '', `#outage=${outage.start}`);
      goTo();
    })) : inline({}, said),
    isOpen && detail(open));
}

/** Cause, what was found, and the events, from a little before the outage to a little after its end. */
function detail(outage) {
  const end = outage.end ? ms(outage.end) + 3000 : Infinity;
  const events = opened.events?.filter((event) => ms(event.time) <= end && ms(event.time) >= ms(opened.at) - 2000 && !quiet.has(event.event));
  const found = (events ?? []).filter((event) => event.event === 'verdict.raised');
  const length = outage.end === outage.start ? '' : outage.end
    ? [' to ', exact(outage.end), `, ${duration(outage.duration_seconds)}`] : [', for ', age(outage.start), ' so far'];
  return element('div', { class: 'detail' },
    element('p', {}, exact(outage.start), length, outage.message ? `: ${brief(outage.message)}` : ''),
    found.map(({ message, verdict }) => finding(verdict?.message ?? message, verdict?.hint)),
    !events ? element('p', {}, 'Reading its events') : events.length === 0 ? element('p', {}, 'The log has no events of it any more.')
      : element('ol', {}, events.slice(0, 40).map((event) => element('li', {}, exact(event.time), ' ', event.message))));
}

function openOutage(start) {
  Object.assign(opened, { at: start, events: null });
  show();
  return readOutage();
}

async function readOutage() {
  const start = opened.at;
  if (!start) return;
  const page = await ask(`api/v1/events?limit=200&since=${Math.ceil(secondsSince(start)) + 2}s`).catch(() => undefined);
  if (opened.at === start && page !== undefined) opened.events = page?.events ?? [];
  show();
}

// All events.

const every = { events: null, shown: 200, isReading: false };
const mostEvents = 5000;

async function readEvery() {
  const list = [];
  Object.assign(every, { events: list, shown: 200, isReading: true });
  try {
    for (let place_ = byId('every-since').value; place_ && list.length < mostEvents;) {
      const page = await ask(`api/v1/events?limit=1000&since=${encodeURIComponent(place_)}`);
      if (every.events !== list) return;
      list.push(...page?.events ?? []);
      place_ = page?.events.length === 1000 ? page.next : null;
      showEvery();
    }
  } catch {
    lost();
  }
  if (every.events !== list) return;
  every.isReading = false;
  showEvery();
}

function showEvery() {
  if (byId('every').hidden || !every.events) return;
  const kind = (event) => event.event.split('.')[0];
  offer(byId('every-kind'), [...new Set(every.events.map(kind))].sort().map((name) => [name, words(name)]));
  const [wanted, text] = [byId('every-kind').value, byId('every-search').value.trim().toLowerCase()];
  const found = every.events.filter((event) => (!wanted || kind(event) === wanted)
    && (!text || `${event.event} ${event.message}`.toLowerCase().includes(text))).reverse();
  setText('every-count', `${found.length} of ${plural(every.events.length, 'event')}${every.isReading ? ' so far' : ''}`);
  byId('every-more').hidden = found.length <= every.shown;
  update('every-list', found.slice(0, every.shown).map((event) => [event.stream, event.seq]), () => found.length === 0
    ? element('li', {}, element('em', {}, every.events.length === 0 ? 'Nothing yet' : 'Nothing matches')) : found.slice(0, every.shown).map((event) => {
      const kind_ = { error: 'bad', warning: 'warn' }[event.severity] ?? '';
      return element('li', {}, exact(event.time), inline({ class: `dot ${kind_}` }, aside(event.severity)),
        inline({}, event.message, ' ', element('em', {}, event.event)));
    }));
}
