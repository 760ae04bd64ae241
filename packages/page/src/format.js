/** Formats numbers, times and names for display. Pure. */

/** @typedef {import('ledger-indexer/page').HealthState} HealthState */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** @param {number | null | undefined} value */
export function count(value) {
  return value === null || value === undefined ? '–' : whole.format(value);
}

/** @param {number | null | undefined} value per second */
export function rate(value) {
  if (value === null || value === undefined) return '–';
  return value < 100 ? tenths.format(value) : whole.format(value);
}

/** @param {number | null | undefined} value */
export function milliseconds(value) {
  if (value === null || value === undefined) return '–';
  if (value >= 1000) return `${tenths.format(value / 1000)} s`;
  return `${value < 10 ? tenths.format(value) : whole.format(value)} ms`;
}

/** @param {number | null | undefined} seconds */
export function span(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  if (seconds < 1) return `${whole.format(seconds * 1000)} ms`;
  if (seconds < 90) return `${seconds < 10 ? tenths.format(seconds) : whole.format(seconds)} s`;
  if (seconds < 5400) return `${whole.format(seconds / 60)} min`;
  return seconds < 172_800 ? `${tenths.format(seconds / 3600)} h` : `${whole.format(seconds / 86_400)} days`;
}

/** @param {number} share between 0 and 1 */
export function percent(share) {
  return `${whole.format(100 * share)} %`;
}

/** Time of day. @param {string | number} at */
export function clock(at) {
  return new Date(at).toLocaleTimeString('en-GB');
}

/** Time of day, with the date unless it is today. @param {string} at */
export function moment(at) {
  const then = new Date(at);
  const today = new Date().toDateString() === then.toDateString();
  return today ? clock(at) : `${then.toLocaleDateString('en-CA')} ${clock(at)}`;
}

/** Name without package and module, and the full name. @param {string} name */
export function templateName(name) {
  const entity = name.slice(name.lastIndexOf(':') + 1);
  return { entity, rest: name.slice(0, Math.max(0, name.length - entity.length - 1)) };
}

/** @type {Readonly<Record<HealthState, readonly [words: string, tone: string]>>} */
const states = {
  starting: ['Starting', 'calm'],
  seeding: ['Seeding', 'warn'],
  catching_up: ['Catching up', 'warn'],
  live: ['Live', 'good'],
  idle: ['Live, ledger quiet', 'good'],
  stalled: ['Stalled', 'bad'],
  ledger_timeout: ['Ledger end not known', 'bad'],
  backing_off: ['Trying again', 'warn'],
  parked: ['Parked', 'bad'],
  standby: ['Standby', 'calm'],
  stopping: ['Stopping', 'calm'],
};

/** Text and tone of a state: good, calm, warn or bad. @param {HealthState} state */
export function stateWords(state) {
  const [words, tone] = states[state] ?? [state, 'calm'];
  return { words, tone };
}
