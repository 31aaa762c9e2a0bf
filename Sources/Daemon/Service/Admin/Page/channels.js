'use strict';
// The head of the page and a card for each channel, from /status.
const cards = new Map();
const slotLength = 2, slots = 30;
// Seconds since 1970 as the daemon has them, at its last answer.
let daemonTime, answeredAt;
const now = () => daemonTime + (performance.now() - answeredAt) / 1000;

function showStatus(s) {
  const started = s.process ? s.process.start_s : Date.now() / 1000 - s.uptime_s;
  daemonTime = started + s.uptime_s;
  answeredAt = performance.now();
  say($('version'), s.version || '');
  say($('daemon'), s.state + (s.listen.length ? ' on ' + s.listen.join(', ') : '') +
    ', up ' + duration(s.uptime_s) + ', ' + count(s.connections, 'connection') +
    (s.log_lines_dropped ? ', ' + count(s.log_lines_dropped, 'log line') + ' dropped' : ''));
  showConfiguration(s.configuration, started);
  const names = new Set(s.channels.map((c) => c.name));
  for (const [name, card] of cards) {
    if (!names.has(name)) { card.element.remove(); cards.delete(name); }
  }
  const isCompact = s.channels.length > 6;
  $('channels').classList.toggle('compact', isCompact);
  for (const c of s.channels) {
    if (!cards.has(c.name)) cards.set(c.name, makeCard(c.name, !isCompact));
    showChannel(cards.get(c.name), c);
  }
  arrange(s.channels);
  const url = s.channels.map((c) => c.url).find(Boolean);
  say($('try'), url ? 'Try: curl ' + url + '/' : '');
  showChannelChoice([...names, 'netproxy']);
}

// Channels that need attention come first; others keep the order of the configuration.
const rank = (c) => ({ failed: 0, 'sign-in': 1, starting: 2 })[c.state] ?? 3;
function arrange(channels) {
  const troubled = channels.filter((c) => rank(c) < 3).length;
  say($('summary'), count(channels.length, 'channel') + ': ' + (troubled
    ? troubled + (troubled === 1 ? ' needs' : ' need') + ' attention' : 'none needs attention'));
  const sorted = [...channels].sort((a, b) => rank(a) - rank(b))
    .map((c) => cards.get(c.name).element);
  const list = $('channels');
  // Moving an element would take the focus from it.
  const isInUse = list.contains(document.activeElement) && list.children.length === sorted.length;
  if (!isInUse && sorted.some((element, at) => list.children[at] !== element)) {
    list.append(...sorted);
  }
}

function showConfiguration(c, started) {
  if (!c) return say($('configuration'), '');
  const age = duration(daemonTime - c.loaded_s);
  const reloaded = c.loaded_s - started > 5;
  say($('configuration'), 'configuration ' + c.file + ', ' +
    (reloaded ? '✓ reloaded ' + age + ' ago' : 'in force since the start'));
  const box = $('refusal');
  box.hidden = !c.refused_s;
  const lines = c.refused_s ? ['▲ A reload ' + duration(daemonTime - c.refused_s) +
    ' ago was refused; the configuration of ' + age + ' ago stays in force:',
    ...(c.refusal || [])] : [];
  if (box.dataset.at !== String(c.refused_s)) {
    box.dataset.at = String(c.refused_s);
    box.replaceChildren(...lines.map((line) => make('div', {}, line)));
  } else if (lines.length) {
    box.firstChild.textContent = lines[0];
  }
}

const rows = ['Requests', 'Errors', 'Time', 'Pool', 'Token'];
function makeCard(name, isOpen) {
  const id = 'channel-' + cards.size + '-' + Math.random().toString(36).slice(2, 8);
  const card = { name, seconds: new Map(), last: undefined, failure: undefined };
  card.state = make('span', { class: 'state' });
  card.url = make('p', { class: 'upstream' });
  card.upstream = make('p', { class: 'upstream' });
  card.advice = make('p', {});
  card.todo = make('p', { class: 'state' });
  card.explain = make('button', { type: 'button' }, 'Explain the last failure');
  card.explain.addEventListener('click', () => explain(card.failure, card.explain));
  card.facts = {};
  const list = make('dl', {});
  for (const row of rows) {
    card.facts[row] = make('dd', {});
    list.append(make('dt', {}, row), card.facts[row]);
  }
  card.svg = $('chart').cloneNode();
  card.svg.removeAttribute('id');
  card.svg.removeAttribute('hidden');
  card.caption = make('figcaption', {});
  card.renew = make('button', { type: 'button' }, 'Renew token');
  card.sure = make('button', { type: 'button' }, 'Renew now');
  card.cancel = make('button', { type: 'button' }, 'Keep it');
  card.question = make('span', { class: 'question' },
    'The present token is given up. Requests wait for the new one. ');
  card.asked = make('div', { class: 'buttons', hidden: '' }, card.question, card.sure,
    card.cancel);
  card.outcome = make('p', { role: 'status', hidden: '' });
  guardRenewal(card);
  const title = make('h3', { id }, name);
  card.element = make('article', { 'aria-labelledby': id }, make('details',
    isOpen ? { open: '' } : {}, make('summary', {}, title, card.state), card.url, card.upstream, card.advice,
    card.todo, list,
    make('figure', {}, card.svg, card.caption),
    make('div', { class: 'buttons' }, card.explain, card.renew), card.asked, card.outcome));
  return card;
}

