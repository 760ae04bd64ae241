/** Runs all checks of the ledger, of the database, and of both together. */
import { type Config, loadConfig } from '../../config/config.ts';
import type { OptionFlags } from '../../config/option-sources.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import { assertDatabaseUnnamed, assertNoOtherName } from '../database/named-database.ts';
import { databaseChecks, openCheckDatabase } from './database-checks.ts';
import { ledgerChecks, type LedgerView, openLedger } from './ledger-checks.ts';
import { nodeTokenChecks } from './node-token-checks.ts';
import { checkSeedRelease } from './release-checks.ts';
import { type Check, fail, type Finding, type CheckOutcome, pass, runChecks, skip, warn } from './outcome.ts';
import { readStream, type StreamFacts } from '../../store/history/maintenance.ts';
import { filterChanged, isUnused, describeFilterChange } from '../../store/write/filter-changed.ts';
import { hasTables } from '../../store/connection/inspection.ts';
import { filterFingerprint } from '../../ledger/api/request-format.ts';
import { pageUrl } from '../../page-url.ts';

/**
 * The outcomes of all checks, in the order of the output.
 * @param flags options of the command line
 * @param limitMs time limit of each check, milliseconds
 */
export async function allOutcomes(
  flags: OptionFlags,
  env: NodeJS.ProcessEnv,
  limitMs: number,
): Promise<readonly CheckOutcome[]> {
  let config: Config;
  try {
    config = loadConfig(env, flags);
  } catch (thrown) {
    return [failed('configuration', thrown)];
  }
  const stop = new AbortController();
  const first = staticCheck('configuration', pass('every option is known and valid'));
  const connections = await openSides(config, env, { limitMs, signal: stop.signal });
  const { ledger, database } = connections;
  try {
    const checks = [
      first,
      ...connections.ledgerChecks,
      ...connections.databaseChecks,
      ...nodeTokenChecks(config, ledger, database),
      ...streamChecks(ledger, database),
    ];
    return await runChecks(checks, limitMs);
  } finally {
    stop.abort();
    await database?.close(0);
  }
}

interface CheckConnections {
  readonly ledger: LedgerView | undefined;
  readonly ledgerChecks: readonly Check[];
  readonly database: Database | undefined;
  readonly databaseChecks: readonly Check[];
}

/**
 * The checks of ledger and database. If the ledger or the database cannot be opened, one failed outcome replaces its
 * checks.
 */
async function openSides(
  config: Config,
  env: NodeJS.ProcessEnv,
  { limitMs, signal }: { readonly limitMs: number; readonly signal: AbortSignal },
): Promise<CheckConnections> {
  const { url: ledgerUrl } = config.ledger;
  const { url: databaseUrl } = config.database;
  const guardCheck = (name: string, subject: string, assertPossible: () => void): Check[] => {
    try {
      assertPossible();
    } catch (thrown) {
      return [staticCheck(name, failed(name, thrown))];
    }
    return [staticCheck(name, skip(`${subject}: it runs embedded in the same process, so there is nothing to check`))];
  };
  const openCheck = async <T>(
    name: string,
    openSide: () => Promise<T> | T,
  ): Promise<{ side?: T; broken: readonly Check[] }> => {
    try {
      return { side: await openSide(), broken: [] };
    } catch (thrown) {
      return { broken: [staticCheck(name, failed(name, thrown))] };
    }
  };
  const ledger =
    ledgerUrl === undefined
      ? undefined
      : await openCheck('ledger', () => openLedger(config, ledgerUrl, limitMs, signal));
  const database =
    databaseUrl === undefined ? undefined : await openCheck('postgres', () => openCheckDatabase(config, limitMs));
  return {
    ledger: ledger?.side,
    ledgerChecks: ledger?.side
      ? ledgerChecks(ledger.side)
      : (ledger?.broken ?? guardCheck('ledger', 'LEDGER_URL is not set', () => assertDatabaseUnnamed(config))),
    database: database?.side,
    databaseChecks: database?.side
      ? databaseChecks(database.side, config)
      : (database?.broken ?? guardCheck('postgres', 'DATABASE_URL is not set', () => assertNoOtherName(config, env))),
  };
}

function staticCheck(name: string, finding: Finding): Check {
  return { name, run: () => Promise.resolve(finding) };
}

function failed(name: string, thrown: unknown): CheckOutcome {
  const { message, remedy, code } = toIndexerError(thrown);
  return { name, state: 'fail', found: message, fix: remedy, code };
}

// Checks that need both ledger and database: whether the stored stream can continue with this ledger and this filter.

