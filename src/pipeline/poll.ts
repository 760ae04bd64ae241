/** The ledger seen from outside the stream: its end, what is pruned, and whether the stream is silently dead. */
import { exhaustMap, ignoreElements, timer, type Observable } from 'rxjs';
import { toIndexerError } from '../errors.ts';
import { noteLedgerFacts } from '../store/ledger-facts.ts';
import type { StoreSession } from '../store/store.ts';
import { lastVerifications } from '../store/verify/verifications.ts';
import type { Following } from './follow.ts';
import type { PipelineParts } from './parts.ts';
import { SilenceLimit } from './silence-limit.ts';

/** Emits nothing; fails when frames stay away although the ledger moves on. */
export function poll$(
  parts: PipelineParts,
  session: StoreSession,
  following: Following,
  onLedgerEnd: (ledgerEnd: number) => void,
): Observable<never> {
  const silence = new SilenceLimit(following, parts.limits.silenceMs);
  let refusals = 0;
  const onRefused = (refused: boolean): void => {
    refusals = refused ? refusals + 1 : 0;
    // Once: if the new token is refused as well, the poll would use up one after the other for as long as it runs.
    if (refusals === 1) parts.tokenSource.invalidate();
  };
  return timer(parts.limits.pollMs, parts.limits.pollMs).pipe(
    exhaustMap(() => pollOnce(parts, session, silence, onLedgerEnd, onRefused)),
    ignoreElements(),
  );
}

async function pollOnce(
  parts: PipelineParts,
  session: StoreSession,
  silence: SilenceLimit,
  onLedgerEnd: (ledgerEnd: number) => void,
  onRefused: (refused: boolean) => void,
): Promise<void> {
  try {
    const ledgerEnd = await parts.ledger.state.ledgerEnd();
    const pruned = await parts.ledger.state.latestPrunedOffsets();
    onRefused(false);
    parts.observer.ledgerPolled(ledgerEnd, pruned);
    onLedgerEnd(ledgerEnd);
    await noteLedgerFacts(parts.database, session.state.epoch, ledgerEnd, pruned);
    parts.observer.verified(await lastVerifications(parts.database));
    silence.refuse(ledgerEnd);
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (error.code === 'LEDGER_SILENT') throw error;
    if (error.retry === 'refresh-token') onRefused(true);
    // The stream decides about the session; a failed poll is shown and comes again.
    parts.observer.failed('ledger', error, parts.limits.pollMs);
  }
}