// Two steps: the second button appears after the first, and goes away by itself.
function guardRenewal(card) {
  let timer;
  const ask = (asks) => {
    clearTimeout(timer);
    card.asks = asks;
    card.renew.hidden = asks;
    card.asked.hidden = !asks;
    if (asks) timer = setTimeout(() => ask(false), 10000);
  };
  card.renew.addEventListener('click', () => { ask(true); card.cancel.focus(); });
  card.cancel.addEventListener('click', () => { ask(false); card.renew.focus(); });
  card.sure.addEventListener('click', async () => {
    ask(false);
    card.renew.focus();
    say(card.outcome, 'asking for a token …');
    try {
      const path = '/channels/' + encodeURIComponent(card.name) + '/token/refresh';
      const answer = await fetch(path,
        { method: 'POST', headers: { 'Netproxy-Admin': '1' } });
      say(card.outcome, answer.ok ? '✓ ' + (await answer.text()).trim()
        : '✕ ' + await refusal(answer));
    } catch (error) {
      say(card.outcome, '✕ the daemon does not answer');
    }
  });
}

const listed = (counts) => Object.keys(counts || {}).sort()
  .map((key) => together(key, counts[key])).join(', ');
const bracketed = (text) => text ? ' (' + text + ')' : '';
const failedOf = (c) => (c.statuses['5xx'] || 0) + (c.statuses.none || 0);

function showChannel(card, c) {
  countUp(card, c);
  card.status = c;
  showState(card);
  say(card.url, c.url || '');
  say(card.upstream, '→ ' + [c.upstream, ...(c.further_upstreams || [])].join(', then '));
  say(card.facts.Requests, c.requests + bracketed(listed(c.statuses)) +
    (c.retries ? ', ' + count(c.retries, 'retry', 'retries') : ''));
  say(card.facts.Errors, c.errors + ' by netproxy' + bracketed(listed(c.errors_by_word)));
  say(card.facts.Time, c.durations
    ? together('p50', bound(c.durations, 50)) + ', ' +
      together('p99', bound(c.durations, 99)) : 'no request yet');
  say(card.facts.Pool, together(c.pool.open, 'open') + ', ' + together(c.pool.idle, 'idle') +
    ', ' + together(c.pool.queued, 'waiting'));
  card.renew.hidden = !c.token || card.asks;
  showToken(card);
}
function showState(card) {
  const c = card.status;
  const minute = lastMinute(card);
  const [sign, words, level, advice, todo] = judged(c, minute);
  card.state.className = 'state ' + level;
  say(card.state, sign + ' ' + words);
  say(card.advice, advice);
  say(card.todo, todo ? 'To do: ' + todo : '');
  card.explain.hidden = !card.failure;
  draw(card, minute);
}

// The sign and the words for the state, the level, and what to do.
function judged(c, minute) {
  const t = c.token;
  const error = t && t.last_error ? t.last_error + '.' : '';
  const login = t && t.advice;
  const next = t && t.next_attempt_s
    ? ' Next attempt in ' + duration(t.next_attempt_s) + '.' : '';
  if (c.state === 'starting') return ['○', 'starting', '', c.reason];
  if (c.state === 'sign-in') return ['✕', 'sign-in needed', 'bad', error, login];
  if (c.refuses) {
    return ['✕', 'refuses requests', 'bad', c.reason + '.' + (c.next_attempt_s
      ? ' Next attempt in ' + duration(c.next_attempt_s) + '.' : '')];
  }
  if (c.state === 'failed' && t && t.state === 'failed') {
    return ['✕', 'no token', 'bad', error + next, login];
  }
  if (c.state === 'failed' && c.failure) {
    return ['✕', 'failing', 'bad', duration(c.failure.age_s) + ' ago ' + c.failure.detail + '.'];
  }
  if (minute.failed) {
    return ['▲', 'some failures', 'warning', minute.failed + ' of the last ' +
      count(minute.requests, 'request') + ' failed.'];
  }
  if (c.reason) return ['▲', 'old values', 'warning', c.reason + '.'];
  if (error) return ['▲', 'token trouble', 'warning', error + next];
  if (c.state === 'idle') return ['○', 'no requests yet', '', '', login];
  return ['●', 'working', 'good', '', login];
}

