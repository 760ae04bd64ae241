/**
 * The ledger of a fill, in a process of its own: that of the demo, with a clock that advances as fast as the indexer
 * stores updates, or at a given pace.
 */
import { startDemoLedger } from '../../packages/ledger-sandbox/src/demo/demo-ledger.ts';
import type { LedgerMessage, LedgerPlan, MeasurementMessage } from './ledger-messages.ts';
import { updatesPerSecond } from './traffic.ts';

/** Number of readable offsets: the participant prunes older ones, which the indexer must have stored before that. */
const keptOffsets = 60_000;
/** Maximum number of offsets between the indexer's checkpoint and the ledger end: half of the readable ones. */
const maxAhead = 30_000;
/** Interval of the clock, real milliseconds, and its advance, milliseconds of ledger time. */
const tickMs = 10;
const advanceMs = 40_000;
/** Interval of the clock at a given pace: that of the demo, so that it advances once before each step. */
const pacedTickMs = 20;
/** Interval at which a new ledger end is noted, at a given pace. */
const sampleMs = 1;

const { updates, startAtMs, pace } = JSON.parse(process.argv[2] ?? '{}') as LedgerPlan;
const offsets: number[] = [];
const times: bigint[] = [];
let time = startAtMs;
let stored = 0;
process.on('message', (message: MeasurementMessage) => {
  if (message.kind === 'stored') stored = message.offset;
  else if (pace !== undefined) advanceAt(pace);
});
// The ledger has no other reason to continue if the measurement was killed.
process.on('disconnect', () => process.exit());

const ledger = await startDemoLedger({
  seed: 1,
  updatesPerSecond,
  startAt: startAtMs,
  maxUpdates: updates,
  keeps: { offsets: keptOffsets, tail: keptOffsets },
  now: () => time,
});
const month = { updates: ledger.updates(), ledgerEnd: ledger.ledgerEnd() };
send({ kind: 'listening', url: ledger.url, month });
if (pace === undefined) advanceWithIndexer();

function advanceWithIndexer(): void {
  const clock = setInterval(() => {
    if (endIfFull()) clearInterval(clock);
    else if (ledger.ledgerEnd() - stored < maxAhead) time += advanceMs;
  }, tickMs);
}

/** Advances the clock by the time of the updates that are due, and notes when each offset was made. */
function advanceAt(perSecond: number): void {
  const begin = performance.now();
  const clock = setInterval(() => {
    const due = month.updates + ((performance.now() - begin) * perSecond) / 1000;
    time += (Math.max(0, due - ledger.updates()) * 1000) / updatesPerSecond;
  }, pacedTickMs);
  const sampling = setInterval(() => {
    const end = ledger.ledgerEnd();
    if (end > (offsets.at(-1) ?? month.ledgerEnd)) {
      offsets.push(end);
      times.push(process.hrtime.bigint());
    }
    if (!endIfFull()) return;
    clearInterval(clock);
    clearInterval(sampling);
  }, sampleMs);
}

function endIfFull(): boolean {
  if (ledger.updates() < updates) return false;
  const made = { offsets: Float64Array.from(offsets), times: BigInt64Array.from(times) };
  send({ kind: 'full', ledgerEnd: ledger.ledgerEnd(), made });
  return true;
}

function send(message: LedgerMessage): void {
  process.send?.(message);
}
