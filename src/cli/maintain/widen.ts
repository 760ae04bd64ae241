/**
 * `widen`: more parties, templates, interfaces, blobs or topology for an indexer that runs. It only says what is wanted; the
 * indexer does it. Without `--yes` it only compares.
 */
import { pause } from '../../config/pause.ts';
import { type Config, loadConfig } from '../../config/config.ts';
import { interfacesNamed } from '../../config/interface-presets.ts';
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import { filterFingerprint } from '../../ledger/api/request-format.ts';
import {
  addedParts,
  keptFilter,
  type FilterPart,
  type WantedHistory,
  type WantedWidening,
  type Work,
  type WorkName,
} from '../../model/stream.ts';
import type { Database } from '../../store/connection/database.ts';
import type { StreamFacts } from '../../store/history/maintenance.ts';
import { type Call, type Command, type Print, writing, yes } from '../command-line/command.ts';
import { misuse } from '../command-line/refusals.ts';
import { withStream } from '../database/maintenance.ts';
import { filterDifference } from './accept-filter.ts';

/** Updates of the past a second. */
const defaultRate = 500;

export const widenCommand: Command = {
  name: 'widen',
  summary: 'add parties, templates, interfaces, blobs or topology while the indexer runs; --yes to do it',
  does: [
    'The configured filter has to show all that the one in force shows. What only it shows is followed within seconds;',
    'what was active before is gathered beside the stream. The indexer goes on under its former options.',
    'With --with-history all that happened before comes as well, the newest first, as far back as the history here reaches',
    'and the participant shows it.',
  ],
  operands: [],
  flags: [
    yes,
    { name: 'wait', doc: 'wait until it is done, and say how far it is' },
    { name: 'with-history', doc: 'updates and contracts of before too, as work "history"' },
    { name: 'rate', value: 'N', doc: `with --with-history: at most N updates a second (${String(defaultRate)})` },
  ],
  examples: ['widen', 'widen --yes --wait', 'widen --yes --with-history --rate 200'],
  exits: writing,
  page: 'docs/history.md',
  /** @throws IndexerError WIDEN_REFUSED, WORK_REFUSED, CONFIGURATION_INVALID, or what the ledger answers */
  run: async ({ given, env, stop, print }) => {
    const config = loadConfig(env, given.options);
    const asked = { yes: given.has('yes'), wait: given.has('wait'), history: rateOf(given) };
    await withStream(config, asked.yes ? 'widen --yes' : 'widen', (database) =>
      widen(database, config, asked, { print, stop }),
    );
  },
};

interface Around {
  readonly print: Print;
  readonly stop: AbortSignal;
}

interface Asked {
  readonly yes: boolean;
  readonly wait: boolean;
  /** Updates a second, where what was before is wanted. */
  readonly history: number | undefined;
}

/** @throws IndexerError USAGE */
function rateOf(given: Call['given']): number | undefined {
  const text = given.text('rate');
  if (given.has('with-history')) return Number(text ?? defaultRate);
  if (text === undefined) return undefined;
  throw misuse('--rate is of use for history only', 'add --with-history');
}

async function widen(database: Database, config: Config, asked: Asked, around: Around): Promise<void> {
  const { print } = around;
  const { readStream } = await import('../../store/history/maintenance.ts');
  const stream = await readStream(database);
  if (stream === undefined) {
    throw refused('nothing is indexed in this schema yet', 'start the indexer with the wanted filter');
  }
  const widened = await widening(database, stream, config);
  const { hash: filterHash } = filterFingerprint(config.ledger);
  const perSecond = asked.history;
  const history =
    perSecond === undefined || (widened === undefined && !(await lacksHistory(database)))
      ? undefined
      : { filterHash, perSecond };
  if (widened === undefined && history === undefined) {
    print('the filter in force shows all of this already: nothing to do');
    return;
  }
  await refuseOtherHistory(database, filterHash);
  for (const line of linesOf(stream, widened, history)) print(line);
  await refuseOtherLedger(config, database, around.stop);
  if (!asked.yes) {
    print('nothing was changed; beside the running indexer, run: ledger-indexer widen --yes');
    return;
  }
  await ask(database, widened, history);
  print('asked for: the indexer begins within seconds; ledger-indexer works shows how far it is');
  if (!asked.wait) return;
  if (widened !== undefined) await untilDone(database, 'widen', around);
  if (history !== undefined) await untilDone(database, 'history', around);
  if (widened !== undefined) await untilViews(database, interfacesIn(stream, widened), around);
  if (!around.stop.aborted) print('done');
}

