/** Tests a stream that responds to every ping but sends no updates, although the ledger has new ones. */
import { expect, it } from 'vitest';
import { openAccess } from '../../src/ledger/open-access.ts';
import { loadConfig } from '../../src/config/config.ts';
import { pipelineParts } from '../../src/indexer/parts.ts';
import { HealthTracker } from '../../src/observe/health/health-tracker.ts';
import { createObservers } from '../../src/observe/indexer-observer.ts';
import { createLogger } from '../../src/observe/log/logger.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';
import { Commits } from '../../src/pipeline/ports/commits.ts';
import { runPipeline } from '../../src/pipeline/run.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { WriterCandidate } from '../../src/store/lock/writer-lock.ts';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { FaultWorld } from './fault-world.ts';

it('an idle stream is reopened if the ledger end stays past the checkpoint', async () => {
  await using world = await FaultWorld.open();
  const databaseUrl = world.database.url;
  const config = loadConfig({ LEDGER_URL: world.sandbox.url, DATABASE_URL: databaseUrl, INDEXER_START: 'genesis' });
  const stop = new AbortController();
  const log: string[] = [];
  const logging = createLogger({ level: 'info', format: 'json', stream: { write: (line) => log.push(line) > 0 } });
  const access = await openAccess(config.ledger, stop.signal);
  const { schema } = config.database;
  const database = openDatabase({ url: databaseUrl, schema, statementTimeoutMs: 5_000, applicationName: 'test' });
  const observers = createObservers({
    logger: logging.logger,
    metrics: createMetrics({ version: 'test', commit: '' }),
    health: new HealthTracker({ version: 'test', schema, stalledAfterMs: 60_000 }),
  });
  const options = { config, access, ledgerUrl: world.sandbox.url, databaseUrl, version: 'test', logging };
  const candidate = new WriterCandidate(database, 5_000);
  const pipeline = pipelineParts(options, {
    database,
    observers,
    commits: new Commits(),
    candidate,
    stop: stop.signal,
  });
  // These are the timers of the program with shorter times. In production they are 5 s and 120 s.
  const whenPipelineEnds = runPipeline({ ...pipeline, limits: { ...pipeline.limits, pollMs: 100, silenceMs: 1_000 } });
  const whenStored = (): Promise<true> =>
    waitFor('everything is stored', async () => {
      const schemaRow = await query(databaseUrl, `select to_regclass('ledger.stream') is not null as found`);
      if (schemaRow[0]?.['found'] !== true) return undefined;
      const [row] = await query(databaseUrl, 'select checkpoint::int from ledger.stream');
      return Number(row?.['checkpoint'] ?? 0) >= world.sandbox.ledger.ledgerEnd() ? true : undefined;
    });
  try {
    await whenStored();
    world.sandbox.faults.stall = { path: '/v2/updates', afterFrames: 0 };
    world.grow(20);
    await waitFor('the silence', () => (log.some((line) => line.includes('LEDGER_PING_TIMEOUT')) ? true : undefined));
    world.sandbox.faults.stall = undefined;
    await whenStored();
  } finally {
    stop.abort();
    await whenPipelineEnds;
    await candidate.close();
    observers.close();
    await database.close();
  }
  await world.expectUndisturbed();
  expect(log.filter((line) => line.includes('LEDGER_PING_TIMEOUT')).length).toBeGreaterThan(0);
});
