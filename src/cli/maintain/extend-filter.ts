/**
 * `filter extend`: adds parties, templates, interfaces, blobs or topology to the filter of a running indexer. The
 * command only requests the extension, which the indexer then makes. Without `--yes` it only compares the filters.
 */
import { pause } from '../../config/pause.ts';
import type { Config } from '../../config/config.ts';
import { interfacesNamed } from '../../config/interface-presets.ts';
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import { filterFingerprint } from '../../ledger/api/request-format.ts';
import {
  addedParts,
  parseFilter,
  type FilterEntry,
  type HistoryRequest,
  type FilterExtensionRequest,
  type Job,
  type JobName,
} from '../../model/stream.ts';
import type { Database } from '../../store/connection/database.ts';
import type { StreamFacts } from '../../store/history/maintenance.ts';
import type { PrintLine } from '../command-line/command.ts';
import { filterDifference } from './accept-filter.ts';

interface ExtensionContext {
  readonly print: PrintLine;
  readonly stop: AbortSignal;
}

interface ExtensionRequest {
  readonly yes: boolean;
  readonly wait: boolean;
  /** Maximum updates per second while earlier history is read; undefined if none is requested. */
  readonly history: number | undefined;
}

/** @throws IndexerError FILTER_EXTEND_REFUSED and errors of the ledger */
export async function extendFilter(
  database: Database,
  config: Config,
  request: ExtensionRequest,
  context: ExtensionContext,
): Promise<void> {
  const { print } = context;
  const { readStream } = await import('../../store/history/maintenance.ts');
  const stream = await readStream(database);
  if (stream === undefined) {
    throw refusalError(
      'nothing is indexed in this schema yet',
      'start the indexer with the new filter: ledger-indexer run',
    );
  }
  const extension = await requestedExtension(database, stream, config);
  const { hash: filterHash } = filterFingerprint(config.ledger);
  const perSecond = request.history;
  const history =
    perSecond === undefined || (extension === undefined && !(await isMissingHistory(database)))
      ? undefined
      : { filterHash, perSecond };
  if (extension === undefined && history === undefined) {
    print('the filter in force already includes all of this: nothing to do');
    return;
  }
  await refuseOtherHistory(database, filterHash);
  for (const line of linesOf(stream, extension, history)) print(line);
  await refuseOtherLedger(config, database, context.stop);
  if (!request.yes) {
    print('nothing was changed; while the indexer runs, run: ledger-indexer filter extend --yes');
    return;
  }
  await ask(database, extension, history);
  print('requested: the indexer starts within seconds; ledger-indexer jobs reports the progress');
  if (!request.wait) return;
  if (extension !== undefined) await waitForJob(database, 'filter-extend', context);
  if (history !== undefined) await waitForJob(database, 'history', context);
  if (extension !== undefined) await waitForViews(database, addedInterfaces(stream, extension), context);
  if (!context.stop.aborted) print('done');
}

/** Requests both jobs or neither. @throws IndexerError JOB_REFUSED */
async function ask(
  database: Database,
  extension: FilterExtensionRequest | undefined,
  history: HistoryRequest | undefined,
): Promise<void> {
  const { requestJob } = await import('../../store/history/jobs.ts');
  await database.transaction(async (client) => {
    if (extension !== undefined) await requestJob(client, 'filter-extend', extension);
    if (history !== undefined) await requestJob(client, 'history', history);
  });
}

/**
 * The extension to request; undefined if there is nothing to do.
 * @throws IndexerError FILTER_EXTEND_REFUSED if the configured filter is not an extension
 */
async function requestedExtension(
  database: Database,
  stream: StreamFacts,
  { ledger }: Config,
): Promise<FilterExtensionRequest | undefined> {
  const { json: filter, hash: filterHash } = filterFingerprint(ledger);
  const extension = { filter, filterHash, from: stream.filterHash };
  if (filterHash === stream.filterHash) return (await isMissingContracts(database)) ? extension : undefined;
  const { shape } = parseFilter(stream.filter);
  if (shape !== ledger.shape) {
    throw refusalError(
      `the filter in force has shape ${shape}, the configured one ${ledger.shape}`,
      'to change the shape from the checkpoint on, run: ledger-indexer filter accept; for all of history, run: ledger-indexer rebuild --yes',
    );
  }
  const difference = filterDifference(stream.filter, ledger);
  if (!difference.removes) return extension;
  throw refusalError(
    `the configured filter leaves out parts of the filter in force: ${difference.lines.join('; ')}`,
    'add these parts to the LEDGER_* filter options; or, with the indexer stopped, run ' +
      'ledger-indexer filter accept or ledger-indexer reseed',
  );
}

/** Whether contracts of an added part are missing: then an extension that was cancelled may be requested again. */
async function isMissingContracts(database: Database): Promise<boolean> {
  const { rows } = await database.withClient((client) =>
    client.query('select from filter_additions where complete_from is null limit 1'),
  );
  return rows.length > 0;
}

/** Whether the history of an added part is missing before the offset at which it came into force. */
async function isMissingHistory(database: Database): Promise<boolean> {
  const { rows } = await database.withClient((client) =>
    client.query('select from filter_additions where greatest(from_offset, complete_from) > 0 limit 1'),
  );
  return rows.length > 0;
}

