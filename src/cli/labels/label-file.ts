/** Reads label files: labels of parties, and names of instruments. A file with any problem is refused completely. */
import { IndexerError } from '../../errors/indexer-error.ts';
import { partyId, partyIdExpected } from '../../config/party-id.ts';
import { readSmallFile, unreadableReason } from '../../config/small-file.ts';
import type { InstrumentLabel, LabelSet, PartyLabel } from '../../store/labels/labels.ts';
import { csvRecords, jsonRecords, type FileRecord, type LineProblem } from './records.ts';

const partyColumns = ['party', 'label', 'dso'] as const;
const instrumentColumns = ['admin', 'instrument_id', 'name', 'symbol', 'decimals'] as const;
const columns = [...partyColumns, ...instrumentColumns, 'note'] as const;
type Column = (typeof columns)[number];

const maxLengths: Readonly<Partial<Record<Column, number>>> = {
  label: 100,
  name: 100,
  symbol: 20,
  note: 500,
  instrument_id: 1000,
};
const maxRecords = 100_000;
const maxMiB = 32;
const maxListedProblems = 100;

/** Characters that can control a terminal, or that hide or reorder text; all spaces except the plain one. */
const unsafeCharacters = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/u;

/**
 * The labels in a file, CSV or JSON.
 * @throws IndexerError LABELS_REFUSED with all problems and their lines; the message has nothing of the contents
 */
export async function readLabelFile(path: string): Promise<LabelSet> {
  let text: string;
  try {
    text = await readSmallFile(path, maxMiB);
  } catch (error) {
    throw new IndexerError(`the label file cannot be read: ${unreadableReason(error)}`, {
      code: 'LABELS_REFUSED',
      remedy: `name a regular file of at most ${String(maxMiB)} MiB`,
    });
  }
  return parseLabels(text, /\.json[l]?$/i.test(path) ? 'json' : 'csv');
}

/** @throws IndexerError LABELS_REFUSED as {@link readLabelFile} */
export function parseLabels(text: string, format: 'csv' | 'json'): LabelSet {
  const { records, problems } = format === 'json' ? jsonRecords(text, columns) : csvRecords(text, columns);
  const check = new LabelCheck(problems);
  for (const record of records) check.add(record);
  return check.result();
}

class LabelCheck {
  readonly #problems: LineProblem[];
  readonly #parties = new Map<string, PartyLabel>();
  readonly #instruments = new Map<string, InstrumentLabel>();
  readonly #lines = new Map<string, number>();
  #dsoLine: number | undefined;

  constructor(problems: readonly LineProblem[]) {
    this.#problems = [...problems];
  }

  add(record: FileRecord): void {
    const { line, values } = record;
    const [isParty, isInstrument] = [partyColumns, instrumentColumns].map((names) =>
      names.some((name) => values.has(name)),
    );
    if (isParty === isInstrument) {
      this.#problem(line, 'expected either party and label, or admin, instrument_id and name');
    } else if (isParty) this.#addParty(record);
    else this.#addInstrument(record);
  }

  result(): LabelSet {
    const count = this.#parties.size + this.#instruments.size;
    if (this.#problems.length === 0 && count === 0) this.#problem(1, 'there are no labels');
    if (count > maxRecords) this.#problem(1, `more than ${String(maxRecords)} labels`);
    if (this.#problems.length > 0) throw refusedError(this.#problems);
    return { parties: [...this.#parties.values()], instruments: [...this.#instruments.values()] };
  }

  #problem(line: number, problem: string): void {
    this.#problems.push({ line, problem });
  }

  #addParty(record: FileRecord): void {
    const { line, values } = record;
    const [party, label] = [this.#party(record, 'party'), this.#text(record, 'label', true)];
    const note = this.#text(record, 'note', false);
    const dso = values.get('dso') ?? 'false';
    if (dso !== 'true' && dso !== 'false') this.#problem(line, 'dso has to be true or false');
    if (dso === 'true') {
      if (this.#dsoLine !== undefined) this.#problem(line, `line ${String(this.#dsoLine)} names the DSO already`);
      this.#dsoLine ??= line;
    }
    if (!this.#isNew(line, `party ${party ?? ''}`, 'party')) return;
    this.#parties.set(party ?? '', { party: party ?? '', label: label ?? '', note, isDso: dso === 'true' });
  }

  #addInstrument(record: FileRecord): void {
    const { line, values } = record;
    const admin = this.#party(record, 'admin') ?? '';
    const instrumentId = this.#text(record, 'instrument_id', true) ?? '';
    const name = this.#text(record, 'name', true) ?? '';
    const [symbol, note] = [this.#text(record, 'symbol', false), this.#text(record, 'note', false)];
    const decimals = values.get('decimals');
    if (decimals !== undefined && !/^(?:[12]?\d|3[0-8])$/.test(decimals)) {
      this.#problem(line, 'decimals has to be a number from 0 to 38');
    }
    const key = JSON.stringify([admin, instrumentId]);
    if (!this.#isNew(line, `instrument ${key}`, 'instrument')) return;
    const digits = decimals === undefined ? null : Number(decimals);
    this.#instruments.set(key, { admin, instrumentId, name, symbol, decimals: digits, note });
  }

  #isNew(line: number, key: string, subject: string): boolean {
    const earlierLine = this.#lines.get(key);
    if (earlierLine === undefined) this.#lines.set(key, line);
    else this.#problem(line, `the ${subject} of line ${String(earlierLine)} again`);
    return earlierLine === undefined;
  }

  #party({ line, values }: FileRecord, column: 'party' | 'admin'): string | undefined {
    const value = values.get(column);
    if (value === undefined || !partyId.test(value)) this.#problem(line, `expected ${column} to be ${partyIdExpected}`);
    return value;
  }

  #text({ line, values }: FileRecord, column: Column, isRequired: boolean): string | null {
    const value = values.get(column);
    const most = maxLengths[column] ?? 100;
    if (value === undefined) {
      if (isRequired) this.#problem(line, `${column} is missing`);
      return null;
    }
    if (Array.from(value).length > most) this.#problem(line, `${column} is longer than ${String(most)} characters`);
    if (value !== value.trim()) this.#problem(line, `${column} begins or ends with a space`);
    if (unsafeCharacters.test(value))
      this.#problem(line, `${column} has a control character, or one that is not visible`);
    return value;
  }
}

function refusedError(problems: readonly LineProblem[]): IndexerError {
  const sorted = [...problems].sort((one, other) => one.line - other.line);
  const lines = sorted.slice(0, maxListedProblems).map(({ line, problem }) => `  line ${String(line)}: ${problem}`);
  const rest = sorted.length - lines.length;
  const head =
    sorted.length === 1 ? 'the label file has a problem' : `the label file has ${String(sorted.length)} problems`;
  const text = [`${head}, nothing was changed`, ...lines, ...(rest > 0 ? [`  and ${String(rest)} more`] : [])].join(
    '\n',
  );
  return new IndexerError(text, {
    code: 'LABELS_REFUSED',
    remedy: 'correct the listed lines, and load the file again',
  });
}