/** Both or none. @throws IndexerError WORK_REFUSED */
async function ask(
  database: Database,
  widened: WantedWidening | undefined,
  history: WantedHistory | undefined,
): Promise<void> {
  const { askWork } = await import('../../store/history/works.ts');
  await database.transaction(async (client) => {
    if (widened !== undefined) await askWork(client, 'widen', widened);
    if (history !== undefined) await askWork(client, 'history', history);
  });
}

/** What is to be asked for; undefined when there is nothing. @throws IndexerError WIDEN_REFUSED when it is no widening */
async function widening(
  database: Database,
  stream: StreamFacts,
  { ledger }: Config,
): Promise<WantedWidening | undefined> {
  const { json: filter, hash: filterHash } = filterFingerprint(ledger);
  const wanted = { filter, filterHash, from: stream.filterHash };
  if (filterHash === stream.filterHash) return (await lacksContracts(database)) ? wanted : undefined;
  const { shape } = keptFilter(stream.filter);
  if (shape !== ledger.shape) {
    throw refused(
      `the filter in force has shape ${shape}, the configured one ${ledger.shape}`,
      'a shape is changed from the checkpoint on with ledger-indexer accept-filter, or for all of history in a schema of its own',
    );
  }
  const difference = filterDifference(stream.filter, ledger);
  if (!difference.narrows) return wanted;
  throw refused(
    `something that was visible would be no longer: ${difference.lines.join('; ')}`,
    'name all that is in force as well; or, with the indexer stopped, ' +
      'ledger-indexer accept-filter or ledger-indexer reseed --keep-history',
  );
}

/** What was added before and given up may be asked for again. */
async function lacksContracts(database: Database): Promise<boolean> {
  const { rows } = await database.withClient((client) =>
    client.query('select from filter_parts where complete_from is null limit 1'),
  );
  return rows.length > 0;
}

/** Of a part that was added, what happened before it came into force. */
async function lacksHistory(database: Database): Promise<boolean> {
  const { rows } = await database.withClient((client) =>
    client.query('select from filter_parts where greatest(from_offset, complete_from) > 0 limit 1'),
  );
  return rows.length > 0;
}

/** The history of one filter at a time. @throws IndexerError WIDEN_REFUSED */
async function refuseOtherHistory(database: Database, filterHash: string): Promise<void> {
  const { findWork } = await import('../../store/history/works.ts');
  const work = await database.withClient((client) => findWork(client, 'history'));
  if (work === undefined || work.state === 'done' || work.state === 'failed') return;
  if ((work.wanted as WantedHistory).filterHash === filterHash) return;
  throw refused(
    'the history of another filter was asked for and is not finished',
    'let it finish (ledger-indexer works), or give it up: ledger-indexer works cancel history',
  );
}

function linesOf(
  stream: StreamFacts,
  widened: WantedWidening | undefined,
  history: WantedHistory | undefined,
): readonly string[] {
  const past =
    'what happened before comes afterwards, the newest first, as far back as history here and the participant reach';
  if (widened === undefined) return ['the filter is in force', past];
  const { filter, filterHash } = widened;
  if (filterHash === stream.filterHash) {
    const lacking = 'the filter is in force; of some of it, what was active before is missing and would be gathered';
    return history === undefined ? [lacking] : [lacking, past];
  }
  const added = addedParts(keptFilter(stream.filter), keptFilter(filter));
  return [
    'would be followed as well, from the checkpoint on:',
    ...added.map((part) => `  ${textOf(part)}`),
    history === undefined ? 'what is active there comes with it; what ended before does not' : past,
  ];
}

