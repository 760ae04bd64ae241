/** Reads packages that other compilers have written. */
import { describe, expect, it } from 'vitest';
import { IndexerError } from '../../src/errors/indexer-error.ts';
import { readPackageArchive } from '../../src/daml/package-archive.ts';
import type { DamlType } from '../../src/daml/package-model.ts';
import { needs } from '../support/skips/needs.ts';
import { archivesOf, darNames, darsSkipReason, payloadIn, readDar } from './dars.ts';
import { fieldsOf } from './models.ts';

const text: DamlType = { kind: 'builtin', name: 'text' };
const party: DamlType = { kind: 'builtin', name: 'party' };
const time: DamlType = { kind: 'builtin', name: 'timestamp' };
const unit: DamlType = { kind: 'builtin', name: 'unit' };
const int64: DamlType = { kind: 'builtin', name: 'int64' };
const namedType = (name: string, ...args: readonly DamlType[]): DamlType => ({ kind: 'named', name, arguments: args });
const optional = (innerType: DamlType): DamlType => ({ kind: 'optional', of: innerType });
const numeric = (scale: number): DamlType => ({ kind: 'numeric', scale });
const templateLibrary = '9e70a8b3510d617f8a136213f33d6a903a10ca0eeec76bb06ba55d1ed9680f69';
const timeLibrary = 'b70db8369e1c461d5c70f1c86f526a29e9776c655e6ffc2560f95b05ccb8b946';
const archive = {
  name: 'Archive',
  consuming: true,
  argument: namedType(`${templateLibrary}:DA.Internal.Template:Archive`),
  result: unit,
};

function failure(readValue: () => unknown): IndexerError {
  try {
    readValue();
  } catch (error) {
    if (error instanceof IndexerError) return error;
    throw error;
  }
  throw new Error('it was read');
}

