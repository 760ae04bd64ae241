/** Readers of `test/fixtures`, whose README describes each file. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const folder = join(import.meta.dirname, '../../fixtures');

/** Caches fixtures, because several parts of a test file need the same fixture. */
const texts = new Map<string, string>();

/** The text of a fixture, for example `recordings/errors.json`. Long fixtures are stored as `.gz`. */
export function fixture(name: string): string {
  const cachedText = texts.get(name);
  if (cachedText !== undefined) return cachedText;
  const path = join(folder, name);
  const text = existsSync(path) ? readFileSync(path, 'utf8') : gunzipSync(readFileSync(`${path}.gz`)).toString('utf8');
  texts.set(name, text);
  return text;
}

/** The lines of a `.jsonl` fixture, byte for byte. */
export function fixtureLines(name: string): readonly string[] {
  return fixture(name).split('\n').filter(Boolean);
}

/** Names of the samples in order, for example `updates/assigned.json`. */
export function sampleNames(): readonly string[] {
  return readdirSync(join(folder, 'samples'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.replaceAll('\\', '/'))
    .sort();
}

/** A sample as it is sent: in one line without blanks. */
export function sample(name: string): string {
  return JSON.stringify(JSON.parse(fixture(`samples/${name}`)));
}
