// Node loads this file into the indexer before the program. After SIGUSR2, all clocks and timers of the process run ten
// times faster. Five minutes then take thirty seconds, and intervals and time limits keep their proportions.
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';

const factor = 10;
const { setTimeout: realTimeout, setInterval: realInterval, Date: RealDate } = globalThis;
const realSleep = timersPromises.setTimeout;
const abortAfter = AbortSignal.timeout.bind(AbortSignal);
const realNow = performance.now.bind(performance);
let speed = 1;
/** Timers that were started before the acceleration. */
const started = new Set();

if (isMainThread) {
  globalThis.setTimeout = Object.assign(
    (work, ms, ...given) => remembered(realTimeout(work, faster(ms), ...given)),
    realTimeout,
  );
  globalThis.setInterval = (work, ms, ...given) => remembered(realInterval(work, faster(ms), ...given));
  timersPromises.setTimeout = (ms, value, options) => sleep(ms, value, options);
  AbortSignal.timeout = (ms) => abortAfter(faster(ms));
  syncBuiltinESMExports();
  process.once('SIGUSR2', accelerate);
}

function faster(ms) {
  return Math.max(1, Math.round((ms ?? 0) / speed));
}

/** Replaces `setTimeout` of node:timers/promises, with a timer that can be accelerated. */
async function sleep(ms, value, { signal, ref = true } = {}) {
  if (signal?.aborted) return realSleep(0, value, { signal });
  await new Promise((resolve) => {
    const timer = globalThis.setTimeout(done, ms);
    if (!ref) timer.unref();
    signal?.addEventListener('abort', done);
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    }
  });
  return signal?.aborted ? realSleep(0, value, { signal }) : value;
}

function remembered(timer) {
  started.add(new WeakRef(timer));
  if (started.size > 10_000) forgetEnded();
  return timer;
}

function forgetEnded() {
  for (const each of started) if (each.deref()?._destroyed !== false) started.delete(each);
}

function accelerate() {
  const [wall, monotonic] = [RealDate.now(), realNow()];
  speed = factor;
  const now = () => monotonic + (realNow() - monotonic) * factor;
  const date = () => Math.trunc(wall + (realNow() - monotonic) * factor);
  performance.now = now;
  globalThis.Date = class Date extends RealDate {
    constructor(...given) {
      super(...(given.length === 0 ? [date()] : given));
    }
    static now() {
      return date();
    }
  };
  forgetEnded();
  for (const each of started) accelerated(each.deref());
}

/** Reduces the remaining time of a timer to a tenth. The fields are those of Node's timers. */
function accelerated(timer) {
  timer._idleTimeout = Math.max(1, Math.round(timer._idleTimeout / factor));
  if (typeof timer._repeat === 'number') timer._repeat = timer._idleTimeout;
  timer.refresh();
}