describe('the package reader with compiled packages', needs(darsSkipReason), () => {
  it.each(darNames())('reads all packages of %s, with or without their envelope', (dar) => {
    for (const [file, bytes] of archivesOf(dar)) {
      const model = readPackageArchive(bytes);
      expect(file).toContain(model.packageId);
      expect(model.languageVersion).toMatch(/^2\.[12]$/);
      expect(JSON.parse(JSON.stringify(model))).toEqual(model);
      expect(readPackageArchive(payloadIn(bytes), model.packageId)).toEqual(model);
    }
  });

  it('rejects an archive whose payload was changed', () => {
    const changedBytes = Uint8Array.from([...archivesOf('richtypes.dar').values()][0] ?? []);
    changedBytes[1000] = (changedBytes[1000] ?? 0) ^ 1;
    const error = failure(() => readPackageArchive(changedBytes));
    expect(error.code).toBe('PACKAGE_UNREADABLE');
    expect(error.message).toContain('its hash differs');
  });

  it('rejects a package that was not requested', () => {
    const [bytes] = archivesOf('richtypes.dar').values();
    const requestedId = 'ab'.repeat(32);
    const error = failure(() => readPackageArchive(bytes ?? new Uint8Array(), requestedId));
    expect(error.code).toBe('PACKAGE_UNREADABLE');
    expect(error.facts['packageId']).toBe(requestedId);
    expect(error.message).toContain(requestedId);
  });

  it('reads every type of richtypes', () => {
    const { main } = readDar('richtypes.dar', 'richtypes');
    const ownType = (name: string): DamlType => namedType(`${main.packageId}:RichTypes:${name}`);
    expect(main).toMatchObject({
      version: '0.0.1',
      languageVersion: '2.1',
      interfaces: [],
      dependencies: [templateLibrary],
    });
    expect(fieldsOf(main, 'RichTypes:RichRecord')).toEqual([
      ['owner', party],
      ['count', int64],
      ['amount', numeric(10)],
      ['label', text],
      ['active', { kind: 'builtin', name: 'bool' }],
      ['asOf', { kind: 'builtin', name: 'date' }],
      ['observedAt', time],
      ['note', optional(text)],
      ['tags', { kind: 'list', of: text }],
      ['attributes', { kind: 'textmap', of: text }],
      ['marker', { kind: 'contract_id', of: ownType('Marker') }],
      ['profile', ownType('Profile')],
      ['outcome', ownType('Outcome')],
      ['fee', numeric(2)],
    ]);
    expect(main.dataTypes['RichTypes:Outcome']?.kind).toBe('variant');
    expect(fieldsOf(main, 'RichTypes:Outcome')).toEqual([
      ['Win', ownType('Outcome.Win')],
      ['Pending', unit],
    ]);
    expect(main.templates).toEqual([
      { moduleName: 'RichTypes', entityName: 'Marker', choices: [archive], implements: [], key: undefined },
      {
        moduleName: 'RichTypes',
        entityName: 'RichRecord',
        choices: [
          archive,
          {
            name: 'Relabel',
            consuming: false,
            argument: ownType('Relabel'),
            result: { kind: 'contract_id', of: ownType('RichRecord') },
          },
        ],
        implements: [],
        key: undefined,
      },
    ]);
  });

  it('reads both versions of an upgraded package', () => {
    const [firstDar, secondDar] = ['sdk-query-live-model.dar', 'sdk-query-live-model-v2.dar'].map(
      (dar) => readDar(dar, 'sdk-query-live-model').main,
    );
    expect([firstDar?.version, secondDar?.version]).toEqual(['1.0.0', '2.0.0']);
    expect([firstDar?.languageVersion, secondDar?.languageVersion]).toEqual(['2.2', '2.2']);
    expect(secondDar?.packageId).not.toBe(firstDar?.packageId);
    expect(secondDar?.dataTypes).toEqual(firstDar?.dataTypes);
    expect(secondDar === undefined ? [] : fieldsOf(secondDar, 'Main:Iou')).toEqual([
      ['issuer', party],
      ['owner', party],
      ['amount', numeric(10)],
      ['issuedAt', time],
    ]);
  });

  it('reads the Holding interface with the types of its view', () => {
    const { main, packages } = readDar('splice-api-token-holding-v1-1.0.0.dar', 'splice-api-token-holding-v1');
    const module = 'Splice.Api.Token.HoldingV1';
    const ownType = (name: string): DamlType => namedType(`${main.packageId}:${module}:${name}`);
    const metadata = main.dependencies.find((id) => packages(id)?.name === 'splice-api-token-metadata-v1');
    expect(main.templates).toEqual([]);
    expect(main.interfaces).toEqual([
      { moduleName: module, entityName: 'Holding', choices: [archive], view: ownType('HoldingView'), requires: [] },
    ]);
    expect(fieldsOf(main, `${module}:HoldingView`)).toEqual([
      ['owner', party],
      ['instrumentId', ownType('InstrumentId')],
      ['amount', numeric(10)],
      ['lock', optional(ownType('Lock'))],
      ['meta', namedType(`${metadata}:Splice.Api.Token.MetadataV1:Metadata`)],
    ]);
    expect(fieldsOf(main, `${module}:InstrumentId`)).toEqual([
      ['admin', party],
      ['id', text],
    ]);
    expect(fieldsOf(main, `${module}:Lock`)).toEqual([
      ['holders', { kind: 'list', of: party }],
      ['expiresAt', optional(time)],
      ['expiresAfter', optional(namedType(`${timeLibrary}:DA.Time.Types:RelTime`))],
      ['context', optional(text)],
    ]);
  });

  it('reads the choices of TransferInstruction', () => {
    const dar = 'splice-api-token-transfer-instruction-v1-1.0.0.dar';
    const { main } = readDar(dar, 'splice-api-token-transfer-instruction-v1');
    const ownType = (name: string): DamlType =>
      namedType(`${main.packageId}:Splice.Api.Token.TransferInstructionV1:${name}`);
    const choice = (name: string, consuming: boolean, result: string): unknown => ({
      name,
      consuming,
      argument: ownType(name),
      result: ownType(result),
    });
    expect(main.interfaces.map(({ entityName, choices }) => [entityName, choices])).toEqual([
      [
        'TransferFactory',
        [
          archive,
          choice('TransferFactory_Transfer', false, 'TransferInstructionResult'),
          choice('TransferFactory_PublicFetch', false, 'TransferFactoryView'),
        ],
      ],
      [
        'TransferInstruction',
        [
          archive,
          ...['Accept', 'Reject', 'Withdraw', 'Update'].map((name) =>
            choice(`TransferInstruction_${name}`, true, 'TransferInstructionResult'),
          ),
        ],
      ],
    ]);
  });
});
