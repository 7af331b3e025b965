// The headline, the path as a chain, and the diagnosis.

const headlines = {
  online: ['ok', 'Online'], connected: ['untested', 'Connected'], checking: ['untested', 'Checking'], slow: ['warn', 'Slow'],
  degraded: ['warn', 'Degraded'], dns_broken: ['bad', 'DNS broken'], login_needed: ['bad', 'Login needed'], no_internet: ['bad', 'No Internet'], local_only: ['bad', 'Local only'], offline: ['bad', 'Offline'],
};
const isBad = (state) => headlines[state]?.[0] === 'bad';

function showHeadline(status) {
  const { state, message, hint, since } = status.headline;
  const [kind, word] = headlines[state] ?? ['', words(state)];
  const names = [status.host, ...status.interfaces.map((link) => link.name)];
  byId('hero').dataset.state = kind;
  setText('word', word);
  update('since', since, () => ['for ', age(since)]);
  const isPlain = kind === 'ok' && status.chain.every((element) => element.condition !== 'degraded');
  const text = isPlain ? way(status) : sentence(message, names);
  setText('message', text);
  const advice = [!isPlain && hint, ...status.path.warnings.map(words)].filter(Boolean).map((part) => sentence(part));
  update('hint', advice, () => marked(advice.join(' ')));
  const sign = { ok: '✓', untested: '?', warn: '!', bad: '✗' }[kind] ?? '…';
  document.title = `${sign} ${status.host}: ${word}${isPlain ? '' : `, ${message}`}`;
  setText('host', status.host);
  setText('version', `nwpath ${status.daemon.version}`);
  update('problems', status.problems, () => status.problems.map((problem) =>
    element('li', {}, `▲ ${problem.part}: ${problem.message}`)));
  update('snapshot', [status.stream, status.seq], () => [`state ${status.stream}.${status.seq} of `, exact(status.time)]);
}

/** Such as `Via eth0 and 192.168.7.1, over IPv4 and IPv6.` */
function way({ path }) {
  const list = (...words_) => words_.filter(Boolean).join(' and ');
  return `Via ${list(path.interfaces[0]?.name, path.gateways[0])}, over ${list(path.supports_ipv4 && 'IPv4', path.supports_ipv6 && 'IPv6')}.`;
}

/** Where nothing is known to be wrong the last outage, and where a portal wants a login the way to it. */
function showMore(status, history) {
  const last = ['ok', 'untested'].includes(headlines[status.headline.state]?.[0]) && history?.outages.findLast((outage) => outage.end);
  const portal = status.headline.state === 'login_needed' && state.probes.find((probe) => probe.captive_portal)?.last?.location;
  const way_ = portal && URL.canParse(portal) ? new URL(portal) : null;
  const isWeb = way_ && ['http:', 'https:'].includes(way_.protocol);
  byId('more').hidden = !last && !isWeb;
  update('more', [last, isWeb && portal], () => [
    last && ['Last outage ', jump(`outage=${last.start}`, {}, moment(last.start)), `, for ${duration(last.duration_seconds)}.`],
    isWeb && ['It is at ', element('a', { href: way_.href, rel: 'noreferrer' }, way_.host), '.'],
  ]);
}

// The chain. A node opens what is known of it.

let openNode = null;

const linkType = (link) => ({ wiredEthernet: 'wired', other: '' }[link?.type] ?? link?.type ?? '');
const trouble = (link) => ({ lower_layer_down: 'no carrier' }[link?.problem] ?? words(link?.problem ?? 'not usable'));

/** The interface and the gateway that a node may be. */
const subjects = ({ name }, { interfaces, gateways }) => [interfaces.find((link) => link.name === name), gateways.find(({ address }) => address === name)];

/** What stands under the name of a node: one figure, or what is wrong. */
function figure(node, status) {
  if (isSaid(node.round_trip_seconds)) return delay(node.round_trip_seconds);
  const [link, gateway] = subjects(node, status);
  switch (node.condition) {
    case 'not_reached': return 'not reached';
    case 'not_asked': return 'not tested';
    case 'broken':
      if (node.element === 'interface') return trouble(link);
      if (node.element === 'gateway') return node.name ? 'no answer' : 'no default route';
      return status.headline.state === 'login_needed' && node.element === 'internet' ? 'login needed' : 'no answer';
    default:
      if (node.element === 'host') return status.monitors.length > 1 ? plural(status.monitors.length, 'monitor') : 'this machine';
      if (node.element === 'interface') return linkType(link);
      if (node.element === 'gateway') return { true: 'neighbour known', false: 'no answer' }[gateway?.reachable] ?? 'answers';
      return node.condition === 'degraded' ? 'worse than it should be' : 'answers';
  }
}

