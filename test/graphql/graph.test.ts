/**
 * Tests the graph of keys and relations between the views of a database: its names, its columns, and both documents
 * that are generated from it.
 */
import { describe, expect, it } from 'vitest';
import { graphOf, type Graph } from '../../packages/codegen/src/graphql/graph.ts';
import { hasuraMetadata } from '../../packages/codegen/src/graphql/hasura.ts';
import {
  derivedRelations,
  exploreEntities,
  typedEntities,
  type Entity,
} from '../../packages/codegen/src/graphql/relations.ts';
import type { ReadView } from '../../src/store/graphql/read-side.ts';
import { smartTags } from '../../packages/codegen/src/graphql/smart-tags.ts';
import { freeName } from '../../src/daml/identifiers.ts';
import { readSchemas } from '../../src/store/connection/read-schemas.ts';

const schemas = readSchemas('my-desk');

function explore(name: string): ReadView {
  return { schema: schemas.explore, name, kind: 'explore', columns: [], columnOf: (column) => column };
}

function typedReadView(name: string, kind: ReadView['kind'], ...fields: readonly string[]): ReadView {
  return { schema: schemas.typed, name, kind, columns: [], columnOf: (column) => freeName(column, new Set(fields)) };
}

const functions = [
  { name: 'active', overloads: 1, returns: 'active_contracts' },
  { name: 'active_at', overloads: 3, returns: 'active_contracts' },
  { name: 'fqn', overloads: 1, returns: null },
];

function graph(...views: readonly ReadView[]): Graph {
  return graphOf({ schemas, views, functions, hidden: [], derivedSchema: 'my-desk_derived' });
}

const core = graph(explore('contracts'), explore('exercises'), explore('token_holdings'), explore('updates'));

describe('key and relation table', () => {
  it('contains only relations to keys, with unique names', () => {
    const edgeTargets: string[] = [];
    for (const [name, { relations }] of [...Object.entries(exploreEntities), ...Object.entries(typedEntities)]) {
      const fields = relations.map(({ field }) => field);
      expect(new Set(fields).size, name).toBe(fields.length);
      for (const { columns, to, toColumns, back: backColumns } of relations) {
        const keys = (exploreEntities[to] as Entity).keys.map((key) => key.toSorted().join());
        expect(keys, `${name} to ${to}`).toContain(toColumns.toSorted().join());
        expect(columns, name).toHaveLength(toColumns.length);
        if (backColumns !== undefined) edgeTargets.push(`${to}.${backColumns}`);
      }
    }
    expect(edgeTargets.filter((edgeName, index) => edgeTargets.indexOf(edgeName) !== index)).toEqual([]);
  });
});

describe('relations of a projection of a user', () => {
  const fields = (columns: Readonly<Record<string, string>>): readonly string[] =>
    derivedRelations(new Map(Object.entries(columns))).map(({ field, columns: own }) => `${field}(${own.join(',')})`);

  it('follow from the names and types of its columns', () => {
    const created = { offset: 'bigint', contract_id: 'text', created_at_offset: 'bigint' };
    expect(fields(created)).toEqual(['update(offset)', 'contract(contract_id,created_at_offset)']);
    expect(fields({ ...created, contract_created_at_offset: 'bigint' })).toEqual(fields(created));
    expect(fields({ offset: 'bigint', package_id: 'text', module_name: 'text', entity_name: 'text' })).toEqual([
      'update(offset)',
      'template(package_id,module_name,entity_name)',
    ]);
  });

  it('are omitted for other types, and for a column of the same name', () => {
    expect(fields({ offset: 'bigint', node_id: 'text' })).toEqual(['update(offset)']);
    expect(fields({ offset: 'bigint', node_id: 'integer', update: 'text' })).toEqual(['exercise(offset,node_id)']);
  });
});

describe('graph()', () => {
  it('omits relations to missing views', () => {
    expect(graph(explore('exercises')).nodes[0]?.edges).toEqual([]);
  });

  it('uses the fixed columns of a view even if a payload field has the same name', () => {
    const [, , node] = graph(
      explore('contracts'),
      explore('updates'),
      typedReadView('bank__note', 'template', 'contract_id'),
    ).nodes;
    expect(node?.keys).toEqual([['created_at_offset', 'contract_id_2']]);
    expect(node?.edges[0]?.columns).toEqual(['contract_id_2', 'created_at_offset']);
  });

  it('adds numbers to typed views with the same name in camel case', () => {
    const { nodes } = graph(
      typedReadView('a__b_c', 'choice'),
      typedReadView('a_b__c', 'choice'),
      typedReadView('a_b__cs', 'choice'),
    );
    expect(nodes.map(({ name }) => name)).toEqual(['typed_a__b_c', 'typed_a_b__c_2', 'typed_a_b__cs_2']);
  });
});

describe('smartTags()', () => {
  it('names both sides of a relation and marks the side with one row', () => {
    const { class: classes } = smartTags(core).config;
    expect(classes['"my-desk_explore".exercises']?.tags['foreignKey']).toEqual([
      '(offset) references "my-desk_explore".updates (offset)|@fieldName update|@foreignSimpleFieldName exercises',
      '(contract_id, contract_created_at_offset) references "my-desk_explore".contracts (contract_id, created_at_offset)' +
        '|@fieldName contract|@foreignSimpleFieldName exercises',
    ]);
    expect(classes['"my-desk_explore".token_holdings']?.tags['foreignKey']).toEqual([
      expect.stringMatching(/\|@fieldName contract\|@foreignSingleFieldName tokenHolding$/),
    ]);
  });

  it('hides functions that only other functions use', () => {
    const { procedure } = smartTags(core).config;
    expect(procedure['"my-desk_explore".fqn']?.tags['behavior']).toContain('-queryField');
    expect(procedure['"my-desk_explore".active_at']?.tags['behavior']).not.toContain('-queryField');
  });
});

describe('hasuraMetadata()', () => {
  const [source] = hasuraMetadata(core, 'URL').sources;
  const names = (table: string, kind: 'object_relationships' | 'array_relationships') =>
    source?.tables.find(({ table: { name } }) => name === table)?.[kind].map(({ name }) => name);

  it('contains relations in both directions, to one row and to many rows', () => {
    expect(names('exercises', 'object_relationships')).toEqual(['update', 'contract']);
    expect(names('contracts', 'object_relationships')).toEqual(['createdUpdate', 'archivedUpdate', 'tokenHolding']);
    expect(names('contracts', 'array_relationships')).toEqual(['exercises']);
    expect(names('updates', 'array_relationships')).toEqual(['createdContracts', 'archivedContracts', 'exercises']);
  });

  it('maps the columns of a relation', () => {
    const [exercises] = source?.tables.find(({ table }) => table.name === 'contracts')?.array_relationships ?? [];
    expect(exercises?.using.manual_configuration).toEqual({
      remote_table: { schema: 'my-desk_explore', name: 'exercises' },
      column_mapping: { contract_id: 'contract_id', created_at_offset: 'contract_created_at_offset' },
      insertion_order: null,
    });
  });

  it('tracks only functions that return rows of a view and have a unique name', () => {
    const [with_] = hasuraMetadata(graph(explore('active_contracts')), 'URL').sources;
    expect(with_?.functions.map((edgeFunction) => edgeFunction.function.name)).toEqual(['active']);
  });
});
