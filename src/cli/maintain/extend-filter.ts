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
  keptFilter,
  type FilterPart,
  type HistoryRequest,
  type FilterExtensionRequest,
  type Job,
  type JobName,
} from '../../model/stream.ts';
import type { Database } from '../../store/connection/database.ts';
import type { StreamFacts } from '../../store/history/maintenance.ts';
import type { Print } from '../command-line/command.ts';
import { filterDifference } from './accept-filter.ts';

interface Around {
  readonly print: Print;
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
  around: Around,
): Promise<void> {
  const { print } = around;
  const { readStream } = await import('../../store/history/maintenance.ts');
  const stream = await readStream(database);
  if (stream === undefined) {
    throw refused('nothing is indexed in this schema yet', 'start the indexer with the new filter: ledger-indexer run');
  }
  const extension = await requestedExtension(database, stream, config);
  const { hash: filterHash } = filterFingerprint(config.ledger);
  const perSecond = request.history;
  const history =
    perSecond === undefined || (extension === undefined && !(await lacksHistory(database)))
      ? undefined
      : { filterHash, perSecond };
  if (extension === undefined && history === undefined) {
    print('the filter in force already includes all of this: nothing to do');
    return;
  }
  await refuseOtherHistory(database, filterHash);
  for (const line of linesOf(stream, extension, history)) print(line);
  await refuseOtherLedger(config, database, around.stop);
  if (!request.yes) {
    print('nothing was changed; while the indexer runs, run: ledger-indexer filter extend --yes');
    return;
  }
  await ask(database, extension, history);
  print('requested: the indexer starts within seconds; ledger-indexer jobs reports the progress');
  if (!request.wait) return;
  if (extension !== undefined) await untilDone(database, 'filter-extend', around);
  if (history !== undefined) await untilDone(database, 'history', around);
  if (extension !== undefined) await untilViews(database, interfacesIn(stream, extension), around);
  if (!around.stop.aborted) print('done');
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
  if (filterHash === stream.filterHash) return (await lacksContracts(database)) ? extension : undefined;
  const { shape } = keptFilter(stream.filter);
  if (shape !== ledger.shape) {
    throw refused(
      `the filter in force has shape ${shape}, the configured one ${ledger.shape}`,
      'to change the shape from the checkpoint on, run: ledger-indexer filter accept; for all of history, run: ledger-indexer rebuild --yes',
    );
  }
  const difference = filterDifference(stream.filter, ledger);
  if (!difference.removes) return extension;
  throw refused(
    `the configured filter leaves out parts of the filter in force: ${difference.lines.join('; ')}`,
    'add these parts to the LEDGER_* filter options; or, with the indexer stopped, run ' +
      'ledger-indexer filter accept or ledger-indexer reseed',
  );
}

/** Whether contracts of an added part are missing: then an extension that was cancelled may be requested again. */
async function lacksContracts(database: Database): Promise<boolean> {
  const { rows } = await database.withClient((client) =>
    client.query('select from filter_additions where complete_from is null limit 1'),
  );
  return rows.length > 0;
}

/** Whether the history of an added part is missing before the offset at which it came into force. */
async function lacksHistory(database: Database): Promise<boolean> {
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
  throw refused(
    'a history job for another filter is not finished',
    'wait for it (ledger-indexer jobs), or cancel it: ledger-indexer jobs cancel history',
  );
}

function linesOf(
  stream: StreamFacts,
  extension: FilterExtensionRequest | undefined,
  history: HistoryRequest | undefined,
): readonly string[] {
  const past =
    'earlier history is added afterwards, newest first, as far back as the stored history and the participant reach';
  if (extension === undefined) return ['the filter is in force', past];
  const { filter, filterHash } = extension;
  if (filterHash === stream.filterHash) {
    const lacking = 'the filter is in force; active contracts of some of its parts are missing and would be added';
    return history === undefined ? [lacking] : [lacking, past];
  }
  const added = addedParts(keptFilter(stream.filter), keptFilter(filter));
  return [
    'would be added, from the checkpoint on:',
    ...added.map((part) => `  ${partText(part)}`),
    history === undefined ? 'contracts active there are included, contracts that ended before are not' : past,
  ];
}

export function partText({ kind, name }: FilterPart): string {
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
  const { readStanding } = await import('../../store/history/participants.ts');
  const { readParticipant } = await import('../../store/write/participants.ts');
  const { parts, close } = await reseedParts(config, database, stop);
  try {
    await planReseed(withParticipantOffsets(parts, await readParticipant(database)), await readStanding(database));
  } catch (thrown) {
    const error = toIndexerError(thrown);
    throw error.code === 'RESEED_REFUSED' ? refused(error.message, error.remedy) : error;
  } finally {
    close();
  }
}

const lookMs = 500;

async function untilDone(database: Database, name: JobName, { print, stop }: Around): Promise<void> {
  const { getJob } = await import('../../store/history/jobs.ts');
  let lastLine = '';
  while (!stop.aborted) {
    const job = await database.withClient((client) => getJob(client, name));
    if (job === undefined)
      throw refused('the extension was cancelled', 'request it again: ledger-indexer filter extend --yes');
    if (job.state === 'done') return;
    if (job.state === 'failed')
      throw refused(
        job.problem ?? `job ${name} failed`,
        `fix the problem, then run: ledger-indexer jobs resume ${name}`,
      );
    const line = progressOf(job);
    if (line !== lastLine) print(line);
    lastLine = line;
    await pause(lookMs, stop);
  }
}

/** Ids of added interfaces, with presets expanded. */
function interfacesIn(stream: StreamFacts, { filter }: FilterExtensionRequest): readonly string[] {
  const added = addedParts(keptFilter(stream.filter), keptFilter(filter));
  return interfacesNamed(added.flatMap(({ kind, name }) => (kind === 'interface' ? [name] : [])));
}

/**
 * Waits for the backfill of interface views, which starts when the filter is in force. Does not wait for interfaces
 * that the participant does not know.
 */
async function untilViews(database: Database, ids: readonly string[], { print, stop }: Around): Promise<void> {
  const { readRequestedInterfaces } = await import('../../store/write/filter-interfaces.ts');
  let lastLine = '';
  while (!stop.aborted) {
    const interfaceStates = await database.withClient(readRequestedInterfaces);
    const found = ids.map((id) => ({ id, ...interfaceStates.find((one) => one.id === id) }));
    const unknown = found.filter(({ state, unknownAt }) => state === 'waiting' && typeof unknownAt === 'number');
    const complete = found.filter(({ completeFrom }) => typeof completeFrom === 'number');
    if (complete.length + unknown.length === found.length) {
      for (const { id } of unknown) print(`the participant does not know ${id} yet: its views are added when it does`);
      return;
    }
    const line = `views of interfaces: ${String(complete.length)} of ${String(found.length - unknown.length)}`;
    if (line !== lastLine) print(line);
    lastLine = line;
    await pause(lookMs, stop);
  }
}

function progressOf({ state, step, unit, done, total, problem }: Job): string {
  const counted = total === null ? String(done) : `${String(done)} of ${String(total)}`;
  const doing = step === null ? state : unit === null ? step : `${step}: ${counted} ${unit}`;
  return problem === null ? doing : `${doing}; ${problem}`;
}

function refused(found: string, remedy: string): IndexerError {
  return new IndexerError(found, { code: 'FILTER_EXTEND_REFUSED', remedy });
}
