/** No statement of the product selects rows by a label, and no parameter of `/api` and no filter names one. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { storedRoutes } from '../../../src/store/api/routes.ts';

const labelObject = /party_labels?|instrument_labels?|ans_labels/;
/** A comparison with a column of a label, in any condition. */
const labelCondition = /\b(?:\w+\.)?(?:label|symbol)\s*(?:=|<>|!=|~|<|>|\bi?like\b|\bin\b|\bsimilar\b)/i;

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:sql|ts|js|json)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

it('no statement compares a label', () => {
  const files = ['migrations', 'src', 'grafana'].flatMap(filesBelow);
  const naming = files.filter((file) => labelObject.test(readFileSync(file, 'utf8')));
  expect(naming.length).toBeGreaterThan(5);
  const comparing = naming.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      // The name of an entry is checked before it becomes a label, and a load compares the stored label with the new one.
      .filter((line) => labelCondition.test(line) && !/e\.label ~ '\^\[!-~\]|check \(/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(comparing.filter((line) => !line.startsWith('src/store/labels/labels.ts'))).toEqual([]);
});

it('no parameter of /api and no filter names a label', () => {
  const text = JSON.stringify(storedRoutes.map(({ name, parameters }) => [name, parameters]));
  expect(text.length).toBeGreaterThan(1_000);
  expect(text).not.toMatch(labelObject);
  expect(text).not.toMatch(/"name":"(?:label|symbol|source)"/);
});
