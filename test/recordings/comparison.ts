/** Compares the stored rows with the recording, row by row and leaf by leaf, in both directions. */
import type { Client } from 'pg';
import { leavesOf } from './json.ts';
import type { Expectation } from './expectation.ts';
import { keyOf, type Row, type Rows } from './rows.ts';
import { readRelation, relations, type Relation } from './stored.ts';

export interface Comparison {
  /** Number of leaves of the frames that are in a row. */
  readonly recorded: number;
  /** Number of values compared in tables and views. */
  readonly compared: number;
  /** Differences as sentences; empty if all rows equal the recording. */
  readonly differences: readonly string[];
}

/**
 * Reads all rows over the client's connection, including uncommitted rows of its transaction. @param onlyTable the relation
 * to compare; undefined for all relations
 */
export async function compare(client: Client, expectation: Expectation, onlyTable?: string): Promise<Comparison> {
  const selection = relations(expectation.offsets).filter(({ name }) => onlyTable === undefined || name === onlyTable);
  const { compared: comparedCount, all: differenceTexts } = await compareRelations(client, expectation.rows, selection);
  const unplacedProblems = expectation.unplaced.map((path) => `no place for ${path}`);
  return {
    recorded: expectation.leaves,
    compared: comparedCount,
    differences: [...unplacedProblems, ...differenceTexts],
  };
}

/** Compares only the rows of these relations. */
export async function compareRelations(client: Client, rows: Rows, selection: readonly Relation[]) {
  await client.query("set timezone to 'UTC'");
  const allDifferences = new Differences();
  for (const relation of selection)
    allDifferences.relation(relation, rows.of(relation.name), await readRelation(client, relation));
  return allDifferences;
}

class Differences {
  readonly all: string[] = [];
  compared = 0;

  add(sentence: string): void {
    this.all.push(sentence);
  }

  relation({ name, key }: Relation, recordedRows: readonly Row[], storedRows: readonly Row[]): void {
    const remainingRows = new Map<string, Row>();
    for (const row of storedRows) {
      if (remainingRows.has(keyOf(row, key))) this.add(`${name}: a row too many: ${keyOf(row, key)}`);
      remainingRows.set(keyOf(row, key), row);
    }
    for (const row of recordedRows) {
      const rowKey = keyOf(row, key);
      const storedRow = remainingRows.get(rowKey);
      if (storedRow === undefined) this.add(`${name}: a lost row: ${rowKey}`);
      else this.#row(`${name} ${rowKey}`, row, storedRow);
      remainingRows.delete(rowKey);
    }
    for (const rowKey of remainingRows.keys()) this.add(`${name}: a row too many: ${rowKey}`);
  }

  #row(rowName: string, recordedRow: Row, storedRow: Row): void {
    for (const column of new Set([...Object.keys(recordedRow), ...Object.keys(storedRow)])) {
      // A column without a recorded value must be empty.
      const expectedLeaves = new Map(leavesOf(recordedRow[column] ?? null));
      const leavesFound = new Map(leavesOf(storedRow[column] ?? null));
      for (const path of new Set([...expectedLeaves.keys(), ...leavesFound.keys()])) {
        this.compared += 1;
        const [expected, actual] = [expectedLeaves.get(path) ?? 'nothing', leavesFound.get(path) ?? 'nothing'];
        if (expected !== actual) this.add(`${rowName}: ${column}${path} is ${actual}, recorded was ${expected}`);
      }
    }
  }
}
