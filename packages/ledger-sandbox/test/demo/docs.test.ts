/** The API descriptions are valid, and describe exactly the endpoints that the sandbox serves. */
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { endpoints, streamEndpoints } from '../../src/endpoints/endpoints.ts';
import { isWithin } from '../../src/wire/release.ts';
import type { Release } from '../../src/wire/release.ts';
import { startSandbox } from '../../src/demo/sandbox.ts';
import { valueAt } from '../server/sockets.ts';

async function fetchDescription(release: Release, name: 'openapi' | 'asyncapi'): Promise<unknown> {
  await using sandbox = await startSandbox({ release, token: 'secret' });
  const response = await fetch(`${sandbox.url}/docs/${name}`);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; charset=UTF-8']);
  return parse(await response.text());
}

/** Every `$ref` below a value. */
function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, childValue]) =>
    key === '$ref' ? [String(childValue)] : references(childValue),
  );
}

function expectResolved(document: unknown): void {
  const foundReferences = references(document);
  expect(foundReferences.length).toBeGreaterThan(5);
  for (const reference of foundReferences) {
    expect([reference, valueAt(document, ...reference.slice(2).split('/'))]).toEqual([reference, expect.anything()]);
  }
}

const releases: readonly Release[] = ['3.4', '3.5', '3.6'];

describe.each(releases)('the descriptions of %s', (release) => {
  it('name every endpoint of the release once, and no other endpoint', async () => {
    const document = await fetchDescription(release, 'openapi');
    expect([valueAt(document, 'openapi'), String(valueAt(document, 'info', 'version')).slice(0, 3)]).toEqual([
      '3.0.3',
      release,
    ]);
    const servedEndpoints = endpoints.filter(
      ({ path, since, last }) => !path.startsWith('/docs') && isWithin(release, since, last),
    );
    const paths = valueAt(document, 'paths') as Record<string, Record<string, unknown>>;
    const operations = Object.entries(paths).flatMap(([path, verbs]) =>
      Object.keys(verbs).map((verb) => `${verb.toUpperCase()} ${path}`),
    );
    expect(operations.toSorted()).toEqual(servedEndpoints.map(({ method, path }) => `${method} ${path}`).toSorted());
    const ids = Object.values(paths).flatMap((verbs) =>
      Object.values(verbs).map((verb) => valueAt(verb, 'operationId')),
    );
    expect(new Set(ids).size).toBe(operations.length);
  });

  it('resolve every reference', async () => {
    expectResolved(await fetchDescription(release, 'openapi'));
    expectResolved(await fetchDescription(release, 'asyncapi'));
  });

  it('name every stream of the release with its request and frames', async () => {
    const document = await fetchDescription(release, 'asyncapi');
    expect(valueAt(document, 'asyncapi')).toBe('2.6.0');
    const servedEndpoints = streamEndpoints.filter(({ since, last }) => isWithin(release, since, last));
    const channels = valueAt(document, 'channels') as object;
    expect(Object.keys(channels).toSorted()).toEqual(servedEndpoints.map(({ path }) => path).toSorted());
    expect(valueAt(channels, '/v2/updates', 'publish', 'message', '$ref')).toBe(
      '#/components/messages/GetUpdatesRequest',
    );
  });
});

describe('an operation of the description', () => {
  it('contains its parameters, its body, its response and the two error responses', async () => {
    const document = await fetchDescription('3.5', 'openapi');
    const tree = valueAt(document, 'paths', '/v2/updates/transaction-tree-by-offset/{offset}', 'get');
    expect(valueAt(tree, 'deprecated')).toBe(true);
    expect(valueAt(tree, 'parameters')).toEqual([
      { name: 'offset', in: 'path', required: true, schema: { type: 'string' } },
      { name: 'parties', in: 'query', required: false, schema: { type: 'string' } },
    ]);
    const updates = valueAt(document, 'paths', '/v2/updates', 'post');
    const responseSchema = valueAt(updates, 'responses', '200', 'content', 'application/json', 'schema');
    expect(responseSchema).toEqual({ type: 'array', items: { $ref: '#/components/schemas/JsGetUpdatesResponse' } });
    expect(valueAt(updates, 'responses', '400', 'content', 'text/plain')).toBeDefined();
    const refusal = valueAt(updates, 'responses', 'default', 'content', 'application/json', 'schema', '$ref');
    expect(refusal).toBe('#/components/schemas/JsCantonError');
    expect(valueAt(document, 'components', 'schemas', 'JsCantonError', 'required')).toEqual([
      'code',
      'cause',
      'context',
      'errorCategory',
    ]);
  });
});
