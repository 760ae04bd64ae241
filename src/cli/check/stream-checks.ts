/** Checks of both sides together: whether what is stored can go on with this ledger under this filter. */
import type { Database } from '../../store/connection/database.ts';
import { readStream, type StreamFacts } from '../../store/history/maintenance.ts';
import { hasTables } from '../../store/connection/inspection.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import { filterFingerprint } from '../../ledger/api/request-format.ts';
import { pageUrl } from '../../pages.ts';
import type { LedgerView } from './ledger-view.ts';
import { fail, pass, skip, type Check, type Finding } from './outcome.ts';

/** @param ledger undefined when it is embedded or cannot be asked */
export function streamChecks(ledger: LedgerView | undefined, database: Database | undefined): readonly Check[] {
  const missing = ledger === undefined ? 'LEDGER_URL' : 'DATABASE_URL';
  if (ledger === undefined || database === undefined) {
    return ['stored stream', 'stored history', 'parties that leave'].map((name) => ({
      name,
      run: () => Promise.resolve(skip(`needs both sides: ${missing} is not set, or of no use`)),
    }));
  }
  return [
    { name: 'stored stream', after: ['ledger', 'ledger end', 'postgres'], run: () => sameStream(ledger, database) },
    { name: 'stored history', after: ['ledger', 'ledger end', 'postgres'], run: () => sameHistory(ledger, database) },
    { name: 'parties that leave', after: ['ledger', 'ledger end'], run: () => noticedLeaving(ledger) },
  ];
}

async function stored(database: Database): Promise<StreamFacts | undefined> {
  return (await hasTables(database)) ? await readStream(database) : undefined;
}

const nothing = 'nothing is stored yet';

async function sameStream({ config, participantId }: LedgerView, database: Database): Promise<Finding> {
  const stream = await stored(database);
  if (stream === undefined) return skip(nothing);
  if (filterFingerprint(config.ledger).hash !== stream.filterHash) {
    return fail(
      `schema "${database.schema}" was filled with another filter: ${stream.filter.slice(0, 400)}`,
      'restore the former LEDGER_* filter options, or ledger-indexer accept-filter --yes, or use another POSTGRES_SCHEMA',
    );
  }
  const answering = await participantId().catch((thrown: unknown) => {
    if (toIndexerError(thrown).code === 'LEDGER_PERMISSION_DENIED') return undefined;
    throw thrown;
  });
  if (answering === undefined || stream.participantId === null) return pass('the filter is the stored one');
  if (answering === stream.participantId) return pass(`participant ${answering} and filter are the stored ones`);
  return fail(
    `schema "${database.schema}" holds participant ${stream.participantId}, the ledger is participant ${answering}`,
    'point LEDGER_URL back to the former participant, or index this one into another POSTGRES_SCHEMA',
  );
}

/**
 * Beside a live indexer all three move, so what bounds the checkpoint from below is read before it and what bounds it from
 * above is asked for after it: the ledger end that the other checks know may be older than the checkpoint.
 */
async function sameHistory({ client, pruned }: LedgerView, database: Database): Promise<Finding> {
  const prunedTo = await pruned();
  const stream = await stored(database);
  if (stream === undefined || stream.checkpoint === null) return skip(nothing);
  const { checkpoint } = stream;
  const ledgerEnd = await client.state.ledgerEnd();
  if (prunedTo > checkpoint) {
    return fail(
      `the participant is pruned up to ${String(prunedTo)}, past the checkpoint ${String(checkpoint)}`,
      'ledger-indexer reseed --keep-history --yes; then let the participant keep more than the longest outage',
    );
  }
  if (ledgerEnd < checkpoint) {
    return fail(
      `the ledger ends at ${String(ledgerEnd)}, before the checkpoint ${String(checkpoint)}: a replica that lags, or a reset`,
      `wait for the replica; after a reset: ledger-indexer reset --to OFFSET, see ${pageUrl('docs/history.md')}`,
    );
  }
  return pass(
    `checkpoint ${String(checkpoint)}, ${String(ledgerEnd - checkpoint)} behind the ledger end, ` +
      `${String(checkpoint - prunedTo)} above what is pruned`,
  );
}

/** Contracts of parties that left the participant end in no event: only the events of topology tell. */
async function noticedLeaving({ config, participantId }: LedgerView): Promise<Finding> {
  const unnoticed = 'contracts of parties that leave the participant stay active here for ever';
  if (!config.ledger.topology) {
    return skip(`LEDGER_TOPOLOGY is false: ${unnoticed}; with true they become unknown`);
  }
  try {
    return pass(
      `events of topology of ${await participantId()} are asked for: contracts of parties that leave become unknown`,
    );
  } catch (thrown) {
    if (toIndexerError(thrown).code !== 'LEDGER_PERMISSION_DENIED') throw thrown;
    return skip(`this user may not ask for the id of the participant: ${unnoticed}, until one of its users may`);
  }
}
