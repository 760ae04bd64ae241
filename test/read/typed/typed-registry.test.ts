/** Tests names and columns of typed views if packages are upgraded, violate the upgrade rules, or have equal names. */
import { describe, expect, it } from 'vitest';
import type { DamlField, DamlType, DataType, PackageModel } from '../../../src/daml/package-model.ts';
import { unknownPackages } from '../../../src/pipeline/background/package-watch.ts';
import { readSchemas } from '../../../src/store/connection/read-schemas.ts';
import { ViewRegistry, type NamedView, type RegisteredColumn } from '../../../src/store/typed/registry.ts';
import { definitionsOf } from '../../../src/store/typed/definitions.ts';
import { subjectKey, viewSubjects } from '../../../src/store/typed/subjects.ts';

const int64: DamlType = { kind: 'builtin', name: 'int64' };
const text: DamlType = { kind: 'builtin', name: 'text' };

interface Source {
  readonly id: string;
  readonly version?: string;
  readonly fields: readonly DamlField[];
  readonly choices?: readonly string[];
  readonly others?: Readonly<Record<string, DataType>>;
}

/** Package `dock` with template Main:Crane. */
function crane({ id, version = '1.0.0', fields, choices = [], others: otherTypes = {} }: Source): PackageModel {
  const argument: DamlType = { kind: 'named', name: `${id}:Main:Crane`, arguments: [] };
  const choiceModels = choices.map((name) => ({ name, consuming: true, argument, result: text }));
  return {
    packageId: id,
    name: 'dock',
    version,
    languageVersion: '2.1',
    templates: [{ moduleName: 'Main', entityName: 'Crane', choices: choiceModels, implements: [], key: undefined }],
    interfaces: [],
    dataTypes: { 'Main:Crane': { kind: 'record', parameters: [], fields }, ...otherTypes },
    dependencies: [],
  };
}

function viewsOf(packages: readonly PackageModel[], registry = new ViewRegistry(new Map(), new Map())): NamedView[] {
  return [...viewSubjects(packages, new Set(['dock']))].flatMap((subject) => registry.named(subject) ?? []);
}

function columnsOf(view: NamedView | undefined): readonly string[] {
  return view?.columns.map(({ name, type }) => `${name} ${type}`) ?? [];
}

function sqlOf(view: NamedView | undefined): string {
  if (view === undefined) throw new Error('there is no view');
  return definitionsOf(view, readSchemas('ledger'))[0]?.script ?? '';
}

describe('columns of typed views', () => {
  it('are ordered by numeric package version, in any reading order', () => {
    const old = crane({ id: 'b', version: '1.9.0', fields: [{ name: 'a', type: int64 }] });
    const newerField = { name: 'b', type: { kind: 'optional', of: text } } as const;
    const next = crane({ id: 'a', version: '1.10.0', fields: [newerField, { name: 'a', type: int64 }] });
    expect(columnsOf(viewsOf([next, old])[0])).toEqual(['a bigint', 'b text']);
  });

  it('keep their registered names and positions', () => {
    const fields = ['x', 'y', 'z'].map((name) => ({ name, type: int64 }));
    const model = crane({ id: 'a', fields });
    const [subject] = viewSubjects([model], new Set(['dock']));
    if (subject === undefined) throw new Error('there is no subject');
    const y: RegisteredColumn = { position: 1, name: 'why', path: ['y'], type: 'bigint', description: 'y: Int' };
    const registry = new ViewRegistry(new Map([[subjectKey(subject), 'cranes']]), new Map([['cranes', [y]]]));
    const [view] = viewsOf([model], registry);
    expect(view).toMatchObject({ name: 'cranes', isNew: false });
    expect(columnsOf(view)).toEqual(['why bigint', 'x bigint', 'z bigint']);
    expect(view?.added.map(({ position }) => position)).toEqual([2, 3]);
  });

  it('never have the name of a common column', () => {
    const fields = ['payload', 'contractId', 'isActive'].map((name) => ({ name, type: text }));
    expect(columnsOf(viewsOf([crane({ id: 'a', fields })])[0])).toEqual([
      'payload_2 text',
      'contract_id_2 text',
      'is_active_2 text',
    ]);
  });

  it('are separate for versions with different types, and cast only rows of their version', () => {
    const firstVersion = crane({ id: 'a', fields: [{ name: 'x', type: text }] });
    const secondVersion = crane({ id: 'b', version: '2.0.0', fields: [{ name: 'x', type: int64 }] });
    const [view] = viewsOf([firstVersion, secondVersion]);
    expect(columnsOf(view)).toEqual(['x text', 'x_2 bigint']);
    expect(sqlOf(view)).toContain(
      `case when t.package_id = any (array['b']::text[]) then ((c.payload ->> 'x'))::bigint end as "x_2"`,
    );
  });
});

