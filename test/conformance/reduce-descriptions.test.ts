/**
 * The script generates a table from the descriptions of a participant. The table has every fact and no prose. If a fact
 * would be lost, the script fails with an error that names the position.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const script = join(import.meta.dirname, '../../scripts/wire/reduce-descriptions.mjs');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'descriptions-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const json = (schema: object): object => ({ content: { 'application/json': { schema } } });
const schemaRef = (name: string): object => ({ $ref: `#/components/schemas/${name}` });

/** Output and error output of the script. The descriptions are written as JSON, which is valid YAML. */
function reduce(schemas: object, paths: object = {}, channels: object = {}): { output: string; refused: string } {
  const files = { openapi: { paths, components: { schemas } }, asyncapi: { channels } };
  for (const [name, value] of Object.entries(files)) writeFileSync(join(folder, `${name}.yaml`), JSON.stringify(value));
  const args = [script, join(folder, 'openapi.yaml'), join(folder, 'asyncapi.yaml')];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { output: stdout, refused: stderr };
}

describe('reduce-descriptions.mjs', () => {
  it('reduces descriptions to operations and types without explanations', () => {
    const schemas = {
      Thing: {
        title: 'Thing',
        description: 'prose',
        type: 'object',
        required: ['id', 'kind'],
        properties: {
          id: { type: 'integer', format: 'int64' },
          kind: { type: 'string', enum: ['BIG', 'SMALL'] },
          description: { description: 'prose', type: 'string' },
          pair: { type: 'array', minItems: 2, maxItems: 2, items: { type: 'string' } },
          parts: { type: 'array', items: schemaRef('Part') },
          byName: { type: 'object', additionalProperties: schemaRef('Part') },
          open: { type: 'object' },
          anything: {},
        },
      },
      Part: { oneOf: [{ type: 'object', required: ['A'], properties: { A: schemaRef('Thing') } }, { type: 'string' }] },
      Nothing: { type: 'object', properties: {} },
    };
    const responses = { 200: { description: 'prose', ...json({ type: 'array', items: schemaRef('Part') }) } };
    const post = { description: 'prose', requestBody: json(schemaRef('Thing')), responses };
    const get = { responses: { 200: { content: { 'application/octet-stream': {} } } } };
    const remove = { responses: { 200: json({ type: 'object' }) } };
    const message = (name: string): object => ({ message: { $ref: `#/components/messages/${name}` } });
    const channels = { '/v2/s': { publish: message('Thing'), subscribe: message('Either_JsCantonError_Part') } };
    const { output, refused: refusedName } = reduce(schemas, { '/v2/t': { post, get, delete: remove } }, channels);
    expect(refusedName).toBe('');
    expect(JSON.parse(output)).toEqual({
      operations: {
        'POST /v2/t': { request: 'Thing', response: 'Part[]' },
        'GET /v2/t': {},
        'DELETE /v2/t': {},
        'WS /v2/s': { request: 'Thing', response: 'Part' },
      },
      types: {
        Thing: {
          id: 'integer',
          kind: { '=': ['BIG', 'SMALL'] },
          'description?': 'string',
          'pair?': ['string', 'string'],
          'parts?': ['Part'],
          'byName?': { '*': 'Part' },
          'open?': 'object',
          'anything?': 'any',
        },
        Part: { '|': [{ A: 'Thing' }, 'string'] },
        Nothing: {},
      },
    });
    expect(output).not.toContain('prose');
  });

  it.each<[string, object]>([
    ['T.a: cannot reduce pattern', { properties: { a: { type: 'string', pattern: '^a' } } }],
    ['T: cannot reduce allOf', { allOf: [schemaRef('U')] }],
    ['T: cannot reduce additionalProperties', { properties: {}, additionalProperties: true }],
    ['T.a: cannot reduce the type null', { properties: { a: { type: 'null' } } }],
    ['T.a: cannot reduce values of the type integer', { properties: { a: { type: 'integer', enum: [1] } } }],
    ['T: b is required and not described', { required: ['b'], properties: {} }],
  ])('rejects a description if a fact would be lost: %s', (caseName, schema) => {
    const { output, refused: refusedName } = reduce({ T: schema });
    expect(output).toBe('');
    expect(refusedName).toContain(caseName);
  });
});
