// Availability and latency on one time axis: the headline as cells, a lane for each probe.

const spans = { '1h': ['1 h', 3600, '30s'], '24h': ['24 h', 86400, '10m'], '7d': ['7 d', 604800, '1h'], '30d': ['30 d', 2592000, '4h'] };
const mostLanes = 12;
const fewestCells = 12;
const time = { span: null, isChosen: false, areAllShown: false, cells: [], at: null };

/** A day, unless less than half of it is known: then the last hour. */
function chooseSpan(day_) {
  if (!time.isChosen) time.span = day_ && day_.known_seconds >= 43200 ? '24h' : '1h';
}

function showSpans() {
  update('spans', time.span, () => Object.entries(spans).map(([span, [text]]) =>
    button(text, { 'data-key': span, 'aria-pressed': String(span === time.span) }, () => {
      Object.assign(time, { span, isChosen: true, at: null });
      Object.assign(state, { history: null, records: new Map() });
      showSpans();
      want(true);
    })));
}

/** Such as `99.6 % online · 2 outages, 5 min 12 s · 1 h not recorded`. */
function summary(history, from) {
  const length = (ms(history.until) - from) / 1000;
  const known = history.known_seconds;
  const down = known - history.satisfied_seconds;
  const count = history.outages.length;
  const share = isSaid(history.availability_percent)
    ? `${percent(history.availability_percent)} online${known < length / 2 ? ` of the ${duration(known)} recorded` : ''}` : 'nothing recorded yet';
  const missing = length - known;
  return [share, count > 0 ? `${plural(count, 'outage')}, ${duration(down)}` : known > 0 && 'no outage',
    known >= length / 2 && missing >= max(60, length / 200) && `${duration(missing)} not recorded`].filter(Boolean).join(' · ');
}

function showTime(history, probes, records) {
  if (!history?.steps) return;
  const step = history.step_seconds * 1000;
  // The axis begins with what is recorded.
  const to = max(ms(history.until), ms(history.since) + 1);
  const [gap] = history.unknown;
  const begin = gap?.start === history.since ? min(ms(gap.end), to - fewestCells * step) : 0;
  const from = max(ms(history.steps[0].start), begin);
  const steps = history.steps.filter((cell) => ms(cell.start) + step > from);
  Object.assign(time, { from, to, step, cells: steps, outages: history.outages });
  const measured = probes.filter((probe) => records.get(probe.name)?.steps.length > 0);
  byId('unmeasured').hidden = probes.length > 0;
  update('lanes', [history.until, steps, measured.map((probe) => records.get(probe.name)), probes.length, time.areAllShown], () => [
    lane('Internet', null, 26, cells()),
    measured.map((probe) => {
      const record = records.get(probe.name);
      const [top, unit, factor] = scaleOf(record);
      return lane(probe.name, figures(record, unit, factor), 36, curve(probe.interval_seconds, record, top), top > 0 && [`${inUnit(top, factor)} ${unit}`, '0']);
    }),
    !time.areAllShown && probes.length > mostLanes && button(`All ${probes.length} probes`, { 'data-key': 'all' }, () => { time.areAllShown = true; want(true); }),
  ]);
  const marks = [0, 0.25, 0.5, 0.75].map((share) => axisText(new Date(from + share * (to - from)), share === 0));
  update('axis', marks, () => [...marks, 'now'].map((text) => inline({}, text)));
  setText('summary', summary(history, from));
  showReadout();
}

const dayText = (date) => `${weekday(date)} ${date.getDate()}.${date.getMonth() + 1}.`;

function axisText(date, isFirst) {
  if (time.to - time.from > 172800e3) return dayText(date);
  return isFirst && !isToday(date) ? `${weekday(date)} ${hourAndMinute(date)}` : hourAndMinute(date);
}

