'use strict';
// The list of exchanges, from /tail, and the explanation of one exchange, from /why.
const limit = 300;
const shown = new Set();
let held = [], queue = [], reading, isPaused = false, chosen, opener, timer,
  quietUntil = 0;

// MARK: conditions

// Words separated by spaces; double quotes keep spaces.
const conditions = () => ($('where').value.match(/(?:[^\s"]|"[^"]*")+/g) || [])
  .map((word) => word.replace(/"/g, ''));
const parameters = (more) => {
  const query = new URLSearchParams(more);
  if ($('channel').value) query.append('channel', $('channel').value);
  for (const condition of conditions()) query.append('where', condition);
  return query;
};
function readAddress() {
  const query = new URLSearchParams(location.hash.slice(1));
  $('where').value = query.get('where') || '';
  const channel = query.get('channel') || '';
  if (channel) $('channel').append(make('option', { value: channel }, channel));
  $('channel').value = channel;
}
function showChannelChoice(names) {
  const select = $('channel');
  const known = [...select.options].map((option) => option.value);
  if (known.join('\n') === ['', ...names].join('\n')) return;
  const value = select.value;
  select.replaceChildren(make('option', { value: '' }, 'all'),
    ...names.map((name) => make('option', { value: name }, name)));
  if (value && !names.includes(value)) select.append(make('option', { value }, value));
  select.value = value;
}
function filter() {
  const address = new URLSearchParams();
  if ($('channel').value) address.set('channel', $('channel').value);
  if ($('where').value.trim()) address.set('where', $('where').value.trim());
  history.replaceState(null, '', String(address) ? '#' + address : location.pathname);
  clearTimeout(timer);
  if (reading) reading.abort();
  [held, queue] = [[], []];
  shown.clear();
  $('rows').replaceChildren();
  follow();
}

// MARK: following

async function follow() {
  const mine = reading = new AbortController();
  $('har').href = '/har?' + parameters();
  try {
    const answer = await fetch('/tail?' + parameters({ last: 1000 }), { signal: mine.signal });
    const words = answer.ok ? '' : await refusal(answer);
    say($('problem'), words && '✕ ' + words);
    $('where').setAttribute('aria-invalid', String(answer.status === 400));
    showCount();
    // A wrong condition stays wrong.
    if (answer.status === 400) return;
    if (answer.ok) await read(answer.body);
  } catch (error) {
    if (mine.signal.aborted) return;
  }
  if (mine === reading) timer = setTimeout(follow, 2000);
}
async function read(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    // One drawing for many lines; of more than fit into the list, only the last ones.
    if (!queue.length) setTimeout(flush, 100);
    queue = queue.concat(lines).slice(-1000);
  }
}
function flush() {
  const records = [];
  for (const line of queue) {
    try { records.push(JSON.parse(line)); } catch (error) { /* cut off by the end */ }
  }
  queue = [];
  const fresh = records.filter((record) => {
    if (shown.has(keyOf(record))) return false;
    shown.add(keyOf(record));
    return true;
  });
  for (const record of fresh) note(record);
  for (const card of cards.values()) showState(card);
  held = held.concat(fresh).slice(-limit);
  if (!isPaused) show();
  showCount();
}
const keyOf = (r) => r.event === 'exchange' ? r.request_id : r.time + r.event + r.message;
function note(record) {
  if (record.event !== 'exchange') return;
  countRemembered(record, Date.parse(record.time) / 1000 + record.duration_ms / 1000);
  const card = cards.get(record.channel);
  if (!card || (record.status && record.status < 500 && !record.error)) return;
  card.failure = record;
}
function show() {
  const body = $('rows');
  const fragment = document.createDocumentFragment();
  for (const record of held) fragment.prepend(row(record));
  const failed = held.filter((record) => record.level === 'error').length;
  if (failed && body.rows.length && performance.now() > quietUntil) {
    quietUntil = performance.now() + 10000;
    announce(count(failed, 'new failed exchange'));
  }
  held = [];
  body.prepend(fragment);
  while (body.rows.length > limit) {
    const old = body.rows[body.rows.length - 1];
    shown.delete(old.dataset.key);
    old.remove();
  }
  if (!body.querySelector('button[tabindex="0"]') && body.rows.length) {
    body.rows[0].querySelector('button').tabIndex = 0;
  }
}
function showCount() {
  const all = $('rows').rows.length;
  $('none').hidden = all > 0;
  say($('none'), all ? '' : conditions().length || $('channel').value
    ? 'No exchange satisfies the conditions.'
    : 'No exchange yet. Requests appear here as they end.');
  say($('count'), isPaused ? 'Paused' + (held.length ? '; ' +
    count(held.length, 'newer entry', 'newer entries') + ' waiting' : '') + '.' : '');
}

// MARK: rows

const signs = { warning: '▲ ', error: '✕ ' };
const target = (r) => (r.target || r.path || r.host || '') + (r.query ? '?' + r.query : '');
function remarks(r) {
  if (r.event !== 'exchange') return [r.message, r.reason].filter((part) => part).join('; ');
  const times = new Map();
  for (const reason of r.retries || []) times.set(reason, (times.get(reason) || 0) + 1);
  const retries = [...times].map(([reason, n]) => reason + (n > 1 ? ' ×' + n : ''));
  return [r.error && (r.detail ? r.error + ': ' + r.detail : r.error),
    r.aborted_by && 'aborted by the ' + r.aborted_by,
    retries.length && 'retried: ' + retries.join(', ')].filter((part) => part).join('; ');
}
function row(r) {
  const isExchange = r.event === 'exchange';
  const level = r.level === 'error' ? 'bad' : r.level === 'warning' ? 'warning' : '';
  const button = make('button', { type: 'button', tabindex: '-1', 'aria-controls': 'why' },
    isExchange ? target(r) || '(no path)' : r.event);
  const cell = (name, ...content) => make('td', { role: 'cell', class: name }, ...content);
  const status = cell('status ' + level, (signs[r.level] || '') +
    (isExchange ? r.status || 'none' : ''));
  if (level) status.append(make('span', { class: 'hidden' }, ' ' + r.level));
  const line = make('tr', { role: 'row' },
    cell('time', clockTime(r.time)), cell('channel', r.channel || 'netproxy'), status,
    cell('method', r.method || ''), cell('path', button),
    cell('ms number', r.duration_ms === undefined ? '' : ms(r.duration_ms)),
    cell('remarks ' + level, remarks(r)));
  line.cells[0].title = r.time;
  line.cells[1].title = r.channel || 'netproxy';
  line.dataset.key = keyOf(r);
  line.addEventListener('click', (event) => {
    // The end of marking text with the mouse.
    if (event.detail && String(getSelection())) return;
    select(button);
    explain(r, button);
  });
  button.addEventListener('focus', () => select(button));
  return line;
}
const ms = (value) => value < 10 ? value.toFixed(1) : String(Math.round(value));
// One stop for the Tab key; arrow keys move within the list.
function select(button) {
  for (const other of $('rows').querySelectorAll('button[tabindex="0"]')) other.tabIndex = -1;
  button.tabIndex = 0;
}
$('rows').addEventListener('keydown', (event) => {
  const line = event.target.closest('tr');
  const { rows } = $('rows');
  const at = line.sectionRowIndex;
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1,
    PageDown: Math.min(at + 10, rows.length - 1), PageUp: Math.max(at - 10, 0) }[event.key];
  if (to === undefined || !rows[to]) return;
  event.preventDefault();
  rows[to].querySelector('button').focus();
});

// MARK: why

async function explain(r, from) {
  opener = from;
  if (chosen) chosen.classList.remove('chosen');
  chosen = from.closest('tr');
  if (chosen) chosen.classList.add('chosen');
  $('steps').replaceChildren();
  say($('why-problem'), '');
  $('curl').textContent = '';
  $('copy-curl').hidden = true;
  $('record').textContent = JSON.stringify(r, null, 2);
  $('why-title').textContent = r.request_id ? 'Exchange ' + r.request_id : r.message || r.event;
  $('why').hidden = false;
  $('panes').classList.add('open');
  $('why-title').focus({ preventScroll: true });
  if (!r.request_id) return;
  try {
    const answer = await fetch('/why/' + encodeURIComponent(r.request_id));
    const why = answer.ok ? await answer.json() : undefined;
    const words = why ? '' : await refusal(answer);
    // Another one was chosen while this was asked for.
    if (opener !== from) return;
    say($('why-problem'), words);
    if (!why) return;
    for (const { step, text } of why.steps) {
      $('steps').append(make('dt', {}, step), make('dd', {}, text));
    }
    $('record').textContent = JSON.stringify(why.record, null, 2);
    $('curl').textContent = why.curl || '';
    $('copy-curl').hidden = !why.curl;
  } catch (error) {
    say($('why-problem'), 'the daemon does not answer');
  }
}
function closeWhy() {
  if ($('why').hidden) return;
  $('why').hidden = true;
  $('panes').classList.remove('open');
  if (chosen) chosen.classList.remove('chosen');
  if (opener) opener.focus();
}
const explanation = () => [$('why-title').textContent,
  ...[...$('steps').querySelectorAll('dt')].map((term) =>
    '  ' + term.textContent.padEnd(12) + term.nextSibling.textContent)].join('\n');

$('close').addEventListener('click', closeWhy);
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') closeWhy();
});
$('copy-text').addEventListener('click', () =>
  copy(explanation(), $('copy-text'), 'Explanation'));
$('copy-curl').addEventListener('click', () =>
  copy($('curl').textContent, $('copy-curl'), 'Command'));
$('filter').addEventListener('submit', (event) => { event.preventDefault(); filter(); });
$('channel').addEventListener('change', filter);
$('clear').addEventListener('click', () => {
  $('where').value = '';
  $('channel').value = '';
  filter();
});
$('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  $('pause').setAttribute('aria-pressed', String(isPaused));
  if (!isPaused) show();
  showCount();
});
