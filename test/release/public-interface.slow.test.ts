/**
 * The public interface, compared with the one that was recorded at the last release. A removed or changed name needs
 * another major version. `npm run interface` records the current one, also after additions.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { beforeAll, describe, expect, it } from 'vitest';
import { root } from '../docs/pages.ts';
import { transfersSql, UserWorld } from '../projections/users/world.ts';
import { recordDar } from '../read/typed/typed-dar.ts';
import { TypedWorld } from '../read/typed/typed-world.ts';
import { alice } from '../support/frames.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { librarySurface } from './interface/library-surface.ts';
import { programSurfaces } from './interface/program-surface.ts';
import { sqlSurface } from './interface/sql-surface.ts';
import { breakingDifferences, type InterfaceRecord, type Surface } from './interface/surface.ts';

const recordFile = join(root, 'test/release/public-interface.json');
const isRecording = process.env['RECORD_INTERFACE'] === 'true';
const readFile = (path: string): string => readFileSync(join(root, path), 'utf8');

const recorded = JSON.parse(readFileSync(recordFile, 'utf8')) as InterfaceRecord;
const { version } = JSON.parse(readFile('package.json')) as { readonly version: string };
const majorOf = (text: string): string => text.split('.')[0] ?? '';

async function fixedViews(): Promise<Surface> {
  await using database = await createMigratedDatabase(['ledger']);
  return await sqlSurface(database.url, ['explore', 'pqs', 'pqs_multisync']);
}

/** Views of a template, as an example of all typed views. */
async function typedViews(): Promise<Surface> {
  await using world = await TypedWorld.start();
  const { dar, packageId } = recordDar({
    name: 'harbor',
    version: '1.0.0',
    templates: ['Berth'],
    records: { Berth: { owner: 'text', length: 'int64', note: { optional: 'text' }, open: 'bool' } },
  });
  await world.ledger.packages.uploadDar(dar);
  const payload = { owner: alice, length: '9', note: null, open: true };
  await world.happens(world.contractOf(`${packageId}:Main:Berth`, 'harbor', payload));
  await world.appears('harbor__berth');
  return await sqlSurface(world.database.url, ['typed']);
}

/** The view of a projection that a user adds, as an example of all of them. */
async function userViews(): Promise<Surface> {
  const world = await UserWorld.open(20);
  try {
    await world.add('transfers', transfersSql);
    return await sqlSurface(world.url, ['derived']);
  } finally {
    await world.close();
  }
}

/** Exports of the test helper, which has no file of collected types. */
function testingSurface(): Surface {
  const files = ['src/testing/ledger-indexer.ts', 'src/testing/test-template.ts'];
  return Object.assign({}, ...files.map((path) => librarySurface('ledger-indexer/testing', readFile(path)))) as Surface;
}

async function currentSurfaces(): Promise<Readonly<Record<string, Surface>>> {
  return {
    ...programSurfaces(),
    library: {
      ...librarySurface('ledger-indexer', readFile('types/ledger-indexer.d.ts')),
      ...librarySurface('ledger-indexer/read', readFile('types/ledger-indexer-read.d.ts')),
      ...testingSurface(),
    },
    'SQL of explore and pqs': await fixedViews(),
    'SQL of typed': await typedViews(),
    'SQL of derived': await userViews(),
  };
}

let surfaces: Readonly<Record<string, Surface>>;
beforeAll(async () => {
  surfaces = await currentSurfaces();
  if (!isRecording) return;
  // The record of a major version only grows.
  const previous = majorOf(version) === majorOf(recorded.version) ? recorded.surfaces : {};
  const differences = Object.entries(previous).flatMap(([title, surface]) =>
    breakingDifferences(surface, surfaces[title] ?? {}),
  );
  if (differences.length > 0) throw new Error(`${advice}\n${differences.join('\n')}`);
  const settings = await resolveConfig(recordFile);
  const text = JSON.stringify({ version, surfaces } satisfies InterfaceRecord);
  writeFileSync(recordFile, await format(text, { ...settings, filepath: recordFile }));
});

const advice =
  'The interface of a major version keeps every name. Restore these names, or begin another major version ' +
  '(docs/reference/stability.md, npm run set-version, npm run interface):';

describe('public interface', () => {
  it('is recorded for this version (update: npm run interface)', () => {
    expect(isRecording ? version : recorded.version).toBe(version);
  });

  it.each(Object.keys(recorded.surfaces))('keeps all recorded %s', (title) => {
    const previous = isRecording ? surfaces : recorded.surfaces;
    const differences = breakingDifferences(previous[title] ?? {}, surfaces[title] ?? {});
    expect(differences, `${advice}\n${differences.join('\n')}`).toEqual([]);
  });
});
