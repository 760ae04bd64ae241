/**
 * `reseed`: reads the active contracts again. With `--keep-history` the gap since the checkpoint is recorded and the
 * history before it stays; without, the schema is emptied first. Without `--yes` it only says what would happen.
 */
import { openAccess } from '../../access.ts';
import type { Config } from '../../config/config.ts';
import { pipelineParts } from '../../indexer.ts';
import { HealthTracker } from '../../observe/health/health-tracker.ts';
import { createObserver } from '../../observe/indexer-observer.ts';
import { createLogger } from '../../observe/log/logger.ts';
import { createMetrics } from '../../observe/metrics/metrics.ts';
import { askIdentity } from '../../pipeline/proof/identity.ts';
import type { PipelineParts } from '../../pipeline/ports/parts.ts';
import { planReseed, reseed, type Reseeded, type ReseedPlan } from '../../pipeline/reseed.ts';
import type { Database } from '../../store/connection/database.ts';
import { readStream } from '../../store/history/maintenance.ts';
import { emptyHistory, planEmpty } from '../../store/history/reset.ts';
import { stagingSchema } from '../../store/history/staging.ts';
import { WriterSeat } from '../../store/lock/writer-lock.ts';
import { postgresStaging } from '../../store/postgres-sink.ts';
import { version } from '../../version.ts';
import {
  asWriter,
  commandLeaseMs,
  countLines,
  maintenanceArguments,
  openStream,
  withStream,
  writerName,
  type MaintenanceArguments,
} from '../database/maintenance.ts';
import { wrong } from '../command-line/refusals.ts';

type Write = (line: string) => void;

/** @throws IndexerError RESEED_REFUSED, HISTORY_CHANGED, WRITER_ACTIVE, CONFIGURATION_INVALID, or what the ledger answers */
export async function reseedCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  stop: AbortSignal,
  write: Write,
): Promise<void> {
  const args = maintenanceArguments('reseed', argv, env);
  await withStream(args.config, 'reseed', async (database) => {
    const { parts, close } = await partsOf(args.config, database, stop);
    try {
      if (args.given.has('keep-history')) await keepHistory(parts, database, args, write);
      else await giveUpHistory(parts, database, args, write);
    } finally {
      close();
    }
  });
}

/** The parts of the daemon, for its seed. */
async function partsOf(
  config: Config,
  database: Database,
  stop: AbortSignal,
): Promise<{ readonly parts: PipelineParts; readonly close: () => void }> {
  const { url: ledgerUrl } = config.ledger;
  const { url: databaseUrl, schema } = config.database;
  if (ledgerUrl === undefined || databaseUrl === undefined) {
    throw wrong('LEDGER_URL is not set', 'name the participant whose active contracts are to be read');
  }
  const access = await openAccess(config.ledger, stop);
  const { logLevel, logFormat: format, stalledAfterMs } = config.indexer;
  const level = logLevel === 'info' ? 'warn' : logLevel;
  const logging = createLogger({ level, format, stream: process.stderr });
  const health = new HealthTracker({ version, schema, stalledAfterMs, onCheckpoint: () => undefined });
  const metrics = createMetrics({ version });
  const observer = createObserver({ logger: logging.logger, metrics, health });
  const options = { config, access, ledgerUrl, databaseUrl, version, logging };
  // The right to write is taken where something is changed, by `asWriter`.
  const seat = new WriterSeat(database, commandLeaseMs);
  const parts = pipelineParts(options, { database, observer, seat, stop });
  return { parts, close: () => observer.close() };
}

async function keepHistory(
  parts: PipelineParts,
  database: Database,
  { config, yes }: MaintenanceArguments,
  write: Write,
): Promise<void> {
  const command = 'reseed --keep-history --yes';
  if (!yes) {
    for (const line of planned(await planReseed(parts, await readStream(database)))) write(line);
    write(`nothing was changed; with the indexer stopped or parked, run: ledger-indexer ${command}`);
    return;
  }
  const staging = openStream(config, 'reseed', stagingSchema(database.schema));
  try {
    const done = await asWriter(database, command, async () => {
      const plan = await planReseed(parts, await readStream(database));
      for (const line of planned(plan)) write(line);
      const { notify } = config.indexer;
      const place = postgresStaging(database, staging, { writer: writerName, notify });
      return { ...(await reseed(parts, place, plan)), checkpoint: plan.checkpoint };
    });
    for (const line of told(done)) write(line);
  } finally {
    await staging.close();
  }
}

function planned({ checkpoint, ledgerEnd, pruned, reason }: ReseedPlan): readonly string[] {
  const facts = `checkpoint ${String(checkpoint)}, ledger end ${String(ledgerEnd)}, pruned up to ${String(pruned)}: ${reason}`;
  if (pruned <= checkpoint) {
    return [
      facts,
      'the active contracts are read at the checkpoint, so that no update is left out:',
      '  contracts active here and not there are said to have ended at the checkpoint',
      '  contracts active there and not here are added with origin "seed"',
    ];
  }
  return [
    facts,
    `the active contracts are read at ${String(pruned)}, or at the ledger end if the participant does not show them there;`,
    `updates after ${String(checkpoint)} and up to there stay unknown:`,
    '  contracts active here and not there ended in this gap, and are said to have ended at its end',
    '  contracts active there and not here are added with origin "seed"',
  ];
}

function told(done: Reseeded & { readonly checkpoint: number }): readonly string[] {
  const { kept, ended, added, offset, checkpoint } = done;
  const gap = offset > checkpoint;
  const where = gap ? `ended in the gap, which is ${String(checkpoint + 1)} to ${String(offset)}` : 'ended';
  return [
    `done: ${String(kept)} contracts are active as before, ${String(ended)} ${where}, ${String(added)} are new`,
    `${gap ? 'the gap' : 'the range that begins here'} is recorded in table coverage; a parked indexer follows from ` +
      `${String(offset)} within a minute, a stopped one when it is started`,
  ];
}

async function giveUpHistory(
  parts: PipelineParts,
  database: Database,
  { yes }: MaintenanceArguments,
  write: Write,
): Promise<void> {
  // Nothing is given up before the ledger has answered that it can be read.
  const identity = await askIdentity(parts);
  const ledgerEnd = await parts.ledger.state.ledgerEnd();
  const command = 'reseed --yes';
  if (!yes) {
    write(`seeding at the ledger end ${String(ledgerEnd)} would first remove from schema "${database.schema}":`);
    for (const line of countLines(await planEmpty(database))) write(line);
    write(`nothing was changed; with the indexer stopped or parked, run: ledger-indexer ${command}`);
    write('to keep the history: ledger-indexer reseed --keep-history');
    return;
  }
  await asWriter(database, command, () => emptyHistory(database, identity, writerName));
  write(`schema "${database.schema}" is empty; start the indexer: it seeds at the ledger end`);
}
