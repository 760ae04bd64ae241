/**
 * Reads of a history that is generated while it is read: a given number of tables, ranges and rows, without a database.
 */
import type { ReadColumn, ReadFacts, Reads, ReadTable } from '../../src/library/read.ts';

export interface GeneratedHistory {
  readonly tables: number;
  readonly ranges: number;
  /** Number of rows of each table in each range; one per offset. */
  readonly rows: number;
  /** Called when an export requests the end of its next range. */
  readonly onRange?: () => void;
}

const columns: readonly ReadColumn[] = [
  { name: 'offset', type: 'int64' },
  { name: 'contract_id', type: 'text' },
  { name: 'template_fqn', type: 'text' },
  { name: 'payload', type: 'text' },
];
const headerBytes = 19;
const payloadBytes = 300;

export function generatedReads({ tables, ranges, rows, onRange = () => undefined }: GeneratedHistory): Reads {
  const facts = factsOf(ranges * rows - 1);
  const describedTables = Array.from({ length: tables }, (_, index): ReadTable => {
    const name = index === 0 ? 'updates' : `typed.made_${String(index).padStart(3, '0')}`;
    return { name, columns, offset: 'offset', order: ['offset'] };
  });
  const sample = copyOf(rows);
  return {
    inSnapshot: async (callback) =>
      await callback({
        facts,
        tables: () => Promise.resolve(describedTables),
        rows: (_table, from, to) => readChunks(sample, from, to - from + 1),
        endOfRange: (afterOffset, untilOffset) => {
          onRange();
          return Promise.resolve(Math.min(afterOffset + rows, untilOffset));
        },
        redactions: () => Promise.resolve(undefined),
        epochAt: () => Promise.resolve(1),
      }),
  };
}

function factsOf(checkpoint: number): ReadFacts {
  return {
    participant: 'made',
    filterHash: 'made',
    shape: 'made',
    checkpoint,
    prunedToOffset: -1,
    coverage: [{ from: 0, to: null, origin: 'genesis', recordedAt: '2026-01-01T00:00:00.000000Z' }],
    interfacesFingerprint: '',
    unreadPackages: [],
    lateUpdates: [],
    redactionsFingerprint: '',
    prunedRedactionsFingerprint: '',
    redacted: { contracts: [], exercises: [], interface_views: [] },
    unhostedRange: undefined,
  };
}

interface Sample {
  readonly bytes: Buffer;
  /** For each row: the position of its offset, and its end. */
  readonly places: readonly { readonly offset: number; readonly end: number }[];
}

/** A binary COPY with this number of rows, whose offsets are filled in later. */
function copyOf(rows: number): Sample {
  const copyChunks: Buffer[] = [Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])];
  const rowRanges: { offset: number; end: number }[] = [];
  let position = headerBytes;
  for (let row = 0; row < rows; row += 1) {
    const texts = [idOf(row), `made:Module:Template${String(row % 7)}`, payloadOf(row)];
    const fields = [Buffer.alloc(8), ...texts.map((text) => Buffer.from(text))];
    const count = Buffer.alloc(2);
    count.writeInt16BE(fields.length);
    const bytes = Buffer.concat([count, ...fields.flatMap((field) => [lengthOf(field), field])]);
    copyChunks.push(bytes);
    rowRanges.push({ offset: position + 6, end: position + bytes.length });
    position += bytes.length;
  }
  return { bytes: Buffer.concat(copyChunks), places: rowRanges };
}

/** The first rows of the sample, with their offsets. */
async function* readChunks(
  { bytes, places: rowRanges }: Sample,
  from: number,
  rows: number,
): AsyncGenerator<Uint8Array> {
  const end = rowRanges[rows - 1]?.end ?? headerBytes;
  // A copy, because the reader of the chunk keeps views of it.
  const copy = Buffer.from(bytes.subarray(0, end));
  for (let row = 0; row < rows; row += 1) copy.writeBigInt64BE(BigInt(from + row), rowRanges[row]?.offset ?? 0);
  yield await Promise.resolve(copy);
  yield Buffer.from([0xff, 0xff]);
}

function lengthOf(field: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(field.length);
  return length;
}

/** An id of digits that do not repeat, like those of a hash. */
function idOf(row: number): string {
  let state = row + 1;
  let text = '00';
  while (text.length < 138) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    text += state.toString(16).padStart(8, '0');
  }
  return text.slice(0, 138);
}

function payloadOf(row: number): string {
  const start = `{"owner":"party-${idOf(row).slice(2, 34)}","amount":"${String(row)}.0000000000","note":"`;
  return `${start.padEnd(payloadBytes - 2, 'lorem ipsum ')}"}`;
}