function textOf({ kind, name }: FilterPart): string {
  if (kind === 'blobs') return 'blobs of created events';
  if (kind === 'topology') return 'changes of party hosting';
  return name === '*' ? `every ${kind}` : `${kind} ${name}`;
}

/** The participant of the configuration is the one whose offsets are stored, and still shows what was stored. */
async function refuseOtherLedger(config: Config, database: Database, stop: AbortSignal): Promise<void> {
  const { reseedParts } = await import('./reseed-parts.ts');
  const { planReseed } = await import('../../pipeline/reseed.ts');
  const { onHost } = await import('../../pipeline/host/on-host.ts');
  const { readStanding } = await import('../../store/history/hosts.ts');
  const { readHost } = await import('../../store/write/hosts.ts');
  const { parts, close } = await reseedParts(config, database, stop);
  try {
    await planReseed(onHost(parts, await readHost(database)), await readStanding(database));
  } catch (thrown) {
    const error = toIndexerError(thrown);
    throw error.code === 'RESEED_REFUSED' ? refused(error.message, error.remedy) : error;
  } finally {
    close();
  }
}

const lookMs = 500;

async function untilDone(database: Database, name: WorkName, { print, stop }: Around): Promise<void> {
  const { findWork } = await import('../../store/history/works.ts');
  let said = '';
  while (!stop.aborted) {
    const work = await database.withClient((client) => findWork(client, name));
    if (work === undefined) throw refused('it was given up', 'ask again: ledger-indexer widen --yes');
    if (work.state === 'done') return;
    if (work.state === 'failed') throw refused(work.problem ?? 'it failed', `ledger-indexer works resume ${name}`);
    const line = progressOf(work);
    if (line !== said) print(line);
    said = line;
    await pause(lookMs, stop);
  }
}

/** Interfaces that were added, those of presets one by one. */
function interfacesIn(stream: StreamFacts, { filter }: WantedWidening): readonly string[] {
  const added = addedParts(keptFilter(stream.filter), keptFilter(filter));
  return interfacesNamed(added.flatMap(({ kind, name }) => (kind === 'interface' ? [name] : [])));
}

/** Views of interfaces are gathered after the filter is in force. One that the participant does not know is not waited for. */
async function untilViews(database: Database, ids: readonly string[], { print, stop }: Around): Promise<void> {
  const { wantedInterfaces } = await import('../../store/write/filter-interfaces.ts');
  let said = '';
  while (!stop.aborted) {
    const wanted = await database.withClient(wantedInterfaces);
    const found = ids.map((id) => ({ id, ...wanted.find((one) => one.id === id) }));
    const unknown = found.filter(({ state, unknownAt }) => state === 'waiting' && typeof unknownAt === 'number');
    const complete = found.filter(({ completeFrom }) => typeof completeFrom === 'number');
    if (complete.length + unknown.length === found.length) {
      for (const { id } of unknown) print(`the participant does not know ${id} yet: its views come when it does`);
      return;
    }
    const line = `views of interfaces: ${String(complete.length)} of ${String(found.length - unknown.length)}`;
    if (line !== said) print(line);
    said = line;
    await pause(lookMs, stop);
  }
}

function progressOf({ state, step, unit, done, total, problem }: Work): string {
  const counted = total === null ? String(done) : `${String(done)} of ${String(total)}`;
  const doing = step === null ? state : unit === null ? step : `${step}: ${counted} ${unit}`;
  return problem === null ? doing : `${doing}; ${problem}`;
}

function refused(found: string, remedy: string): IndexerError {
  return new IndexerError(found, { code: 'WIDEN_REFUSED', remedy });
}
