/** Polling intervals for an indexer that a test waits for: what the test changed is noticed soon. */
import { type Pace, usualPace } from '../pace.ts';

export const quickPace: Pace = {
  // A test that depends on the ledger end sets INDEXER_BLIND_AFTER; others count what is asked of the ledger.
  ledgerEndMs: usualPace.ledgerEndMs,
  rightsMs: 200,
  commandsMs: 100,
  progressMs: 100,
  packagesMs: 50,
  lockMs: 50,
  webhooksMs: 100,
  commitsMs: 100,
  resetsMs: 200,
  tokensMs: 200,
};
