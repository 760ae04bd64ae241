/**
 * Reads packages from real compilers: archives with changed bytes, the columns of payloads, and fields that payloads
 * omit.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { omittedFieldsOf } from '../../src/daml/optional-fields.ts';
import { columnsOf, type PayloadColumn } from '../../src/daml/payload-columns.ts';
import { expectProperty } from '../support/chance/property.ts';
import { needs } from '../support/skips/needs.ts';
import { archivesOf, darsSkipReason, payloadIn, readDar } from './dars.ts';
import { lookup } from './models.ts';
import { attempt, mutate, mutation } from './mutated-archives.ts';

/** `name type path` of each column. */
function summarizeColumns(columns: readonly PayloadColumn[]): readonly string[] {
  return columns.map((column) => `${column.name} ${column.type} ${column.path.join('.')}`);
}

describe('the package reader with compiled packages', needs(darsSkipReason), () => {
  it('reads or rejects compiled packages with changed bytes', () => {
    const archives = [...archivesOf('richtypes.dar').values()].filter(({ length }) => length < 100_000);
    expectProperty(
      fc.property(fc.constantFrom(...archives), mutation, (originalArchive, change) => {
        attempt(mutate(payloadIn(originalArchive), change));
        attempt(mutate(originalArchive, change));
      }),
      500,
    );
  });

  it('derives a column of the right type for every field of richtypes', () => {
    const { main, packages } = readDar('richtypes.dar', 'richtypes');
    expect(summarizeColumns(columnsOf(`${main.packageId}:RichTypes:RichRecord`, packages))).toEqual([
      'owner text owner',
      'count bigint count',
      'amount numeric amount',
      'label text label',
      'active boolean active',
      'as_of date asOf',
      'observed_at timestamptz observedAt',
      'note text note',
      'tags jsonb tags',
      'attributes jsonb attributes',
      'marker text marker',
      'profile_nickname text profile.nickname',
      'profile_level bigint profile.level',
      'outcome_tag text outcome.tag',
      'outcome jsonb outcome',
      'fee numeric fee',
    ]);
  });

  it('splits the view of Holding into columns, also with types of other packages', () => {
    const { main, packages } = readDar('splice-api-token-holding-v1-1.0.0.dar', 'splice-api-token-holding-v1');
    const columns = columnsOf(`${main.packageId}:Splice.Api.Token.HoldingV1:HoldingView`, packages);
    expect(summarizeColumns(columns)).toEqual([
      'owner text owner',
      'instrument_id_admin text instrumentId.admin',
      'instrument_id_id text instrumentId.id',
      'amount numeric amount',
      'lock_holders jsonb lock.holders',
      'lock_expires_at timestamptz lock.expiresAt',
      'lock_expires_after interval lock.expiresAfter.microseconds',
      'lock_context text lock.context',
      'meta_values jsonb meta.values',
    ]);
    expect(columns.map(({ description }) => description).slice(4, 8)).toEqual([
      'lock.holders: [Party]',
      'lock.expiresAt: Optional Time',
      'lock.expiresAfter: Optional DA.Time.Types:RelTime',
      'lock.context: Optional Text',
    ]);
  });

  it('derives one column for a record of an unknown package', () => {
    const { main } = readDar('splice-api-token-holding-v1-1.0.0.dar', 'splice-api-token-holding-v1');
    const columns = columnsOf(`${main.packageId}:Splice.Api.Token.HoldingV1:HoldingView`, lookup(main));
    expect(summarizeColumns(columns).slice(6)).toEqual([
      'lock_expires_after jsonb lock.expiresAfter',
      'lock_context text lock.context',
      'meta jsonb meta',
    ]);
  });

  it('finds omitted fields in the lock of a Holding, and none in the Holding', () => {
    const { main, packages } = readDar('splice-api-token-holding-v1-1.0.0.dar', 'splice-api-token-holding-v1');
    expect(omittedFieldsOf(`${main.packageId}:Splice.Api.Token.HoldingV1:HoldingView`, packages)).toEqual({
      nulls: {},
      fields: { lock: { nulls: { expiresAt: null, expiresAfter: null, context: null } } },
    });
  });

  it('finds no omitted fields in richtypes', () => {
    const { main, packages } = readDar('richtypes.dar', 'richtypes');
    expect(omittedFieldsOf(`${main.packageId}:RichTypes:RichRecord`, packages)).toBeUndefined();
  });
});
