/**
 * The ledger of the soak, in a process of its own: the demo's, at a steady rate, with a journal. After a kill it
 * continues its history.
 */
import { startDemoLedger } from '../../packages/ledger-sandbox/src/demo/demo-ledger.ts';
import { ledgerSecret, ledgerUser } from './tokens.ts';

export interface LedgerPlan {
  readonly journal: string;
  readonly port: number;
  readonly rate: number;
}

export type LedgerMessage =
  | { readonly kind: 'listening'; readonly ledgerEnd: number }
  /** The response to each message: traffic has stopped. */
  | { readonly kind: 'stopped'; readonly ledgerEnd: number; readonly updates: number };

/** Number of readable offsets, and of steps that a start may have to replay. */
const keeps = { offsets: 20_000, tail: 10_000 } as const;

const { journal, port, rate } = JSON.parse(process.argv[2] ?? '{}') as LedgerPlan;
/** Time at which the clock was stopped, so that no further update is made. */
let stoppedAt: number | undefined;
// The ledger has no other reason to continue if the soak was killed.
process.on('disconnect', () => process.exit());

const ledger = await startDemoLedger({
  seed: 1,
  updatesPerSecond: rate,
  isSteady: true,
  port,
  journal,
  keeps,
  now: () => stoppedAt ?? Date.now(),
  auth: {
    secret: ledgerSecret,
    users: [{ id: ledgerUser, rights: [{ kind: 'CanReadAsAnyParty' }, { kind: 'ParticipantAdmin' }] }],
  },
});
process.on('message', () => {
  stoppedAt ??= Date.now();
  // A tick that has begun may still make updates of the past.
  setTimeout(() => send({ kind: 'stopped', ledgerEnd: ledger.ledgerEnd(), updates: ledger.updates() }), 1_000);
});
process.on('SIGTERM', () => void ledger.close().then(() => process.exit()));
send({ kind: 'listening', ledgerEnd: ledger.ledgerEnd() });

function send(message: LedgerMessage): void {
  process.send?.(message);
}
