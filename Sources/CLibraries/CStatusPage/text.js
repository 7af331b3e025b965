'use strict';
// Words, times and elements. Whatever comes from the network reaches the page as a text node or not at all.

const byId = (id) => document.getElementById(id);
/** An element by its name in the document, or itself. */
const at = (node) => (typeof node === 'string' ? byId(node) : node);
function setText(node, text) {
  node = at(node);
  if (node.textContent !== text) node.textContent = text;
}

const { floor, max, min, round } = Math;
/** A moment, or a text of one, in milliseconds. */
const ms = Date.parse;
/** Has something done whenever an event comes. */
const on = (node, type, act) => at(node).addEventListener(type, act);

const isSaid = (value) => value !== undefined && value !== null && value !== false;
const present = (children) => children.flat(3).filter(isSaid);

function build(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (isSaid(value)) node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...present(children));
  return node;
}

/** An element with attributes and children; strings become text nodes. */
const element = (name, attributes = {}, ...children) => build(document.createElement(name), attributes, children);
/** The same for SVG. */
const drawing = (name, attributes = {}, ...children) =>
  build(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
/** A part of a line. */
const inline = (...parts) => element('span', ...parts);

function button(text, attributes, act) {
  const made = element('button', { type: 'button', ...attributes }, text);
  on(made, 'click', act);
  return made;
}

/** A link to a service of the network: the scheme is ours, and the place an address, never a name that somebody chose. */
function link(key, scheme, address, port, path, text) {
  const place = `${scheme}://${address.includes(':') ? `[${address}]` : address}:${port}`;
  return element('a', { href: place + encodeURI(path), rel: 'noreferrer', 'data-key': key }, text);
}

/** A link to another place of this page. */
const jump = (place, attributes, ...children) => element('a', { href: `#${place}`, ...attributes }, ...children);

/** Takes the place of this page out of its address. */
const leave = () => history.replaceState(null, '', location.pathname + location.search);

/** Puts new children into a node when what they show is different; what has the focus keeps it. */
const shown = new WeakMap();
function update(node, data, make) {
  node = at(node);
  const key = JSON.stringify(data);
  if (shown.get(node) === key) return;
  shown.set(node, key);
  const focused = node.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  node.replaceChildren(...present([make()]));
  if (focused) [...node.querySelectorAll('[data-key]')].find((other) => other.dataset.key === focused)?.focus();
}

const code = (text) => element('code', {}, text);
const words = (text) => String(text).replaceAll('_', ' ');
const plural = (count, word) => `${count} ${word}${count === 1 ? '' : word.endsWith('s') ? 'es' : 's'}`;
const pair = (name, ...values) => [element('dt', {}, name), element('dd', {}, values.map((value) => element('div', {}, value)))];
/** A word for everybody beside what only a shape or a colour says. */
const aside = (text) => inline({ class: 'hidden' }, text);
const natural = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' }).compare;

/** A text whose `commands` stand between backticks. */
const marked = (text) => text.split('`').map((part, index) => (index % 2 ? code(part) : part));

/** A clause as a sentence; names such as `eth0` stay as they are. */
function sentence(text, names = []) {
  const first = text.split(' ')[0];
  const head = names.includes(first) || /[^a-z]/.test(first) ? text : text[0].toUpperCase() + text.slice(1);
  return /[.!?]$/.test(head) ? head : `${head}.`;
}

/** What was found, and what to do about it. */
const finding = (text, hint) => element('p', {}, element('b', {}, text), ' ', hint && marked(sentence(hint)));

/** Such as `3 d 4 h`, `4 min 12 s` or `0.7 s`; at most two units. */
function duration(seconds) {
  if (!Number.isFinite(seconds)) return '?';
  if (seconds > 0 && seconds < 0.95) return `${max(0.1, seconds).toFixed(1)} s`;
  let rest = max(0, round(seconds));
  const parts = [];
  for (const [unit, size] of [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]]) {
    const count = floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(' ') || '0 s';
}

/** How long an answer took: `98 µs`, `0.4 ms`, `11 ms`, `1.2 s`. */
function delay(seconds) {
  if (seconds < 0.0001) return `${round(seconds * 1e6)} µs`;
  if (seconds < 0.00995) return `${(seconds * 1000).toFixed(1)} ms`;
  return seconds < 0.9995 ? `${round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`;
}

/** The unit that a chart up to so many seconds has, and what divides by it. */
const unitOf = (seconds) => (seconds < 0.001 ? ['µs', 1e6] : seconds < 1 ? ['ms', 1000] : ['s', 1]);
/** A number of a chart, with two digits that count. */
function inUnit(seconds, factor) {
  const value = seconds * factor;
  return value >= 9.95 ? String(round(value)) : String(Number(value.toFixed(value < 0.095 ? 2 : 1)));
}

/** Rounded down, so that 100.0 % is what had no outage. */
const percent = (share) => `${(share === 100 ? 100 : min(99.9, floor(share * 10 + 1e-6) / 10)).toFixed(1)} %`;

// The service's clock, as far as its `Date` header tells: durations are counted on one clock.
let clockOffset = 0;
const now = () => Date.now() + clockOffset;
function readClock(response) {
  const offset = ms(response.headers.get('Date')) - Date.now();
  if (Number.isFinite(offset)) clockOffset = Math.abs(offset) > 3000 ? offset : 0;
}
const secondsSince = (time) => max(0, (now() - ms(time)) / 1000);

const digits = (number) => String(number).padStart(2, '0');
const hourAndMinute = (date) => `${digits(date.getHours())}:${digits(date.getMinutes())}`;
const day = (date) => `${date.getFullYear()}-${digits(date.getMonth() + 1)}-${digits(date.getDate())}`;
const weekday = (date) => ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][date.getDay()];
const isToday = (date) => day(date) === day(new Date(now()));

/** Such as `14:32`, `Wed 14:32` or `11-03 14:32`, in the reader's time zone. */
function shortMoment(date) {
  if (isToday(date)) return hourAndMinute(date);
  return `${now() - date < 6 * 86400e3 ? weekday(date) : day(date).slice(5)} ${hourAndMinute(date)}`;
}

const withSeconds = (date) => `${shortMoment(date)}:${digits(date.getSeconds())}`;

/** A moment in the reader's time zone. */
function moment(text, show = shortMoment) {
  const date = new Date(text);
  return element('time', { datetime: text, title: text }, Number.isNaN(date.getTime()) ? String(text) : show(date));
}
const toTheSecond = (date) => `${isToday(date) ? '' : `${day(date)} `}${hourAndMinute(date)}:${digits(date.getSeconds())}`;
const exact = (text) => moment(text, toTheSecond);

/** How long ago something was; counts on by itself. */
const age = (text) => element('time', { datetime: text, title: text, 'data-age': true }, duration(secondsSince(text)));
function countOn() {
  for (const node of document.querySelectorAll('time[data-age]')) setText(node, duration(secondsSince(node.dateTime)));
}

/** Offers the values in a list to choose from, and keeps what was chosen. */
function offer(select, values) {
  const [chosen, everything] = [select.value, select.options[0]];
  const offered = chosen && !values.some(([value]) => value === chosen) ? [...values, [chosen, chosen]] : values;
  update(select, offered, () => [everything, offered.map(([value, text]) => element('option', { value }, text))]);
  select.value = chosen;
}
