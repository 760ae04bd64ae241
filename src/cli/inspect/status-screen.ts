/** Formats the status document as one screen of text for `status --watch`. Missing values are omitted. Pure. */
import { aligned, fixed } from '../command-line/aligned.ts';

type Document = Readonly<Record<string, unknown>>;

/** Assumed width of a terminal of unknown width. */
const usualColumns = 80;
const oldAfterSeconds = 10;
/** States in which values about the ledger are current. */
const following: readonly unknown[] = ['live', 'idle', 'catching_up', 'seeding'];

/**
 * The lines of the screen, each truncated to `columns`.
 * @param status the document of `/status`, or the facts from the database
 * @param columns width of the terminal, as reported
 */
export function statusScreen(status: object, columns?: number): readonly string[] {
  const width = columns === undefined || columns <= 0 ? usualColumns : columns;
  const document = status as Document;
  const rows: (readonly [string, string | undefined])[] = [
    ['source', text(document['source'])],
    ['state', text(document['state'])],
    ['reason', text(document['reason'])],
    ['what to do', text(document['remedy'])],
    ['why', text(part(document['delay'], 'message'))],
    ['checkpoint', number(document['checkpoint'])],
    ['ledger end', number(document['ledgerEnd'])],
    ['behind', behind(document)],
    ['seed', seed(document)],
    ['catching up', catchUp(document['catchUp'])],
    ['rates', rates(document)],
    ['interfaces', interfaces(document)],
    ...jobs(document['jobs']),
    ['last error', lastError(document['lastError'])],
    ['participant', text(document['participantId'])],
    ['schema', text(document['schema'])],
  ];
  const cells = rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const lines = aligned(cells, { gap: 1, columns: [fixed(12)] });
  return ['ledger-indexer status', '', ...lines, '', 'press Ctrl-C to exit'].map((line) => cut(line, width));
}

function cut(line: string, columns: number): string {
  const flat = line.replaceAll(/\s*\n\s*/g, ' ');
  return flat.length > columns ? `${flat.slice(0, Math.max(1, columns - 1))}…` : flat;
}

function part(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Document)[name] : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function number(value: unknown): string | undefined {
  return typeof value === 'number' ? value.toLocaleString('en-US') : undefined;
}

function behind(document: Document): string | undefined {
  const distance = number(document['offsetsBehind']);
  const lag = number(document['lagSeconds']);
  if (distance === undefined) return undefined;
  const age = document['ledgerEndAgeSeconds'];
  if (typeof age === 'number' && age > oldAfterSeconds && !following.includes(document['state']))
    return `${distance} offsets ${age.toFixed(0)} s ago, unknown since then`;
  return `${distance} offsets${lag === undefined ? '' : `, newest record time ${lag} s old`}`;
}

function seed(document: Document): string | undefined {
  const contracts = number(part(document['seed'], 'contracts'));
  if (contracts === undefined) return undefined;
  const at = number(part(document['seed'], 'offset')) ?? '?';
  if (part(document['seed'], 'done') === true) return `${contracts} contracts at offset ${at}, done`;
  return `${contracts} contracts at offset ${at}, ${number(document['seedContractsPerSecond']) ?? '0'}/s`;
}

function catchUp(value: unknown): string | undefined {
  const percent = part(value, 'percent');
  if (typeof percent !== 'number') return undefined;
  const eta = part(value, 'etaSeconds');
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
  const gathering = count('interfacesBackfilling');
  const waiting = count('interfacesWaiting');
  const parts = [
    ...(gathering > 0 ? [`backfilling views of ${String(gathering)}`] : []),
    ...(waiting > 0 ? [`${String(waiting)} unknown to the participant`] : []),
  ];
  return parts.length === 0 ? undefined : parts.join(', ');
}

/** One row for each unfinished job. */
function jobs(value: unknown): (readonly [string, string | undefined])[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [];
  return all
    .filter((job) => text(part(job, 'state')) !== 'done')
    .map((job) => {
      const percent = part(job, 'percent');
      const left = part(job, 'etaSeconds');
      const words = [
        [text(part(job, 'state')), text(part(job, 'step'))].filter((entry) => entry !== undefined).join(': '),
        typeof percent === 'number' ? `${percent.toFixed(1)} %` : undefined,
        typeof left === 'number' ? `${duration(left)} left` : undefined,
        text(part(job, 'problem')),
      ];
      return [text(part(job, 'name')) ?? 'job', words.filter((entry) => entry !== undefined).join(', ')];
    });
}

function lastError(value: unknown): string | undefined {
  const code = text(part(value, 'code'));
  return code === undefined
    ? undefined
    : `${text(part(value, 'at')) ?? ''} ${code}: ${text(part(value, 'message')) ?? ''}`;
}
