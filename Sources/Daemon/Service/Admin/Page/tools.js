'use strict';
// Helpers of the other scripts: elements, words, the clipboard. Text is only ever inserted through
// textContent and setAttribute.
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
