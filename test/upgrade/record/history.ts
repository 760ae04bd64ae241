/** The history of the recording: a month of the demo's traffic in a few hundred updates, and an hour that follows it. */
import { monthBefore, playMonth } from '../../../packages/ledger-sandbox/src/demo/month.ts';
import { gapsBefore } from '../../../packages/ledger-sandbox/src/demo/market/tempo.ts';
import { demoParticipantId } from '../../../packages/ledger-sandbox/src/demo/market/participant-id.ts';
import { TrafficPlay } from '../../../packages/ledger-sandbox/src/demo/play.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { upgradeLicensing } from '../../../packages/ledger-sandbox/src/demo/templates/licensing-templates.ts';
import { demoInterfaces } from '../../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { authorize, unassign } from '../../../packages/ledger-sandbox/src/ledger/reassignments.ts';
import { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';

export interface RecordedHistory extends AsyncDisposable {
  readonly url: string;
  readonly participantId: string;
  readonly interfaces: readonly string[];
  /** Environment of the indexer. */
  readonly env: Readonly<Record<string, string>>;
  end(): number;
  /** Appends the second part of the history. */
  continue(): void;
}

const seed = 100;
/** When the first part ends: 2026-03-02T12:00:00Z, in microseconds. */
const liveFrom = 1_772_452_800_000_000;
const second = 1_000_000;

export async function startHistory(): Promise<RecordedHistory> {
  const sandbox = await startSandbox({ seed, now: () => liveFrom / 1000, limits: { checkpointIntervalMs: 50 } });
  const { ledger } = sandbox;
  const demo = new TrafficPlay(ledger, { seed, tempo: gapsBefore(liveFrom), plans: { liveFrom } });
  playMonth(demo, monthBefore(liveFrom - 3 * second, 70, new Random(seed + 2)), liveFrom, 250);
  upgradeLicensing(ledger.model);
  let steps = 0;
  const step = (count: number): void => {
    for (const until = steps + count; steps < until; steps += 1)
      demo.stepRecordedAt(liveFrom + (steps + 3) * 2 * second);
  };
  demo.market.plan(liveFrom, { what: 'extra-license' });
  step(30);
  authorize(ledger, `guest::${demoParticipantId.split('::')[1] ?? ''}`, true, liveFrom + (steps + 3) * 2 * second);
  // A contract in transit at the end of the first part.
  const [active] = [...ledger.activeAt(ledger.ledgerEnd())];
  if (active !== undefined) unassign(ledger, active.activation.created.contractId, liveFrom + (steps + 3) * 2 * second);
  const interfaces = [...demoInterfaces];
  return {
    url: sandbox.url,
    participantId: demoParticipantId,
    interfaces,
    env: { LEDGER_URL: sandbox.url, LEDGER_INTERFACES: interfaces.join(','), INDEXER_START: 'genesis' },
    end: () => ledger.ledgerEnd(),
    continue: () => step(40),
    [Symbol.asyncDispose]: () => sandbox.close(),
  };
}
