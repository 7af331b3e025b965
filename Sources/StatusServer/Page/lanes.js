// Availability and delay on one time axis: the headline as cells, a lane for each probe.

const spans = { '1h': ['1 h', 3600, '30s'], '24h': ['24 h', 86400, '10m'], '7d': ['7 d', 604800, '1h'], '30d': ['30 d', 2592000, '4h'] };
const mostLanes = 12;
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
function summary(history) {
  const length = (Date.parse(history.until) - Date.parse(history.since)) / 1000;
  const known = history.known_seconds;
  const down = known - history.satisfied_seconds;
  const count = history.outages.length;
  const share = typeof history.availability_percent === 'number'
    ? `${percent(history.availability_percent)} online${known < length / 2 ? ` of the ${duration(known)} recorded` : ''}` : 'nothing recorded yet';
  const missing = length - known;
  return [share, count > 0 ? `${plural(count, 'outage')}, ${duration(down)}` : known > 0 && 'no outage',
    known >= length / 2 && missing >= Math.max(60, length / 200) && `${duration(missing)} not recorded`].filter(Boolean).join(' · ');
}

function showTime(history, probes, records) {
  if (!history?.steps) return;
  setText('summary', summary(history));
  const step = history.step_seconds * 1000;
  // What was not recorded before the first record says nothing.
  const first = Math.max(0, history.steps.findIndex((cell) => cell.known_seconds > 0));
  const steps = history.steps.slice(first);
  const from = Date.parse(steps[0].start);
  const to = Math.max(Date.parse(history.until), from + 1);
  Object.assign(time, { from, to, step, cells: steps, outages: history.outages });
  const measured = probes.filter((probe) => records.get(probe.name)?.steps.length > 0);
  byId('unmeasured').hidden = probes.length > 0;
  update('lanes', [history.until, history.steps, measured.map((probe) => records.get(probe.name)), probes.length, time.areAllShown], () => [
    lane('Internet', null, 26, cells(time.cells)),
    measured.map((probe) => {
      const record = records.get(probe.name);
      const scale = scaleOf(record);
      return lane(probe.name, figures(record, scale.unit), 36, curve(probe, record, scale.top), [inUnit(scale.top, scale.unit), '0']);
    }),
    !time.areAllShown && probes.length > mostLanes && button(`All ${probes.length} probes`, { 'data-key': 'all' }, () => { time.areAllShown = true; want(true); }),
  ]);
  const marks = [0, 0.25, 0.5, 0.75].map((share) => axisText(new Date(from + share * (to - from)), share === 0));
  update('axis', marks, () => [...marks, 'now'].map((text) => element('span', {}, text)));
  showReadout();
}

const dayText = (date) => `${weekday(date)} ${date.getDate()}.${date.getMonth() + 1}.`;

function axisText(date, isFirst) {
  if (spans[time.span][1] > 86400) return dayText(date);
  return isFirst && !isToday(date) ? `${weekday(date)} ${hourAndMinute(date)}` : hourAndMinute(date);
}

