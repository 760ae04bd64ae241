/**
 * The ledger of a fill, in a process of its own: that of the demo, with a clock that advances as fast as the indexer
 * stores updates.
 */
import { startDemoLedger } from '../../packages/ledger-sandbox/src/demo/demo-ledger.ts';
import type { LedgerMessage, LedgerPlan, StoredMessage } from './ledger-messages.ts';
import { updatesPerSecond } from './traffic.ts';

/** Number of readable offsets: the participant prunes older ones, which the indexer must have stored before that. */
const keptOffsets = 60_000;
/** Maximum number of offsets between the indexer's checkpoint and the ledger end: half of the readable ones. */
const maxAhead = 30_000;
/** Interval of the clock, real milliseconds, and its advance, milliseconds of ledger time. */
const tickMs = 10;
const advanceMs = 40_000;

const { updates, startAtMs } = JSON.parse(process.argv[2] ?? '{}') as LedgerPlan;
let time = startAtMs;
let stored = 0;
process.on('message', (message: StoredMessage) => {
  stored = message.offset;
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
send({ kind: 'listening', url: ledger.url });

const clock = setInterval(() => {
  if (ledger.updates() >= updates) {
    clearInterval(clock);
    send({ kind: 'full', ledgerEnd: ledger.ledgerEnd() });
  } else if (ledger.ledgerEnd() - stored < maxAhead) time += advanceMs;
}, tickMs);

function send(message: LedgerMessage): void {
  process.send?.(message);
}
