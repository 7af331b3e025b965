'use strict';
// Words, times and elements. Whatever comes from the network reaches the page as a text node or not at all.

const byId = (id) => document.getElementById(id);
const setText = (node, text) => { if (node.textContent !== text) node.textContent = text; };

/** An element with attributes and children; strings become text nodes. */
function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat().filter((child) => child !== undefined && child !== null));
  return node;
}

/** The same for SVG. */
function drawing(name, attributes = {}, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** A symbol for the eye beside a word for everybody. */
const verdict = (kind, word) => {
  const symbol = { ok: '✓', bad: '✗', warn: '▲' }[kind];
  return symbol
    ? element('span', { class: `${kind} nowrap` }, element('span', { 'aria-hidden': 'true' }, symbol + ' '), word)
    : element('span', { class: 'muted' }, word);
};

const lines = (list) => list.map((item) => element('div', {}, item));
const code = (text) => element('span', { class: 'code' }, text);
const words = (text) => String(text).replaceAll('_', ' ');

/** Such as `3 d 4 h`, `4 min 12 s` or `73 ms`; at most two units. */
function duration(seconds) {
  if (!Number.isFinite(seconds)) return '?';
  if (seconds > 0 && seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  let rest = Math.max(0, Math.round(seconds));
  const parts = [];
  for (const [unit, size] of [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]]) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(' ') || '0 s';
}

const percent = (share) => `${share === 100 ? '100' : (Math.floor(share * 100) / 100).toFixed(2)} %`;

// The service's clock, as far as its `Date` header tells: durations are counted on one clock.
let clockOffset = 0;
const now = () => Date.now() + clockOffset;
function readClock(response) {
  const offset = Date.parse(response.headers.get('Date')) - Date.now();
  if (Number.isFinite(offset)) clockOffset = Math.abs(offset) > 3000 ? offset : 0;
}
const secondsSince = (time) => Math.max(0, (now() - Date.parse(time)) / 1000);

const digits = (number) => String(number).padStart(2, '0');
const hourAndMinute = (date) => `${digits(date.getHours())}:${digits(date.getMinutes())}`;
const day = (date) => `${date.getFullYear()}-${digits(date.getMonth() + 1)}-${digits(date.getDate())}`;

/** A moment in the reader's time zone, without the day when it is today's. */
function moment(text) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return String(text);
  const clock = `${hourAndMinute(date)}:${digits(date.getSeconds())}`;
  const shown = day(date) === day(new Date(now())) ? clock : `${day(date)} ${clock}`;
  return element('time', { datetime: text, title: text }, shown);
}

/** How long ago something was; counts on by itself. */
const age = (text, suffix = '') => element('time', { datetime: text, title: text, 'data-age': suffix }, duration(secondsSince(text)) + suffix);
function countOn() {
  for (const node of document.querySelectorAll('time[data-age]')) {
    setText(node, duration(secondsSince(node.dateTime)) + node.dataset.age);
  }
}

/** Puts rows into a table; a row is a list of cells, the first its header, or has `class` and `cells`. */
function fill(table, rows, emptyText) {
  const body = table.tBodies[0];
  const columns = table.tHead.rows[0].cells.length;
  const made = rows.map((row) => {
    const cells = row.cells ?? row;
    return element('tr', { class: row.class }, cells.map((cell, index) => {
      const content = cell instanceof Node || Array.isArray(cell) ? cell : String(cell ?? '');
      return index === 0 ? element('th', { scope: 'row' }, content) : element('td', {}, content);
    }));
  });
  if (made.length === 0) made.push(element('tr', {}, element('td', { class: 'empty', colspan: columns }, emptyText)));
  body.replaceChildren(...made);
}

/** Offers the values in a list to choose from, and keeps what was chosen. */
function offer(select, values) {
  const offered = [...select.options].slice(1).map((option) => option.value);
  if (select.value && !values.includes(select.value)) values = [...values, select.value].sort();
  if (offered.join('\n') === values.join('\n')) return;
  const chosen = select.value;
  select.replaceChildren(select.options[0], ...values.map((value) => element('option', { value }, value)));
  select.value = chosen;
}

/** A table that scrolls sideways can be reached by keyboard, and only then. */
function markScrolling() {
  for (const region of document.querySelectorAll('.scroll')) {
    if (region.scrollWidth > region.clientWidth) {
      region.tabIndex = 0;
      region.setAttribute('role', 'group');
      region.setAttribute('aria-label', region.querySelector('caption').textContent);
    } else {
      for (const name of ['tabindex', 'role', 'aria-label']) region.removeAttribute(name);
    }
  }
}
