/// What the scripts of the admin page have in common.
enum PageScript {
    /// What the others use: elements, words, the clipboard.
    ///
    /// Text goes in through `textContent` and `setAttribute` alone.
    static let tools = #"""
        'use strict';
        const $ = (id) => document.getElementById(id);
        const make = (tag, attributes, ...children) => {
          const element = document.createElement(tag);
          for (const [name, value] of Object.entries(attributes || {})) {
            element.setAttribute(name, value);
          }
          element.append(...children);
          return element;
        };
        // Unchanged text stays untouched, so that screen readers do not repeat it.
        const say = (element, text) => {
          if (element.textContent !== text) element.textContent = text;
          element.hidden = text === '';
        };
        const announce = (text) => { $('said').textContent = text; };
        const count = (number, noun, many) =>
          number + ' ' + (number === 1 ? noun : many || noun + 's');
        // No line ends between the two.
        const together = (left, right) => left + '\u00a0' + right;
        const duration = (seconds) => {
          const s = Math.max(0, Math.round(seconds));
          const pair = (a, unit, b, small) => together(a, unit) + (b ? ' ' + together(b, small) : '');
          if (s < 60) return together(s, 's');
          if (s < 3600) return pair(Math.floor(s / 60), 'min', s % 60, 's');
          if (s < 86400) return pair(Math.floor(s / 3600), 'h', Math.floor(s / 60) % 60, 'min');
          return pair(Math.floor(s / 86400), 'd', Math.floor(s / 3600) % 24, 'h');
        };
        const clockTime = (text) => {
          const date = new Date(text);
          if (isNaN(date)) return String(text);
          return date.toTimeString().slice(0, 8) + '.' +
            String(date.getMilliseconds()).padStart(3, '0');
        };
        // What a refusal of the daemon says.
        const refusal = async (answer) => {
          const text = await answer.text();
          try { return JSON.parse(text).detail || text; } catch (error) { return text.trim(); }
        };
        async function copy(text, place, what) {
          try {
            await navigator.clipboard.writeText(text);
            announce(what + ' copied');
            const before = place.textContent;
            place.textContent = 'Copied';
            setTimeout(() => { place.textContent = before; }, 1500);
          } catch (error) {
            announce('The browser does not allow copying');
          }
        }
        """#

    /// The connection with the daemon, and the start of it all.
    static let start = #"""
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
        readAddress();
        poll().then(follow);
        setInterval(tick, 1000);
        """#
}