const place = (moment_) => Number((1000 * (moment_ - time.from) / (time.to - time.from)).toFixed(2));
const picture = (height, ...children) => drawing('svg', { viewBox: `0 0 1000 ${height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' }, ...children);
const lane = (name, note, height, drawn, scale) =>
  element('div', { class: 'lane' }, element('p', {}, element('b', { title: name }, name), note), picture(height, drawn),
    scale && element('small', { class: 'scale', 'aria-hidden': 'true' }, scale.map((text) => element('i', {}, text))));

/** What the highest point of a curve stands for, and the one unit of its figures. */
function scaleOf(record) {
  const highest = record.steps.map((cell) => cell.p95_seconds).filter((value) => typeof value === 'number').sort((left, right) => left - right);
  const top = (highest[Math.floor(highest.length * 0.98)] ?? 1) * 1.15;
  return { top, unit: top < 0.0001 ? 'µs' : top < 0.9995 ? 'ms' : 's' };
}

function inUnit(seconds, unit) {
  const value = seconds * { µs: 1e6, ms: 1e3, s: 1 }[unit];
  return `${value < 9.95 && unit !== 'µs' ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** One cell a step: what is known, red from below by the share of the outage, never less than can be seen. */
function cells(steps) {
  return steps.map((cell) => {
    const start = Date.parse(cell.start);
    const end = Math.min(start + time.step, time.to);
    const box = { x: place(start), width: Math.max(0.5, place(end) - place(start) - 1.4), rx: 1 };
    const share = cell.down_seconds / Math.max(0.001, cell.known_seconds);
    const height = cell.down_seconds > 0 ? Math.max(5, 26 * Math.min(1, share)) : 0;
    const outage = height > 0 && time.outages.find((other) => Date.parse(other.start) < end && (!other.end || Date.parse(other.end) > start));
    const drawn = [drawing('rect', { ...box, y: 0, height: 26, class: cell.known_seconds * 2000 < end - start ? 'unknown' : 'known' }),
      height > 0 && drawing('rect', { ...box, y: 26 - height, height, class: 'down' })];
    if (!outage) return drawn;
    const opens = drawing('g', { 'data-outage': outage.start }, drawn);
    opens.addEventListener('click', () => { location.hash = `outage=${outage.start}`; });
    return opens;
  });
}

function figures(record, unit) {
  const parts = [];
  if (typeof record.median_seconds === 'number') {
    parts.push(element('span', {}, `${inUnit(record.median_seconds, unit)} · p95 ${inUnit(record.p95_seconds, unit)} `));
  }
  const lost = `${percent(Math.max(0.1, record.loss_percent))} lost`;
  if (record.lost > 0) parts.push(element('span', { class: 'bad' }, lost));
  return parts;
}

/** The median as a line, from the least to p95 as a band, what was lost as red cells. */
function curve(probe, record, top) {
  const step = record.step_seconds * 1000;
  const known = record.steps.filter((cell) => Date.parse(cell.start) + step > time.from).map((cell) => ({ ...cell, at: Math.min(Date.parse(cell.start) + step / 2, time.to) }));
  const answered = known.filter((cell) => typeof cell.median_seconds === 'number');
  const height = (seconds) => (35 - 33 * Math.min(1, seconds / top)).toFixed(1);
  const widest = 2.5 * Math.max(step, probe.interval_seconds * 1000);
  const pieces = [];
  for (const cell of answered) {
    const piece = pieces.at(-1);
    if (piece && cell.at - piece.at(-1).at <= widest) piece.push(cell);
    else pieces.push([cell]);
  }
  const line = (piece, value) => piece.flatMap((cell) => piece.length > 1 ? [[cell.at, cell]] : [[cell.at - step / 2, cell], [cell.at + step / 2, cell]])
    .map(([at, cell]) => `${place(at)},${height(cell[value])}`);
  return [
    pieces.map((piece) => drawing('polygon', { class: 'band', points: [...line(piece, 'p95_seconds'), ...line(piece, 'min_seconds').reverse()].join(' ') })),
    pieces.map((piece) => drawing('polyline', { class: 'median', points: line(piece, 'median_seconds').join(' ') })),
    known.filter((cell) => cell.lost > 0).map((cell) => {
      const tall = Math.max(6, 36 * cell.lost / cell.sent);
      const start = Date.parse(cell.start);
      return drawing('rect', { class: 'down', x: place(start), width: Math.max(2, place(start + step) - place(start) - 1), y: 36 - tall, height: tall });
    }),
  ];
}

/** A bar for each of 90 days: what was recorded, and how much of it was an outage. */
function showLong(history) {
  byId('long').hidden = !history?.steps || history.known_seconds < 86400;
  if (byId('long').hidden) return;
  setText('long-summary', `${percent(history.availability_percent)} online, ${history.outages.length > 0 ? plural(history.outages.length, 'outage') : 'no outage'}, ${duration(history.known_seconds)} recorded`);
  update('days', history.steps, () => history.steps.map((cell) => {
    const start = Date.parse(cell.start);
    const outage = cell.down_seconds > 0 && history.outages.find((other) => Date.parse(other.start) < start + 86400e3 && (!other.end || Date.parse(other.end) > start));
    // Days of UTC, by the date at their noon.
    const said = `${dayText(new Date(start + 43200e3))} ${cell.known_seconds === 0 ? 'not recorded' : cell.down_seconds > 0 ? `${duration(cell.down_seconds)} without Internet` : 'no outage'}`;
    const kind = cell.known_seconds === 0 ? 'unknown' : cell.down_seconds === 0 ? 'known' : cell.down_seconds < 600 ? 'some' : 'down';
    const bar = { class: kind, title: said, 'data-key': outage ? `day ${cell.start}` : undefined };
    return element('li', {}, outage ? jump(`outage=${outage.start}`, bar, aside(said)) : element('span', bar, aside(said)));
  }));
}

// One rule over all lanes, by pointer or by arrow keys, and what they say there.

function pointAt(share) {
  time.at = share === null ? null : Math.min(time.cells.length - 1, Math.max(0, Math.floor(share)));
  showReadout();
}

function showReadout() {
  const cell = time.cells[time.at];
  byId('rule').toggleAttribute('hidden', !cell);
  if (!cell) return setText('readout', '');
  const start = Date.parse(cell.start);
  const end = Math.min(start + time.step, time.to);
  const at = `${place((start + end) / 2) / 10}%`;
  for (const end_ of ['x1', 'x2']) byId('rule').firstElementChild.setAttribute(end_, at);
  const parts = [`${shortMoment(new Date(start))}–${hourAndMinute(new Date(end))}`, !cell.known_seconds ? 'not recorded'
    : cell.down_seconds ? `${duration(cell.down_seconds)} without Internet` : 'online'];
  for (const probe of state.probes.filter(({ name }) => state.records.has(name))) {
    const inside = (state.records.get(probe.name)?.steps ?? []).filter((other) => Date.parse(other.start) >= start && Date.parse(other.start) < end);
    const [sent, lost] = ['sent', 'lost'].map((name) => inside.reduce((total, other) => total + other[name], 0));
    const middle = inside.map((other) => other.median_seconds).filter((value) => typeof value === 'number');
    if (sent > 0) parts.push(`${probe.name} ${middle.length > 0 ? delay(middle[0]) : ''}${lost > 0 ? ` ${lost} of ${sent} lost` : ''}`.trim());
  }
  setText('readout', parts.join(' · '));
}

function watchPointer() {
  const plots = byId('plots');
  plots.addEventListener('pointermove', (event) => {
    const box = plots.querySelector('svg').getBoundingClientRect();
    pointAt(event.clientX < box.left ? null : time.cells.length * (event.clientX - box.left) / box.width);
  });
  plots.addEventListener('pointerleave', () => pointAt(null));
  plots.addEventListener('blur', () => pointAt(null));
  plots.addEventListener('keydown', (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (steps === undefined) return;
    event.preventDefault();
    pointAt((time.at ?? time.cells.length) + steps);
  });
}