/** Refuses a request while another history job runs. @throws IndexerError FILTER_EXTEND_REFUSED */
async function refuseOtherHistory(database: Database, filterHash: string): Promise<void> {
  const { getJob } = await import('../../store/history/jobs.ts');
  const job = await database.withClient((client) => getJob(client, 'history'));
  if (job === undefined || job.state === 'done' || job.state === 'failed') return;
  if ((job.request as HistoryRequest).filterHash === filterHash) return;
  throw refusalError(
    'a history job for another filter is not finished',
    'wait for it (ledger-indexer jobs), or cancel it: ledger-indexer jobs cancel history',
  );
}

function linesOf(
  stream: StreamFacts,
  extension: FilterExtensionRequest | undefined,
  history: HistoryRequest | undefined,
): readonly string[] {
  const historyNote =
    'earlier history is added afterwards, newest first, as far back as the stored history and the participant reach';
  if (extension === undefined) return ['the filter is in force', historyNote];
  const { filter, filterHash } = extension;
  if (filterHash === stream.filterHash) {
    const missingContractsNote =
      'the filter is in force; active contracts of some of its parts are missing and would be added';
    return history === undefined ? [missingContractsNote] : [missingContractsNote, historyNote];
  }
  const newParts = addedParts(parseFilter(stream.filter), parseFilter(filter));
  return [
    'would be added, from the checkpoint on:',
    ...newParts.map((part) => `  ${formatPart(part)}`),
    history === undefined ? 'contracts active there are included, contracts that ended before are not' : historyNote,
  ];
}

export function formatPart({ kind, name }: FilterEntry): string {
  if (kind === 'blobs') return 'created-event blobs';
  if (kind === 'topology') return 'changes of party hosting';
  return name === '*' ? `every ${kind}` : `${kind} ${name}`;
}

/**
 * Checks that the stored offsets are those of the configured participant, and that it still returns the stored updates.
 */
async function refuseOtherLedger(config: Config, database: Database, stop: AbortSignal): Promise<void> {
  const { reseedParts } = await import('./reseed-parts.ts');
  const { planReseed } = await import('../../pipeline/reseed.ts');
  const { withParticipantOffsets } = await import('../../pipeline/participant/with-participant-offsets.ts');
  const { readStanding: readExistingStream } = await import('../../store/history/participants.ts');
  const { readParticipant } = await import('../../store/write/participants.ts');
  const { parts, close } = await reseedParts(config, database, stop);
  try {
    await planReseed(
      withParticipantOffsets(parts, await readParticipant(database)),
      await readExistingStream(database),
    );
  } catch (thrown) {
    const error = toIndexerError(thrown);
    throw error.code === 'RESEED_REFUSED' ? refusalError(error.message, error.remedy) : error;
  } finally {
    close();
  }
}

const pollMs = 500;

async function waitForJob(database: Database, name: JobName, { print, stop }: ExtensionContext): Promise<void> {
  const { getJob } = await import('../../store/history/jobs.ts');
  let lastPrinted = '';
  while (!stop.aborted) {
    const job = await database.withClient((client) => getJob(client, name));
    if (job === undefined)
      throw refusalError('the extension was cancelled', 'request it again: ledger-indexer filter extend --yes');
    if (job.state === 'done') return;
    if (job.state === 'failed')
      throw refusalError(
        job.problem ?? `job ${name} failed`,
        `fix the problem, then run: ledger-indexer jobs resume ${name}`,
      );
    const line = progressOf(job);
    if (line !== lastPrinted) print(line);
    lastPrinted = line;
    await pause(pollMs, stop);
  }
}

/** Ids of added interfaces, with presets expanded. */
function addedInterfaces(stream: StreamFacts, { filter }: FilterExtensionRequest): readonly string[] {
  const newParts = addedParts(parseFilter(stream.filter), parseFilter(filter));
  return interfacesNamed(newParts.flatMap(({ kind, name }) => (kind === 'interface' ? [name] : [])));
}

/**
 * Waits for the backfill of interface views, which starts when the filter is in force. Does not wait for interfaces
 * that the participant does not know.
 */
async function waitForViews(
  database: Database,
  ids: readonly string[],
  { print, stop }: ExtensionContext,
): Promise<void> {
  const { readRequestedInterfaces } = await import('../../store/write/filter-interfaces.ts');
  let lastPrinted = '';
  while (!stop.aborted) {
    const interfaceStates = await database.withClient(readRequestedInterfaces);
    const states = ids.map((id) => ({ id, ...interfaceStates.find((interfaceState) => interfaceState.id === id) }));
    const unknownStates = states.filter(({ state, unknownAt }) => state === 'waiting' && typeof unknownAt === 'number');
    const complete = states.filter(({ completeFrom }) => typeof completeFrom === 'number');
    if (complete.length + unknownStates.length === states.length) {
      for (const { id } of unknownStates)
        print(`the participant does not know ${id} yet: its views are added when it does`);
      return;
    }
    const line = `views of interfaces: ${String(complete.length)} of ${String(states.length - unknownStates.length)}`;
    if (line !== lastPrinted) print(line);
    lastPrinted = line;
    await pause(pollMs, stop);
  }
}

function progressOf({ state, step, unit, done, total, problem }: Job): string {
  const countText = total === null ? String(done) : `${String(done)} of ${String(total)}`;
  const activityText = step === null ? state : unit === null ? step : `${step}: ${countText} ${unit}`;
  return problem === null ? activityText : `${activityText}; ${problem}`;
}

function refusalError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code: 'FILTER_EXTEND_REFUSED', remedy });
}
