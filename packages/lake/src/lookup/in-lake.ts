/** Finds rows that a redaction covers and that exist only in the lake, in the files of pruned ranges. */
import type { Reads } from 'ledger-indexer/read';
import { readManifest } from '../manifest/read-manifest.ts';
import type { LakeColumn, LakeValues } from '../parquet/lake-column.ts';
import { storedRows } from '../parquet/parquet-rows.ts';
import type { LakeStorage } from '../storage/lake-storage.ts';

/** Subject of a redaction. */
export type Subject =
  | { readonly kind: 'contract'; readonly contractId: string }
  | { readonly kind: 'party'; readonly party: string }
  | { readonly kind: 'exercise'; readonly offset: number; readonly nodeId: number };

/** Rows found in the files of pruned ranges. */
export interface FoundInLake {
  readonly contracts: readonly string[];
  readonly exercise?: { readonly updateId: string | null };
}

/** @throws LakeError EXPORT_REFUSED if there is no lake of this database; errors of the snapshot */
export async function findInLake(databaseReads: Reads, folder: LakeStorage, subject: Subject): Promise<FoundInLake> {
  const files = await databaseReads.inSnapshot(async ({ facts }) => {
    const manifest = await readManifest(folder, facts);
    return [...manifest.files()].flatMap(({ path, ...file }) =>
      path !== null && file.from <= facts.prunedToOffset ? [{ ...file, path }] : [],
    );
  });
  const rowsOf = async function* (table: string, columns: readonly LakeColumn[], at?: number) {
    for (const file of files) {
      if (file.table !== table || (at !== undefined && (at < file.from || at > file.to))) continue;
      for await (const { values, rows } of storedRows(folder, file, columns)) {
        for (let row = 0; row < rows; row += 1) yield values.map((column) => column[row] ?? null);
      }
    }
  };
  if (subject.kind === 'exercise') {
    const { offset, nodeId } = subject;
    const isExported = await hasRow(
      rowsOf('exercises', nodeColumns, offset),
      ([at, node]) => Number(at) === offset && node === nodeId,
    );
    if (!isExported) return { contracts: [] };
    for await (const [at, id] of rowsOf('updates', updateIds, offset)) {
      if (Number(at) === offset) return { contracts: [], exercise: { updateId: textOf(id) } };
    }
    return { contracts: [], exercise: { updateId: null } };
  }
  const contracts = new Set<string>();
  for await (const [id, signatories, observers] of rowsOf('contracts', stakeholders)) {
    const contractId = textOf(id) ?? '';
    const isSubject =
      subject.kind === 'contract'
        ? contractId === subject.contractId
        : [signatories, observers].some(names(subject.party));
    if (isSubject) contracts.add(contractId);
  }
  return { contracts: [...contracts] };
}

const nodeColumns: readonly LakeColumn[] = [
  { name: 'offset', type: 'int64' },
  { name: 'node_id', type: 'int32' },
];
const updateIds: readonly LakeColumn[] = [
  { name: 'offset', type: 'int64' },
  { name: 'update_id', type: 'text' },
];
const stakeholders: readonly LakeColumn[] = [
  { name: 'contract_id', type: 'text' },
  { name: 'signatories', type: 'texts' },
  { name: 'observers', type: 'texts' },
];

type Value = LakeValues[number];

function names(party: string): (parties: Value | undefined) => boolean {
  return (parties) => Array.isArray(parties) && parties.includes(party);
}

async function hasRow<T>(rows: AsyncIterable<T>, matches: (row: T) => boolean): Promise<boolean> {
  for await (const row of rows) if (matches(row)) return true;
  return false;
}

function textOf(value: Value | undefined): string | null {
  if (value === null || value === undefined) return null;
  return value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);
}
