// Traffic: what the machine's own TCP connections show, in words for now and as lanes for the last hour.

const traffic = { at: 0 };
const troubles = { stalled: 'bad', lossy: 'warn', slow: 'warn', unanswered: 'warn' };

/** Reads it at most every ten seconds, and at once after an event that is about it. */
async function readTraffic(isNews) {
  if (!isNews && Date.now() < traffic.at + 1e4) return;
  traffic.at = Date.now();
  // What is read beside it finds that there is no contact.
  const read = await Promise.all(['', '/history'].map((rest) => ask(`api/v1/traffic${rest}`))).catch(() => null);
  if (!read) return;
  [traffic.now, traffic.history] = read;
  show();
}

/** Such as `212 connections answered within 40 ms, 0.2 % sent again`; of the worst path where something is wrong. */
function trafficWords(all) {
  const path = troubles[all.state] && all.paths.find(({ state: kind }) => kind === all.state);
  const { connections, unanswered, last_answer_seconds: last, rtt_seconds: rtt, retransmit_ratio: again } = path || all;
  if (!connections) return all.problem ?? 'no connections';
  const some = plural(connections, 'connection') + (path ? ` via ${path.gateway ?? nameOf(path.interface)}` : '');
  return (path ? `${path.state}: ` : '') + (['stalled', 'unanswered'].includes(path?.state)
    ? `${unanswered} of ${some} without answer${isSaid(last) ? ` for ${duration(last)}` : ''}`
    : some + (rtt ? ` answered within ${delay(rtt.p90)}` : '') + (isSaid(again) ? `, ${percent(100 * again)} sent again` : ''));
}

function showTraffic({ now: all, history }) {
  byId('traffic').hidden = !all?.enabled;
  if (all?.enabled) update('traffic', [all, history], () => [
    element('h2', { id: 'traffic-title' }, 'Traffic ', inline({ class: troubles[all.state] }, trafficWords(all))),
    history?.steps.some((cell) => cell.connections) && trafficLanes(history.steps, history.step_seconds)]);
}

function trafficLanes(steps, step) {
  const axis = { from: ms(steps[0].start), to: max(now(), ms(steps.at(-1).start) + step * 1000) };
  const stalled = steps.filter((cell) => cell.stalled);
  const drawn = (name, key, isShare) => {
    const cells_ = steps.map((cell) => ({ ...cell, min_seconds: 0, median_seconds: cell[key], p95_seconds: cell[key], lost: cell.stalled, sent: 1 }));
    const record = { step_seconds: step, steps: cells_ };
    const scale = scaleOf(record);
    const [top, unit, factor] = isShare ? [max(0.01, scale[0]), '%', 100] : scale;
    const said = (value) => `${inUnit(value, factor)} ${unit}`;
    const last = steps.at(-1)[key];
    return lane(name, isSaid(last) && inline({}, said(last)), 36, curve(step, record, top, axis), [said(top), '0']);
  };
  return [drawn('Round trip', 'rtt_seconds'), drawn('Sent again', 'retransmit_ratio', true),
    element('div', { class: 'axis', 'aria-hidden': 'true' }, [hourAndMinute(new Date(axis.from)), 'now'].map((text) => inline({}, text))),
    stalled.length > 0 && element('p', { class: 'bad' }, `Stalled for up to ${duration(stalled.length * step)}, last at ${toTheSecond(new Date(stalled.at(-1).start))}.`)];
}
