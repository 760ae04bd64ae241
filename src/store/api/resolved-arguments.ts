/** Resolves times to offsets, and short names to complete ones, before a statement is built. */
import { escapeIdentifier, type ClientBase } from 'pg';
import type { ApiArguments, ApiValue } from '../../model/push/read-api.ts';
import type { RowsRoute } from './route.ts';

interface Schemas {
  readonly storage: string;
  readonly explore: string;
}

/** @throws DatabaseError if a position has no known state, or if a name is unknown or ambiguous */
export async function resolved(
  { knownPositions = [], resolvedNames = [] }: RowsRoute,
  args: ApiArguments,
  client: ClientBase,
  schemas: Schemas,
): Promise<ApiArguments> {
  const changes: Record<string, ApiValue> = {};
  for (const name of knownPositions) {
    const position = args[name];
    if (typeof position === 'object') changes[name] = { offset: await knownOffset(client, schemas, position) };
  }
  for (const name of resolvedNames) {
    const given = args[name];
    if (typeof given === 'string') changes[name] = await completeName(client, schemas, given);
  }
  return { ...args, ...changes };
}

async function knownOffset(
  client: ClientBase,
  { explore }: Schemas,
  position: Extract<ApiValue, object>,
): Promise<number> {
  const [value, type] = 'offset' in position ? [position.offset, 'bigint'] : [position.time, 'timestamptz'];
  const { rows } = await client.query<{ known: number }>(
    `select ${escapeIdentifier(explore)}.known_offset($1::${type}) as known`,
    [value],
  );
  return rows[0]?.known ?? 0;
}

/** The complete name. A name that only packages define is returned as it is, because no row has it. */
async function completeName(client: ClientBase, { storage, explore }: Schemas, name: string): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    `select ${escapeIdentifier(explore)}.fqn(coalesce(t.package_name, p.package_name, t.package_id), t.module_name, t.entity_name) as name
       from ${escapeIdentifier(storage)}.templates t left join ${escapeIdentifier(storage)}.packages p on p.package_id = t.package_id
      where t.template_pk = any ((select ${escapeIdentifier(explore)}.template_pks($1))::integer[]) limit 1`,
    [name],
  );
  return rows[0]?.name ?? name.replace(/^#/, '');
}
