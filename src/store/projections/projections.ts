/**
 * The projections: views whose rows are stored by ranges of offsets, so that a question about years of history reads
 * stored rows. Each has a table named `projected_` and the name of the view.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { escapeIdentifier } from 'pg';
import { projectionNames, type ProjectionName } from '../../model/stream.ts';
import { readSchemas } from '../connection/read-schemas.ts';

export interface Projection {
  /** Name of the view in schema `explore`. */
  readonly name: ProjectionName;
  /** Name of its table. */
  readonly table: string;
  /**
   * SQL: computes the rows after `$1` and up to and including `$2`, where null is no limit. The columns are those of
   * the table, in the same order.
   */
  readonly select: string;
  /** Hash of the SQL that the rows depend on. */
  readonly hash: string;
}

/** The function that computes each projection, and the files with the SQL that it depends on. */
const definitions: Readonly<Record<ProjectionName, { readonly call: string; readonly files: readonly string[] }>> = {
  token_changes: {
    call: 'token_changes_between(null, $1::bigint, $2::bigint)',
    files: ['50_tokens', '51_token_events', '52_token_changes'],
  },
  token_transfers: {
    call: 'token_transfers_between($1::bigint, $2::bigint)',
    files: ['50_tokens', '51_token_events', '52_token_changes', '53_token_transfers'],
  },
  amulet_transfers: {
    call: 'amulet_transfers_between($1::bigint, $2::bigint)',
    files: ['54_network', '58_amulet_transfers'],
  },
};

const directory = new URL('../../../migrations/read/', import.meta.url);

/** The built-in projections with their SQL. */
export async function builtInProjections(schema: string): Promise<readonly Projection[]> {
  const explore = escapeIdentifier(readSchemas(schema).explore);
  return Promise.all(
    projectionNames.map(async (name) => {
      const { call, files } = definitions[name];
      const texts = await Promise.all(files.map((file) => readFile(new URL(`${file}.sql`, directory), 'utf8')));
      const hash = createHash('sha256').update(texts.join('\n')).digest('hex');
      return { name, table: `projected_${name}`, select: `select * from ${explore}.${call}`, hash };
    }),
  );
}

/** A range of offsets. */
export interface ProjectedRange {
  /** Exclusive; null at the beginning of history. */
  readonly after: number | null;
  /** Inclusive. */
  readonly upTo: number;
}

/** SQL of the rows in a range. Limits are constants instead of parameters, because the plan has to fit the range. */
export function selectOfRange({ select }: Projection, { after, upTo }: ProjectedRange): string {
  return select.replace('$1', after === null ? 'null' : String(after)).replace('$2', String(upTo));
}
