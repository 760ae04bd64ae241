/**
 * Tests the triggers that limit what the redactor may change. On Citus, only tables on the coordinator have these
 * triggers.
 */
import { expect, it } from 'vitest';
import { needs } from '../support/skips/needs.ts';
import { citusPlace, citusUrl, citusSkipReason, takeTurn } from './places.ts';

takeTurn();

it(
  'the triggers on stream and redactions exist on Citus and reject stream updates by other roles',
  needs(citusSkipReason),
  async () => {
    await using citusSchema = await citusPlace(citusUrl ?? '', 'citus_guards', 4);
    const guards = await citusSchema.query(
      `select c.relname || ': ' || g.tgname as guard from pg_trigger g join pg_class c on c.oid = g.tgrelid
      where c.relnamespace = 'citus_guards'::regnamespace and not g.tgisinternal order by 1`,
    );
    expect(guards.map(({ guard }) => guard)).toEqual([
      'redactions: own_redaction',
      'stream: filter_before_history',
      'stream: next_epoch',
      'stream: pruned_to_offset_in_history',
    ]);
    await citusSchema.query('drop role if exists citus_redactor');
    await citusSchema.query('create role citus_redactor');
    try {
      await citusSchema.query(
        `grant usage on schema citus_guards to citus_redactor; grant select, update on stream to citus_redactor;
       grant select on retention_holds to citus_redactor`,
      );
      for (const change of ['pruned_to_offset = 9223372036854775807', 'epoch = epoch + 2']) {
        const refusedQuery = citusSchema.query(`set role citus_redactor; update stream set ${change}`);
        await expect(refusedQuery, change).rejects.toMatchObject({ code: '42501' });
        await citusSchema.query('reset role');
      }
    } finally {
      await citusSchema.query('reset role; drop owned by citus_redactor; drop role citus_redactor');
    }
  },
);
