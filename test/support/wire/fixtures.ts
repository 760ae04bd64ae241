/** Readers of `test/fixtures`, whose README describes each file. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const folder = join(import.meta.dirname, '../../fixtures');

/** Several parts of a test file want the same one. */
const texts = new Map<string, string>();

/** The text of a fixture, e.g. `recordings/errors.json`; long ones are kept as `.gz`. */
export function fixture(name: string): string {
  const known = texts.get(name);
  if (known !== undefined) return known;
  const path = join(folder, name);
  const text = existsSync(path) ? readFileSync(path, 'utf8') : gunzipSync(readFileSync(`${path}.gz`)).toString('utf8');
  texts.set(name, text);
  return text;
}

/** The lines of a `.jsonl`, byte for byte. */
export function fixtureLines(name: string): readonly string[] {
  return fixture(name).split('\n').filter(Boolean);
}

/** The names of the samples, e.g. `updates/assigned.json`, in order. */
export function sampleNames(): readonly string[] {
  return readdirSync(join(folder, 'samples'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.replaceAll('\\', '/'))
    .sort();
}

/** A sample as it is sent: in one line, without blanks. */
export function sample(name: string): string {
  return JSON.stringify(JSON.parse(fixture(`samples/${name}`)));
}
