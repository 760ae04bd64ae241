/** Formats the status document as one screen of text for `status --watch`. Missing values are omitted. Pure. */
import { aligned, fixedWidthColumn } from '../command-line/aligned.ts';

type Document = Readonly<Record<string, unknown>>;

/** Assumed width of a terminal of unknown width. */
const defaultColumns = 80;
const staleAfterSeconds = 10;
/** States in which values about the ledger are current. */
const healthyStates: readonly unknown[] = ['live', 'idle', 'catching_up', 'seeding'];

/**
 * The lines of the screen, each truncated to `columns`.
 * @param status the document of `/status`, or the facts from the database
 * @param columns width of the terminal, as reported
 */
export function statusScreen(status: object, columns?: number): readonly string[] {
  const width = columns === undefined || columns <= 0 ? defaultColumns : columns;
  const document = status as Document;
  const rows: (readonly [string, string | undefined])[] = [
    ['source', text(document['source'])],
    ['state', text(document['state'])],
    ['reason', text(document['reason'])],
    ['what to do', text(document['remedy'])],
    ['why', text(fieldOf(document['delay'], 'message'))],
    ['checkpoint', number(document['checkpoint'])],
    ['ledger end', number(document['ledgerEnd'])],
    ['behind', lagText(document)],
    ['seed', seed(document)],
    ['catching up', catchUp(document['catchUp'])],
    ['rates', rates(document)],
    ['interfaces', interfaces(document)],
    ...jobs(document['jobs']),
    ...projections(document['projections']),
    ['last error', lastError(document['lastError'])],
    ['participant', text(document['participantId'])],
    ['schema', text(document['schema'])],
  ];
  const cells = rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const lines = aligned(cells, { gap: 1, columns: [fixedWidthColumn(12)] });
  return ['ledger-indexer status', '', ...lines, '', 'press Ctrl-C to exit'].map((line) => truncateLine(line, width));
}

function truncateLine(line: string, columns: number): string {
  const singleLine = line.replaceAll(/\s*\n\s*/g, ' ');
  return singleLine.length > columns ? `${singleLine.slice(0, Math.max(1, columns - 1))}…` : singleLine;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Document)[name] : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function number(value: unknown): string | undefined {
  return typeof value === 'number' ? value.toLocaleString('en-US') : undefined;
}

function lagText(document: Document): string | undefined {
  const offsetLag = number(document['offsetsBehind']);
  const lag = number(document['lagSeconds']);
  if (offsetLag === undefined) return undefined;
  const age = document['ledgerEndAgeSeconds'];
  if (typeof age === 'number' && age > staleAfterSeconds && !healthyStates.includes(document['state']))
    return `${offsetLag} offsets ${age.toFixed(0)} s ago, unknown since then`;
  return `${offsetLag} offsets${lag === undefined ? '' : `, newest record time ${lag} s old`}`;
}

function seed(document: Document): string | undefined {
  const contracts = number(fieldOf(document['seed'], 'contracts'));
  if (contracts === undefined) return undefined;
  const seedOffset = number(fieldOf(document['seed'], 'offset')) ?? '?';
  if (fieldOf(document['seed'], 'done') === true) return `${contracts} contracts at offset ${seedOffset}, done`;
  return `${contracts} contracts at offset ${seedOffset}, ${number(document['seedContractsPerSecond']) ?? '0'}/s`;
}

function catchUp(value: unknown): string | undefined {
  const percent = fieldOf(value, 'percent');
  if (typeof percent !== 'number') return undefined;
  const eta = fieldOf(value, 'etaSeconds');
  return `${percent.toFixed(1)} %, ${typeof eta === 'number' ? `${duration(eta)} left` : 'time left unknown'}`;
}

/** A duration in readable units. */
function duration(seconds: number): string {
  const roundedSeconds = Math.round(seconds);
  if (roundedSeconds < 60) return `${String(roundedSeconds)} s`;
  if (roundedSeconds < 3_600) return `${String(Math.floor(roundedSeconds / 60))} min ${String(roundedSeconds % 60)} s`;
  return `${String(Math.floor(roundedSeconds / 3_600))} h ${String(Math.floor((roundedSeconds % 3_600) / 60))} min`;
}

function rates(document: Document): string | undefined {
  const updates = number(document['updatesPerSecond']);
  const events = number(document['eventsPerSecond']);
  return updates === undefined || events === undefined ? undefined : `${updates} updates/s, ${events} events/s`;
}

/** How many of the requested interfaces are not followed yet; undefined if all of them are. */
function interfaces(document: Document): string | undefined {
  const count = (name: string): number => (Array.isArray(document[name]) ? document[name].length : 0);
  const backfillingText = count('interfacesBackfilling');
  const waitingText = count('interfacesWaiting');
  const parts = [
    ...(backfillingText > 0 ? [`backfilling views of ${String(backfillingText)}`] : []),
    ...(waitingText > 0 ? [`${String(waitingText)} unknown to the participant`] : []),
  ];
  return parts.length === 0 ? undefined : parts.join(', ');
}

/** One row for each unfinished job. */
function jobs(value: unknown): (readonly [string, string | undefined])[] {
  const entries: readonly unknown[] = Array.isArray(value) ? value : [];
  return entries
    .filter((job) => text(fieldOf(job, 'state')) !== 'done')
    .map((job) => {
      const percent = fieldOf(job, 'percent');
      const secondsLeft = fieldOf(job, 'etaSeconds');
      const stateWords = [
        [text(fieldOf(job, 'state')), text(fieldOf(job, 'step'))].filter((entry) => entry !== undefined).join(': '),
        typeof percent === 'number' ? `${percent.toFixed(1)} %` : undefined,
        typeof secondsLeft === 'number' ? `${duration(secondsLeft)} left` : undefined,
        text(fieldOf(job, 'problem')),
      ];
      return [text(fieldOf(job, 'name')) ?? 'job', stateWords.filter((entry) => entry !== undefined).join(', ')];
    });
}

/** One row for each projection with a problem. */
function projections(value: unknown): (readonly [string, string | undefined])[] {
  const entries: readonly unknown[] = Array.isArray(value) ? value : [];
  return entries.flatMap((projection) => {
    const problem = fieldOf(projection, 'problem');
    const message = text(fieldOf(problem, 'message'));
    if (message === undefined) return [];
    const words = `${text(fieldOf(problem, 'code')) ?? ''}: ${message}; ${text(fieldOf(problem, 'remedy')) ?? ''}`;
    return [[text(fieldOf(projection, 'name')) ?? 'projection', words] as const];
  });
}

function lastError(value: unknown): string | undefined {
  const code = text(fieldOf(value, 'code'));
  return code === undefined
    ? undefined
    : `${text(fieldOf(value, 'at')) ?? ''} ${code}: ${text(fieldOf(value, 'message')) ?? ''}`;
}
