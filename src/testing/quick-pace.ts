/** Polling intervals for an indexer in a test: changes that the test makes are noticed soon. */
import { type Pace, usualPace } from '../config/pace.ts';

export const quickPace: Pace = {
  // A test that depends on the ledger end sets INDEXER_LEDGER_TIMEOUT; others count requests to the ledger.
  ledgerEndMs: usualPace.ledgerEndMs,
  rightsMs: 250,
  commandsMs: 250,
  progressMs: 250,
  packagesMs: 100,
  lockMs: 100,
  webhooksMs: 500,
  commitsMs: 250,
  resetsMs: 500,
  tokensMs: 250,
  metricsMs: 0,
  expiredTokensMs: 1_000,
};