/** @param ledger undefined if it is embedded or cannot be opened */
function streamChecks(ledger: LedgerView | undefined, database: Database | undefined): readonly Check[] {
  const missingOption = ledger === undefined ? 'LEDGER_URL' : 'DATABASE_URL';
  if (ledger === undefined || database === undefined) {
    return ['stored stream', 'stored history', 'stored seed', 'parties that leave'].map((name) => ({
      name,
      run: () => Promise.resolve(skip(`needs ledger and database: ${missingOption} is not set or unusable`)),
    }));
  }
  return [
    {
      name: 'stored stream',
      after: ['ledger', 'ledger end', 'postgres'],
      run: () => checkSameStream(ledger, database),
    },
    {
      name: 'stored history',
      after: ['ledger', 'ledger end', 'postgres'],
      run: () => checkSameHistory(ledger, database),
    },
    { name: 'stored seed', after: ['ledger', 'postgres'], run: () => checkStoredSeed(ledger, database) },
    { name: 'parties that leave', after: ['ledger', 'ledger end'], run: () => checkPartyOffboarding(ledger) },
  ];
}

async function readStoredStream(database: Database): Promise<StreamFacts | undefined> {
  return (await hasTables(database)) ? await readStream(database) : undefined;
}

const nothingStored = 'nothing is stored yet';

async function checkSameStream({ config, participantId }: LedgerView, database: Database): Promise<Finding> {
  const stream = await readStoredStream(database);
  if (stream === undefined) return skip(nothingStored);
  const configuredHash = filterFingerprint(config.ledger).hash;
  if (configuredHash !== stream.filterHash) {
    if (stream.extendedFrom.includes(configuredHash)) {
      return warn(
        'the filter was extended: the indexer continues with the filter in force, the LEDGER_* options name a previous one',
        `set the LEDGER_* filter options to the filter in force: ${stream.filter.slice(0, 400)}`,
      );
    }
    const { json } = filterFingerprint(config.ledger);
    if (isUnused(stream)) {
      const difference = describeFilterChange(stream.filter, json);
      return pass(
        `nothing is stored under the filter of a previous start: the next start uses the configured one (${difference})`,
      );
    }
    throw await database.withClient((client) => filterChanged(client, stream, json));
  }
  const currentParticipantId = await participantId().catch((thrown: unknown) => {
    if (toIndexerError(thrown).code === 'LEDGER_PERMISSION_DENIED') return undefined;
    throw thrown;
  });
  if (currentParticipantId === undefined || stream.participantId === null)
    return pass('the filter matches the stored one');
  if (currentParticipantId === stream.participantId)
    return pass(`participant ${currentParticipantId} and the filter match the stored ones`);
  return fail(
    `schema "${database.schema}" holds participant ${stream.participantId}, the ledger is participant ${currentParticipantId}`,
    'set LEDGER_URL to the previous participant, or index this one into another POSTGRES_SCHEMA',
  );
}

/**
 * Compares pruned offset, checkpoint and ledger end, which all change while an indexer runs. Therefore the pruned
 * offset is read before the checkpoint, and the ledger end after it. The ledger end that other checks have read may be
 * older than the checkpoint.
 */
async function checkSameHistory({ client, pruned }: LedgerView, database: Database): Promise<Finding> {
  const prunedTo = await pruned();
  const stream = await readStoredStream(database);
  if (stream === undefined || stream.checkpoint === null) return skip(nothingStored);
  const { checkpoint } = stream;
  const ledgerEnd = await client.state.ledgerEnd();
  if (prunedTo > checkpoint) {
    return fail(
      `the participant is pruned up to ${String(prunedTo)}, past the checkpoint ${String(checkpoint)}`,
      'run ledger-indexer reseed --yes; then let the participant keep more history than the longest outage',
    );
  }
  if (ledgerEnd < checkpoint) {
    return fail(
      `the ledger ends at ${String(ledgerEnd)}, before the checkpoint ${String(checkpoint)}: a lagging replica, or a reset`,
      `wait for the replica; after a reset: ledger-indexer reset --to OFFSET, see ${pageUrl('docs/how-to/change/recover-history.md')}`,
    );
  }
  return pass(
    `checkpoint ${String(checkpoint)}, ${String(ledgerEnd - checkpoint)} behind the ledger end, ` +
      `${String(checkpoint - prunedTo)} above what is pruned`,
  );
}

async function checkStoredSeed(view: LedgerView, database: Database): Promise<Finding> {
  const stream = await readStoredStream(database);
  if (stream === undefined || !stream.seeded || stream.seedOffset === null) return skip(nothingStored);
  return checkSeedRelease(view, stream);
}

/**
 * Checks whether the indexer can detect that a party has left the participant. No event ends the contracts of a party
 * that left the participant; only topology events report that it left.
 */
async function checkPartyOffboarding({ config, participantId }: LedgerView): Promise<Finding> {
  const offboardingWarning = 'contracts of parties that leave the participant stay active in the index forever';
  if (!config.ledger.topology) {
    return skip(`LEDGER_TOPOLOGY is false: ${offboardingWarning}; set it to true to mark them as unhosted`);
  }
  try {
    return pass(
      `topology events of ${await participantId()} are requested: contracts of parties that leave become unhosted`,
    );
  } catch (thrown) {
    if (toIndexerError(thrown).code !== 'LEDGER_PERMISSION_DENIED') throw thrown;
    return skip(`this user may not read the participant id: ${offboardingWarning} unless the user gets the right`);
  }
}
