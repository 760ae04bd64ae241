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
 * Reads all rows over the client's connection, including uncommitted rows of its transaction. @param only the relation
 * to compare; undefined for all relations
 */
export async function compare(client: Client, expectation: Expectation, only?: string): Promise<Comparison> {
  const selection = relations(expectation.offsets).filter(({ name }) => only === undefined || name === only);
  const { compared, all } = await compareRelations(client, expectation.rows, selection);
  const unplaced = expectation.unplaced.map((path) => `no place for ${path}`);
  return { recorded: expectation.leaves, compared, differences: [...unplaced, ...all] };
}

/** Compares only the rows of these relations. */
export async function compareRelations(client: Client, rows: Rows, selection: readonly Relation[]) {
  await client.query("set timezone to 'UTC'");
  const found = new Differences();
  for (const relation of selection)
    found.relation(relation, rows.of(relation.name), await readRelation(client, relation));
  return found;
}

class Differences {
  readonly all: string[] = [];
  compared = 0;

  add(sentence: string): void {
    this.all.push(sentence);
  }

  relation({ name, key }: Relation, recorded: readonly Row[], stored: readonly Row[]): void {
    const left = new Map<string, Row>();
    for (const row of stored) {
      if (left.has(keyOf(row, key))) this.add(`${name}: a row too many: ${keyOf(row, key)}`);
      left.set(keyOf(row, key), row);
    }
    for (const row of recorded) {
      const at = keyOf(row, key);
      const found = left.get(at);
      if (found === undefined) this.add(`${name}: a lost row: ${at}`);
      else this.#row(`${name} ${at}`, row, found);
      left.delete(at);
    }
    for (const at of left.keys()) this.add(`${name}: a row too many: ${at}`);
  }

  #row(where: string, recorded: Row, stored: Row): void {
    for (const column of new Set([...Object.keys(recorded), ...Object.keys(stored)])) {
      // A column without a recorded value must be empty.
      const expectedLeaves = new Map(leavesOf(recorded[column] ?? null));
      const found = new Map(leavesOf(stored[column] ?? null));
      for (const path of new Set([...expectedLeaves.keys(), ...found.keys()])) {
        this.compared += 1;
        const [expected, actual] = [expectedLeaves.get(path) ?? 'nothing', found.get(path) ?? 'nothing'];
        if (expected !== actual) this.add(`${where}: ${column}${path} is ${actual}, recorded was ${expected}`);
      }
    }
  }
}
