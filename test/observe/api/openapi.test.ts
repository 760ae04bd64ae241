/** The description of `/api` is valid OpenAPI, and lists exactly the routes and parameters of the table. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../../src/observe/api/openapi.ts';
import { storedRoutes } from '../../../src/store/api/routes.ts';

const document = JSON.parse(JSON.stringify(openApiDocument(storedRoutes, '1.2.3'))) as {
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly get: {
          readonly operationId: string;
          readonly parameters: readonly { readonly name: string; readonly in: string }[];
        };
      }
    >
  >;
};

describe('the OpenAPI document', () => {
  it('is valid', async () => {
    expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
  });

  it('is refused by the validator if a parameter of a path is not described', async () => {
    const flawed = structuredClone(document) as Record<string, unknown>;
    flawed['paths'] = { '/api/contracts': { get: { parameters: [{ name: 'x' }] } } };
    expect(await new Validator().validate(flawed)).toMatchObject({ valid: false });
  });

  it('describes every route once, with each parameter of its path', () => {
    const operations = Object.entries(document.paths);
    expect(operations.map(([path]) => path)).toEqual(storedRoutes.map(({ path }) => path));
    expect(new Set(operations.map(([, { get }]) => get.operationId)).size).toBe(storedRoutes.length);
    for (const [path, { get }] of operations) {
      const inPath = get.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`);
      expect(inPath, path).toEqual(path.match(/\{\w+\}/g) ?? []);
      expect(new Set(get.parameters.map(({ name }) => name)).size, path).toBe(get.parameters.length);
    }
  });

  it('has a text for every route and parameter', () => {
    for (const { summary, description, parameters } of storedRoutes) {
      for (const text of [summary, description, ...parameters.map((parameter) => parameter.description)]) {
        expect(text).toMatch(/\S{3}/);
      }
      expect(description).toMatch(/\.$/);
    }
  });
});
