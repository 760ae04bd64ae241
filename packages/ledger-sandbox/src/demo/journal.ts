/**
 * The journal of a demo contains the beginning of its history, the number of steps, and the actions of clients between
 * the steps. When the journal is long, a snapshot replaces it, and a new generation without entries begins. Step
 * numbers continue. The number of steps is overwritten at a fixed position, so that traffic does not make the file
 * longer. It is written to disk before the counted update becomes visible.
 */
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { ClientAction } from '../ledger/client-action.ts';
import type { Hosting } from '../parties/parties.ts';
import type { PeriodStart } from './live-schedule.ts';
import { replaceFile } from './snapshot.ts';

/** Beginning of the history of a demo. */
export interface Beginning {
  readonly seed: number;
  /** End of the compressed month and beginning of the live traffic, microseconds since 1970. */
  readonly startAt: number;
  /** Length of the history before it. */
  readonly hours: number;
  /** Number of updates planned for the history, and maximum number of updates. */
  readonly planned: number;
  readonly most: number;
}

/** An action that happened after this many steps. */
export type Entry =
  | { readonly live: PeriodStart }
  | { readonly after: number; readonly hosting: Hosting & { readonly at: number } }
  | ({ readonly after: number } & ClientAction);

/** Contents of a journal. */
export interface JournalContents {
  readonly beginning: Beginning;
  /** Number of snapshots that replaced earlier generations of the journal. */
  readonly generation: number;
  readonly steps: number;
  readonly entries: readonly Entry[];
}

/** Changed whenever the same beginning would no longer produce the same history. */
const version = 6;
const countDigits = 12;

function headLine(steps: number): string {
  return `{"demo":${version},"steps":"${String(steps).padStart(countDigits)}"}\n`;
}

/** Contents of the file; undefined if there is none, or one of another version. */
export function readJournal(file: string): JournalContents | undefined {
  if (!existsSync(file)) return undefined;
  const text = readFileSync(file, 'utf8');
  const completeLines = text.slice(0, text.lastIndexOf('\n') + 1);
  // A line that a crash has truncated was never visible to a client.
  if (completeLines.length < text.length) writeFileSync(file, completeLines);
  const [head = '', firstLine = '', ...entryLines] = completeLines.split('\n').filter((line) => line !== '');
  if (!head.startsWith(`{"demo":${version},`) || firstLine === '') return undefined;
  const { steps } = JSON.parse(head) as { steps: string };
  const entries = entryLines.map((line) => JSON.parse(line) as Entry);
  const { generation, ...storedBeginning } = JSON.parse(firstLine) as Beginning & { readonly generation: number };
  return { beginning: storedBeginning, generation, steps: Number(steps), entries };
}

/** Writes a journal. If there is no file, nothing is kept. */
export class Journal {
  readonly #file: string | undefined;
  #count: number | undefined;
  #entries: number;

  /** @param entries number of entries in the file */
  constructor(file: string | undefined, entries = 0) {
    this.#file = file;
    this.#entries = entries;
  }

  /** Number of entries of this generation. */
  get entries(): number {
    return this.#entries;
  }

  /** Starts a generation with a new file, which replaces the old one if there is one. */
  begin(firstLine: Beginning, generation: number, steps: number): void {
    this.#entries = 0;
    if (this.#file === undefined) return;
    this.close();
    mkdirSync(dirname(this.#file), { recursive: true });
    replaceFile(this.#file, [`${headLine(steps)}${JSON.stringify({ ...firstLine, generation })}\n`]);
  }

  /** Records the number of steps before they are made. */
  count(steps: number): void {
    if (this.#file === undefined) return;
    this.#count ??= openSync(this.#file, 'r+');
    writeSync(this.#count, headLine(steps), 0);
  }

  write(entry: Entry): void {
    this.#entries += 1;
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
  }

  close(): void {
    if (this.#count !== undefined) closeSync(this.#count);
    this.#count = undefined;
  }
}