function bound(durations, percent) {
  const all = durations.buckets;
  const wanted = Math.ceil(all[all.length - 1].count * percent / 100);
  const found = all.find((bucket) => bucket.count >= wanted);
  if (!found || found.within_s === undefined) return '>\u00a060\u00a0s';
  return found.within_s < 1 ? '≤\u00a0' + together(Math.round(found.within_s * 1000), 'ms')
    : '≤\u00a0' + together(found.within_s, 's');
}

const tokenWords = { empty: 'none yet; the first request gets one', stale: 'due for renewal',
  fresh: 'valid', refreshing: 'being renewed', dead: 'refused for good' };
function showToken(card) {
  const t = card.status.token;
  if (!t) return say(card.facts.Token, 'none needed');
  const past = now() - daemonTime;
  const left = (seconds) => duration(seconds - past);
  const unsigned = t.state === 'empty' && t.advice;
  const parts = [unsigned ? 'none: no one has signed in yet' : tokenWords[t.state] || t.state];
  if (t.generation) parts.push('generation ' + t.generation);
  if (t.expires_in_s !== undefined) {
    parts.push(t.expires_in_s > past ? 'expires in ' + left(t.expires_in_s) : 'expired');
  }
  if (t.refresh_expires_in_s !== undefined && t.state !== 'dead') {
    parts.push('sign-in ends in ' + left(t.refresh_expires_in_s));
  }
  if (t.waiters) parts.push(count(t.waiters, 'request') + ' waiting');
  if (t.store_fault) parts.push('▲ token store ' + t.store_fault);
  if (t.is_unsaved) parts.push('▲ not saved in the state directory');
  say(card.facts.Token, parts.join(', '));
}
function tick() {
  if (daemonTime === undefined || goneSince) return;
  for (const card of cards.values()) showToken(card);
}

const slotOf = (time) => Math.floor(time / slotLength);
function add(card, slot, requests, failed) {
  const seconds = card.seconds.get(slot) || { requests: 0, failed: 0 };
  seconds.requests += requests;
  seconds.failed += failed;
  card.seconds.set(slot, seconds);
}
// From the counters; what ended before the first answer comes from the remembered exchanges.
function countUp(card, c) {
  const { last } = card;
  card.last = { requests: c.requests, failed: failedOf(c) };
  if (last && last.requests <= c.requests) {
    add(card, slotOf(daemonTime), c.requests - last.requests, failedOf(c) - last.failed);
  } else if (!last) {
    card.since = daemonTime;
  }
  for (const slot of card.seconds.keys()) {
    if (slot <= slotOf(daemonTime) - slots) card.seconds.delete(slot);
  }
}
function countRemembered(record, end) {
  const card = cards.get(record.channel);
  if (!card || end >= card.since || slotOf(end) <= slotOf(now()) - slots) return;
  add(card, slotOf(end), 1, !record.status || record.status >= 500 ? 1 : 0);
}
function lastMinute(card) {
  const sum = { requests: 0, failed: 0, most: 1 };
  for (const slot of card.seconds.values()) {
    sum.requests += slot.requests;
    sum.failed += slot.failed;
    sum.most = Math.max(sum.most, slot.requests);
  }
  return sum;
}
function draw(card, minute) {
  const first = slotOf(daemonTime) - slots + 1;
  const bars = [];
  const bar = (name, at, height) => {
    const rect = document.createElementNS(card.svg.namespaceURI, 'rect');
    const values = { x: at * 4, y: 34 - height, width: 3, height, class: name };
    for (const key of Object.keys(values)) rect.setAttribute(key, values[key]);
    bars.push(rect);
  };
  for (let at = 0; at < slots; at += 1) {
    const slot = card.seconds.get(first + at);
    if (!slot) continue;
    const scaled = (value) => value ? Math.max(2, Math.round(value / minute.most * 32)) : 0;
    bar('served', at, scaled(slot.requests));
    if (slot.failed) bar('failed', at, scaled(slot.failed));
  }
  card.svg.replaceChildren(...bars);
  say(card.caption, 'last minute: ' + count(minute.requests, 'request') + ', ' +
    minute.failed + ' failed');
}
