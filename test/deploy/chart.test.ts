/** The Helm chart has the same alerts, dashboards, options and version as the project. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { chartFiles, chartFolder, type ValueSchema } from '../../scripts/chart/chart-files.ts';
import { root } from '../docs/pages.ts';

const readFile = (path: string): string => readFileSync(join(root, path), 'utf8');

describe('Helm chart', () => {
  it('contains the current alerts, dashboards and options (update: npm run docs:chart)', async () => {
    const files = await chartFiles(root);
    for (const [path, text] of files) expect(readFile(path), path).toBe(text);
    const copies = readdirSync(join(root, chartFolder, 'files'), { recursive: true, withFileTypes: true });
    const copiedFiles = copies.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    expect(copiedFiles.filter((path) => !files.has(path.slice(root.length + 1)))).toEqual([]);
  });

  it('has the version of the program', () => {
    const { version } = JSON.parse(readFile('package.json')) as { version: string };
    expect(parse(readFile(`${chartFolder}/Chart.yaml`))).toMatchObject({ version, appVersion: version });
  });

  it('has a default for each value in the schema, and a schema for each default', () => {
    const schema = JSON.parse(readFile(`${chartFolder}/values.schema.json`)) as ValueSchema;
    const values = parse(readFile(`${chartFolder}/values.yaml`)) as Readonly<Record<string, unknown>>;
    // `global` is for charts that include this one.
    expect(Object.keys(values).toSorted()).toEqual(
      Object.keys(schema.properties ?? {})
        .filter((name) => name !== 'global')
        .toSorted(),
    );
  });
});