describe('names and definitions of typed views', () => {
  it('distinguish a choice called History from the history view of a template', () => {
    const fields = [{ name: 'a', type: text }];
    const views = viewsOf([crane({ id: 'a', fields, choices: ['History', 'Crane_Lift'] })]);
    expect(views.map(({ name }) => name)).toEqual(['dock__crane', 'dock__main__crane__history', 'dock__crane__lift']);
  });

  it('are omitted for views without fields, unless registered before', () => {
    const minimalView = crane({ id: 'a', fields: [], choices: ['Archive'] });
    expect(viewsOf([minimalView])).toEqual([]);
    const [, archive] = viewSubjects([minimalView], new Set(['dock']));
    if (archive === undefined) throw new Error('there is no choice');
    const registry = new ViewRegistry(new Map([[subjectKey(archive), 'dock__crane__archive']]), new Map());
    expect(viewsOf([minimalView], registry).map(({ name }) => name)).toEqual(['dock__crane__archive']);
  });

  it('are assigned in the order of package names, in any reading order', () => {
    const fields = [{ name: 'a', type: text }];
    const first = { ...crane({ id: 'z', version: '2.0.0', fields }), name: 'one-dry-dock' };
    const second = { ...crane({ id: 'a', fields }), name: 'two-dry-dock' };
    for (const packages of [
      [first, second],
      [second, first],
    ]) {
      const registry = new ViewRegistry(new Map(), new Map());
      const subjects = [...viewSubjects(packages, new Set(['one-dry-dock', 'two-dry-dock']))];
      expect(subjects.map((subject) => [subject.packageName, registry.named(subject)?.name])).toEqual([
        ['one-dry-dock', 'dry_dock__crane'],
        ['two-dry-dock', 'two_dry_dock__crane'],
      ]);
    }
  });

  it('do not change when a package version with equal fields is added', () => {
    const fields = [{ name: 'a', type: text }];
    const [viewBefore] = viewsOf([crane({ id: 'a', fields })]);
    const [viewAfter] = viewsOf([crane({ id: 'a', fields }), crane({ id: 'b', version: '1.1.0', fields })]);
    expect(sqlOf(viewAfter)).toBe(sqlOf(viewBefore));
  });
});

describe('unknownPackages()', () => {
  it('returns the packages of nested types and of type arguments once', () => {
    const externalType: DamlType = {
      kind: 'named',
      name: 'far:M:Box',
      arguments: [{ kind: 'named', name: 'farther:M:T', arguments: [] }],
    };
    const innerRecord: DataType = {
      kind: 'record',
      parameters: [],
      fields: [{ name: 'box', type: { kind: 'list', of: externalType } }],
    };
    const field: DamlField = { name: 'inner', type: { kind: 'named', name: 'a:Main:Inner', arguments: [] } };
    const model = crane({ id: 'a', fields: [field], others: { 'Main:Inner': innerRecord } });
    const modelsById = new Map([['a', model]]);
    expect([...unknownPackages(modelsById, new Set(['dock']))].sort()).toEqual(['far', 'farther']);
    expect(unknownPackages(modelsById, new Set())).toEqual(new Set());
  });
});
