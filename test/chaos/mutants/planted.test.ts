/** The bugs in test/planted can still be injected, and the tests that must detect them exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { areas } from '../../planted/areas.ts';

const root = join(import.meta.dirname, '../../..');
const allTests = areas.flatMap(({ name: area, defects }) => defects.map((defect) => ({ area, ...defect })));

describe('test/planted', () => {
  it('contains one file per listed area, with the name of the area', () => {
    const files = readdirSync(join(root, 'test/planted'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => basename(file, '.ts'));
    const areaNames = areas.map(({ name }) => name);
    expect([...areaNames, 'areas', 'planted'].sort()).toEqual(files.sort());
  });

  it('contains at least three bugs per area, with unique names', () => {
    expect(areas.filter(({ defects }) => defects.length < 3)).toEqual([]);
    expect(new Set(allTests.map(({ name }) => name)).size).toBe(allTests.length);
  });

  it('injects each bug at exactly one line and names an existing test file', () => {
    const invalidDefects = allTests.flatMap(({ area, name, file, line, instead: replacement, test }) => {
      const times = existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8').split(line).length - 1 : 0;
      return [
        ...(times === 1 ? [] : [`${area}, ${name}: the line is ${String(times)} times in ${file}`]),
        ...(line === replacement ? [`${area}, ${name}: it changes nothing`] : []),
        ...(existsSync(join(root, 'test', test)) ? [] : [`${area}, ${name}: there is no test/${test}`]),
      ];
    });
    expect(invalidDefects).toEqual([]);
  });
});
