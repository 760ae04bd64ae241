/** Short polling intervals for an indexer in a test, so that it notices changes by the test soon. */
import { type PollIntervals, defaultPace } from '../config/pace.ts';

export const quickPace: PollIntervals = {
  // This interval is unchanged, because some tests count requests to the ledger. A test that depends on the ledger end
  // sets INDEXER_LEDGER_TIMEOUT.
  ledgerEndMs: defaultPace.ledgerEndMs,
  rightsMs: 250,
  commandsMs: 250,
  progressMs: 250,
  packagesMs: 100,
  lockMs: 100,
  webhooksMs: 500,
  commitsMs: 250,
  resetsMs: 500,
  tokensMs: 250,
  nodeRightsMs: 2_000,
  metricsMs: 0,
  expiredTokensMs: 1_000,
  trafficMs: 5_000,
};
