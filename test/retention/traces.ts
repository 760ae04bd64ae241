/** Creates contents that contain a unique text, and searches for them in all relations of a schema. */
import { Client } from 'pg';
import { readSchemas } from '../../src/store/connection/read-schemas.ts';
import { created, exercised, viewed, type JsonRecord } from '../support/frames.ts';

const mark = (id: string): string => `SECRET-${id}`;

/** A created event whose contents all contain the contract id. The second interface view failed, with a message. */
export function secretEvent(id: string, change: JsonRecord = {}): JsonRecord {
  const otherTemplate = `${'cd'.repeat(32)}:Holding:Other`;
  return created({
    contractId: id,
    createArgument: { secret: mark(id) },
    contractKey: { secret: mark(id) },
    contractKeyHash: 'aGFzaA==',
    createdEventBlob: Buffer.from(mark(id)).toString('base64'),
    interfaceViews: [
      {
        interfaceId: viewed,
        viewStatus: { code: 0, message: '', details: [] },
        viewValue: { secret: mark(id) },
        implementationPackageId: 'ab'.repeat(32),
      },
      {
        interfaceId: otherTemplate,
        viewStatus: { code: 9, message: mark(id), details: [{ secret: mark(id) }] },
        viewValue: null,
        implementationPackageId: 'ab'.repeat(32),
      },
    ],
    ...change,
  });
}

export function secretExercise(id: string, change: JsonRecord = {}): JsonRecord {
  const exerciseFields = { choiceArgument: { secret: mark(id) }, exerciseResult: { secret: mark(id) } };
  return exercised({ contractId: id, ...exerciseFields, ...change });
}

/** Tables and views that have contents of the contract, such as `contracts`, `explore.events` or `reseed.contracts`. */
export async function tracesOf(url: string, schemaName: string, id: string): Promise<readonly string[]> {
  const schemas = [...Object.values(readSchemas(schemaName)), `${schemaName}_reseed`];
  const forms = [mark(id), Buffer.from(mark(id)).toString('base64'), Buffer.from(mark(id)).toString('hex')];
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: relations } = await client.query<{ name: string }>(
      `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = any ($1) and c.relkind in ('r', 'v', 'm', 'p') order by 1`,
      [schemas],
    );
    const traceNames: string[] = [];
    for (const { name } of relations) {
      const { rows } = await client.query<{ found: boolean }>(
        `select exists (select from ${name} t, unnest($1::text[]) form where strpos(t::text, form) > 0) as found`,
        [forms],
      );
      if (rows[0]?.found === true) traceNames.push(name.slice(schemaName.length + 1));
    }
    return traceNames;
  } finally {
    await client.end();
  }
}