function nodeName(node) {
  const titles = { interface: 'no interface', gateway: 'gateway', internet: 'Internet', dns: 'DNS' };
  return node.element === 'internet' || node.element === 'dns' ? titles[node.element] : node.name ?? titles[node.element];
}

/** The path in use, for each family where one alone is broken, and other uplinks, of which the kernel alone knows. */
function chains(status) {
  const families = { ipv4: 'IPv4', ipv6: 'IPv6' };
  const all = status.chains.map(({ family, chain }) => chain.map((node) => (node.element === 'host' ? { ...node, figure: `over ${families[family]}` } : node)));
  if (all.length === 0) all.push(status.chain);
  const seen = new Set(all.flat().map((node) => node.name));
  for (const [name, address, answers] of [...status.gateways.map((gateway) => [gateway.interface.name, gateway.address, gateway.reachable]),
    ...status.monitors.map(({ path }) => [path.interfaces[0]?.name, path.gateways[0]])]) {
    if (!address || seen.has(name) || all.length > 3) continue;
    seen.add(name);
    const beyond = answers === false ? 'not_reached' : 'not_asked';
    all.push([['host', status.host, 'good'], ['interface', name, 'good'], ['gateway', address, { true: 'good', false: 'broken' }[answers] ?? 'not_asked'],
      ['internet', null, beyond], ['dns', null, beyond]].map(([element_, name_, condition]) => ({ element: element_, name: name_, condition })));
  }
  return all;
}

function showChains(status) {
  const all = chains(status).map((chain, row) => chain.map((node) => ({ figure: figure(node, status), ...node, key: `${row} ${node.element}` })));
  update('chains', [all, openNode], () => all.map((chain, row) =>
    element('ol', { class: 'chain', 'aria-label': `Path: ${nodeName(chain[1])}, ${chain[0].figure}` },
      chain.map((node) => element('li', { class: node.condition },
        button([element('b', { title: nodeName(node) }, nodeName(node)), ' ', aside(`${words(node.condition).replace('asked', 'tested')}, `), element('i', {}, node.figure)],
          { 'data-key': node.key, 'aria-expanded': String(openNode === node.key), 'aria-controls': 'node' }, () => {
            openNode = openNode === node.key ? null : node.key;
            show();
          }))))));
  const open = all.flat().find((node) => node.key === openNode);
  byId('node').hidden = !open;
  if (open) {
    const facts = nodeFacts(open, status);
    update('node', [open, facts], () => element('dl', {}, facts.map(([name, ...values]) => pair(name, ...values.map(code)))));
  }
}

function nodeFacts(node, status) {
  const [link, gateway] = subjects(node, status);
  switch (node.element) {
    case 'host': return status.monitors.map(({ monitor, message, path }) => [monitor, message ?? path.status]);
    case 'interface': return !link ? [['Why', status.headline.message]] : [
      ['State', link.usable ? 'usable' : trouble(link)], ['Type', [linkType(link), link.kind].filter(Boolean).join(', ')],
      ['MTU', String(link.mtu)], ['Carrier', `${link.carrier ? 'yes' : 'no'}, ${plural(link.carrier_changes, 'change')}`],
      ...(link.master ? [['Part of', link.master]] : []),
      ['Addresses', ...addresses(link, true)]];
    case 'gateway': return !gateway ? [['Why', status.headline.message]] : [
      ['Interface', gateway.interface.name], ['Metric', String(gateway.metric)],
      ['Neighbour', { true: 'reachable', false: 'does not answer' }[gateway.reachable] ?? 'not tested']];
    case 'dns': return [['Servers', ...status.dns.servers], ['Search', ...status.dns.search], ['Source', status.dns.source || 'none'],
      ['Usable', status.dns.usable ? 'yes' : 'no']].filter((fact) => fact.length > 1);
    default: return state.probes.map((probe) => [probe.name, `${probe.target}: ${outcome(probe)}`]);
  }
}

function outcome(probe) {
  if (!probe.last) return 'not tested yet';
  return probe.last.success ? delay(probe.last.duration_seconds) : words(probe.last.message ?? probe.last.reason ?? 'failed');
}

// The diagnosis of the service. Starting one takes the token; without it the page offers the command.