const place = (moment_, { from, to } = time) => Number((1000 * (moment_ - from) / (to - from)).toFixed(2));
const picture = (height, ...children) => drawing('svg', { viewBox: `0 0 1000 ${height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' }, ...children);
const lane = (name, note, height, drawn, scale) =>
  element('div', { class: 'lane' }, element('p', {}, element('b', { title: name }, name), note), picture(height, drawn),
    scale && element('div', { class: 'scale', 'aria-hidden': 'true' }, scale.map((text) => inline({}, text))));

/** One cell a step: what is known, red from below by the share of the outage, never less than can be seen. */
function cells() {
  return time.cells.map((cell) => {
    const begin = ms(cell.start);
    const [start, end] = [max(begin, time.from), min(begin + time.step, time.to)];
    const box = { x: place(start), width: max(0.5, place(end) - place(start) - 1.4), rx: 1 };
    const share = cell.down_seconds / max(0.001, cell.known_seconds);
    const height = cell.down_seconds > 0 ? max(5, 26 * min(1, share)) : 0;
    const outage = height > 0 && time.outages.find((other) => ms(other.start) < end && (!other.end || ms(other.end) > start));
    const drawn = [drawing('rect', { ...box, y: 0, height: 26, class: cell.known_seconds * 2000 < end - start ? 'unknown' : 'known' }),
      height > 0 && drawing('rect', { ...box, y: 26 - height, height, class: 'down' })];
    if (!outage) return drawn;
    const opens = drawing('g', { 'data-outage': outage.start }, drawn);
    on(opens, 'click', () => { location.hash = `outage=${outage.start}`; });
    return opens;
  });
}

/** What a chart reaches up to: a round number above nearly all of its values, with its unit; one unit for all of it. */
function scaleOf(record) {
  const highest = record.steps.flatMap((cell) => cell.p95_seconds ?? []).sort((left, right) => left - right);
  const most = highest[floor(highest.length * 0.98)];
  if (!most) return [0, ...unitOf(record.p95_seconds ?? 1)];
  const power = 10 ** floor(Math.log10(most));
  const top = [1, 1.5, 2, 3, 5, 7, 10].find((digit) => digit * power >= most * 0.999) * power;
  return [top, ...unitOf(top * 1.0001)];
}

function figures(record, unit, factor) {
  const parts = [];
  if (isSaid(record.median_seconds)) {
    parts.push(inline({}, `${inUnit(record.median_seconds, factor)} · p95 ${inUnit(record.p95_seconds, factor)} ${unit}`));
  }
  const lost = `${percent(max(0.1, record.loss_percent))} lost`;
  if (record.lost > 0) parts.push(inline({ class: 'bad' }, lost));
  return parts;
}

/** The median as a line, from the least to p95 as a band, what was lost as red cells. */
function curve(interval, record, top, axis = time) {
  const step = record.step_seconds * 1000;
  const known = record.steps.map((cell) => ({ ...cell, at: min(ms(cell.start) + step / 2, axis.to) })).filter((cell) => cell.at >= axis.from);
  const answered = known.filter((cell) => isSaid(cell.median_seconds));
  const height = (seconds) => (35 - 33 * min(1, seconds / (top || 1))).toFixed(1);
  const widest = 2.5 * max(step, interval * 1000);
  const pieces = [];
  for (const cell of answered) {
    const piece = pieces.at(-1);
    if (piece && cell.at - piece.at(-1).at <= widest) piece.push(cell);
    else pieces.push([cell]);
  }
  const line = (piece, value) => piece.flatMap((cell) => piece.length > 1 ? [[cell.at, cell]] : [[cell.at - step / 2, cell], [cell.at + step / 2, cell]])
    .map(([at, cell]) => `${place(at, axis)},${height(cell[value])}`);
  return [
    pieces.map((piece) => drawing('polygon', { class: 'band', points: [...line(piece, 'p95_seconds'), ...line(piece, 'min_seconds').reverse()].join(' ') })),
    pieces.map((piece) => drawing('polyline', { class: 'median', points: line(piece, 'median_seconds').join(' ') })),
    known.filter((cell) => cell.lost > 0).map((cell) => {
      const tall = max(6, 36 * cell.lost / cell.sent);
      const start = ms(cell.start);
      return drawing('rect', { class: 'down', x: place(start, axis), width: max(2, place(start + step, axis) - place(start, axis) - 1), y: 36 - tall, height: tall });
    }),
  ];
}

// One rule over all lanes, by pointer or by arrow keys, and what they say there.

function pointAt(share) {
  time.at = share === null ? null : min(time.cells.length - 1, max(0, floor(share)));
  showReadout();
}

function showReadout() {
  const cell = time.cells[time.at];
  byId('rule').toggleAttribute('hidden', !cell);
  if (!cell) return setText('readout', '');
  const start = ms(cell.start);
  const end = min(start + time.step, time.to);
  const at = `${place((start + end) / 2) / 10}%`;
  for (const end_ of ['x1', 'x2']) byId('rule').firstElementChild.setAttribute(end_, at);
  const parts = [`${shortMoment(new Date(start))}–${hourAndMinute(new Date(end))}`, !cell.known_seconds ? 'not recorded'
    : cell.down_seconds ? `${duration(cell.down_seconds)} without Internet` : 'online'];
  for (const probe of state.probes.filter(({ name }) => state.records.has(name))) {
    const inside = (state.records.get(probe.name)?.steps ?? []).filter((other) => ms(other.start) >= start && ms(other.start) < end);
    const [sent, lost] = ['sent', 'lost'].map((name) => inside.reduce((total, other) => total + other[name], 0));
    const middle = inside.map((other) => other.median_seconds).filter(isSaid);
    if (sent > 0) parts.push(`${probe.name} ${middle.length > 0 ? delay(middle[0]) : ''}${lost > 0 ? ` ${lost} of ${sent} lost` : ''}`.trim());
  }
  setText('readout', parts.join(' · '));
}

// Day by day, as the reader's calendar has the days: for how long each was known and down.

const mostDays = 90;
const overlap = (list, from, to) => list.reduce((total, { start, end }) =>
  total + max(0, min(to, end ? ms(end) : to) - max(from, ms(start))), 0) / 1000;

function daysOf({ since, until, outages, unknown }) {
  const [first, last] = [ms(since), ms(until)];
  return Array.from({ length: mostDays }, (_, index) => {
    const midnight = new Date(last);
    midnight.setHours(0, 0, 0, 0);
    midnight.setDate(midnight.getDate() - (mostDays - 1 - index));
    const next = new Date(midnight);
    next.setDate(next.getDate() + 1);
    const [from, to] = [max(first, midnight), min(last, next)];
    const inside = outages.filter((outage) => ms(outage.start) < to && (!outage.end || ms(outage.end) > from));
    const known = max(0, (to - from) / 1000 - overlap(unknown, from, to));
    return { midnight, known, down: min(known, overlap(inside, from, to)), count: inside.length, outage: inside.at(-1)?.start };
  });
}

/** Such as `Wed 2026-11-04: down 1 min 12 s, 1 outage`. */
function dayWords({ midnight, known, down, count }) {
  const found = count > 0 ? `down ${duration(down)}, ${plural(count, 'outage')}` : 'no outage';
  return `${weekday(midnight)} ${day(midnight)}: ${known < 1 ? 'not recorded' : `${found}${known < 82800 && !isToday(midnight) ? `, ${duration(known)} recorded` : ''}`}`;
}

function showDays(history) {
  byId('month').hidden = !history;
  if (!history) return;
  const days = daysOf(history);
  const recorded = mostDays - days.findIndex((one) => one.known >= 1);
  const shares = recorded > mostDays ? [] : [...new Set([30, mostDays].map((count) => min(count, recorded)))].map((count) => {
    const [known, down] = ['known', 'down'].map((name) => days.slice(-count).reduce((total, one) => total + one[name], 0));
    return `${percent(100 * (1 - down / known))} online in ${plural(count, 'day')}`;
  });
  setText('month-summary', shares.join(' · ') || 'nothing recorded yet');
  update('days', days, () => days.map((one) => {
    const said = dayWords(one);
    const share = one.down / max(1, one.known);
    const kind = one.known < 1 ? 'unknown' : share >= 0.1 ? 'most' : share >= 0.01 && 'much';
    const node = one.count > 0 ? jump(`outage=${one.outage}`, { class: kind, title: said, 'data-key': said.slice(0, 14) }, aside(said))
      : element('i', { class: kind, title: said }, aside(said));
    for (const type of ['pointerenter', 'focus']) on(node, type, () => showDay(said));
    for (const type of ['pointerleave', 'blur']) on(node, type, () => showDay());
    return element('li', {}, node);
  }));
  showDay();
}

/** The words of a day under the strip; else where it begins and ends. */
function showDay(said) {
  const count = innerWidth > 720 ? mostDays : 30;
  update('day', [said, count], () => (said ? said : [inline({}, `${count} days`), inline({}, 'today')]));
}

function watchPointer() {
  const plots = byId('plots');
  on(plots, 'pointermove', (event) => {
    const box = plots.querySelector('svg').getBoundingClientRect();
    pointAt(event.clientX < box.left ? null : time.cells.length * (event.clientX - box.left) / box.width);
  });
  on(plots, 'pointerleave', () => pointAt(null));
  on(plots, 'blur', () => pointAt(null));
  on(plots, 'keydown', (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (steps === undefined) return;
    event.preventDefault();
    pointAt((time.at ?? time.cells.length) + steps);
  });
}
