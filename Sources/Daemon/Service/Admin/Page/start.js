'use strict';
// The connection to the daemon. This script runs last and starts the page.
let goneSince;
function gone() {
  goneSince = goneSince || new Date();
  say($('gone'), '✕ The daemon has not answered since ' +
    goneSince.toTimeString().slice(0, 8) + '. This page shows what it last said, and tries ' +
    'again every 2 s.');
  document.title = 'netproxy: no answer';
}
function back() {
  if (goneSince) announce('The daemon answers again');
  goneSince = undefined;
  say($('gone'), '');
  document.title = 'netproxy';
}
async function poll() {
  // A hidden page needs no news; it asks again as soon as it is visible.
  if (document.hidden) {
    await new Promise((done) =>
      document.addEventListener('visibilitychange', done, { once: true }));
  }
  try {
    const answer = await fetch('/status', { signal: AbortSignal.timeout(5000) });
    if (!answer.ok) throw new Error(await refusal(answer));
    showStatus(await answer.json());
    back();
  } catch (error) {
    gone();
  }
  setTimeout(poll, 2000);
}
$('live').hidden = false;
$('daemon').textContent = 'asking …';
$('zone').textContent = Intl.DateTimeFormat().resolvedOptions().timeZone || 'of this browser';
readAddress();
poll().then(follow);
setInterval(tick, 1000);