const asking = { word: '', token: null, hasToken: false, session: sessionStorage.getItem('nwpath') };
const command = 'sudo nwpath diagnose';

function showAsking(status) {
  const running = state.diagnosis?.running;
  const isGood = headlines[status.headline.state]?.[0] === 'ok';
  const label = status.headline.state === 'connected' ? 'Test now' : 'Diagnose';
  const isOffered = !running && (!isGood || state.diagnosis?.time);
  update('asking', [running, isOffered, label, asking], () => [
    isOffered && (asking.session || asking.token ? button(label, { 'data-key': 'ask' }, askNow) : [
      `${label}: `, code(command),
      // Browsers have a clipboard for pages of this machine and encrypted ones.
      navigator.clipboard && button('Copy', { 'data-key': 'copy' }, () => navigator.clipboard.writeText(command).then(() => note('Copied.'), () => note('The browser refused.'))),
      asking.hasToken && button('Use a token', { 'data-key': 'token' }, () => { byId('rights').hidden = false; byId('token').focus(); })]),
    running && inline({ role: 'status' }, running.layers.length > 0 ? `Testing: ${running.layers.map(words).join(', ')}` : 'Testing'),
    !running && asking.word && inline({ role: 'status', class: 'mute' }, asking.word),
  ]);
}

function note(word) {
  asking.word = word;
  show();
}

/** Begins a session by the link that this page was opened by. */
async function redeem(secret) {
  leave();
  const response = await fetch('api/v1/page/sessions', { method: 'POST', headers: { 'X-NWPath-Link': secret } }).catch(lost);
  if (response?.ok) setSession((await response.json()).token);
  else if (response) note('This link was used, or is older than a minute: run nwpath page again.');
}

function setSession(token) {
  asking.session = token;
  if (token) sessionStorage.setItem('nwpath', token);
  else sessionStorage.removeItem('nwpath');
  show();
}

async function askNow() {
  asking.word = '';
  if (!asking.session && /[^\x21-\x7e]/.test(asking.token)) return refuse(401);
  try {
    const headers = asking.session ? { 'X-NWPath-Session': asking.session } : { Authorization: `Bearer ${asking.token}` };
    const response = await fetch('api/v1/diagnosis', { method: 'POST', headers });
    if (asking.session && response.status === 403) {
      asking.word = 'This session has ended: run nwpath page again.';
      return setSession(null);
    }
    if (response.status === 401 || response.status === 403) return refuse(response.status);
    byId('rights').hidden = true;
    if (response.ok) return await follow();
    note(response.status === 429 ? 'The last test ended a moment ago.' : `No test can be started: ${response.status}.`);
  } catch {
    lost();
    show();
  }
}

function refuse(status) {
  asking.token = null;
  byId('rights').hidden = false;
  setText('refusal', status === 401 ? 'That is not the token.' : 'This service accepts no token.');
  show();
  byId('token').focus();
}

/** Shows how far it is until it is done. */
async function follow() {
  for (let tag = null; ;) {
    const response = await fetch('api/v1/diagnosis?wait=20s', { headers: tag ? { 'If-None-Match': tag } : {}, cache: 'no-store' });
    if (response.status === 304) continue;
    if (!response.ok) return want(true);
    tag = response.headers.get('ETag');
    state.diagnosis = await response.json();
    show();
    if (!state.diagnosis.running) return want(true);
    await new Promise((done) => setTimeout(done, shortest));
  }
}

const rungs = { ok: ['ok', '✓', 'sound'], faulty: ['bad', '✗'] };

/** Verdicts that stand, and each layer from the cable up. */
function showDiagnosis(found) {
  byId('diagnosis').hidden = !found?.time || found.ladder.length === 0;
  if (byId('diagnosis').hidden) return;
  update('diagnosis', found, () => [
    element('h2', {}, 'Diagnosis ', inline({}, exact(found.time), ` in ${duration(found.duration_seconds)}`)),
    found.verdicts.map(({ code: kind, message, hint }) => finding(sentence(message ?? words(kind)), hint)),
    found.verdicts.length === 0 && element('p', {}, 'No problems found.'),
    element('ol', {}, found.ladder.map((rung) => {
      const [kind, sign, word] = rungs[rung.state] ?? ['mute', '○'];
      const said = rung.message ?? (rung.codes.join(', ') || word || words(rung.state));
      return element('li', {}, inline({ class: kind, 'aria-hidden': 'true' }, `${sign} `), `${words(rung.layer)} `, element('em', {}, said));
    })),
  ]);
}
