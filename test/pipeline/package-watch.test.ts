/**
 * The package watch reads packages in the background. The tests check which packages it requests or retries, and that
 * it never fails.
 */
import type { Subscription } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';
import { record, type WrittenPackage } from '../../packages/ledger-sandbox/src/daml-lf/declaration.ts';
import { archiveOf, writePackage } from '../../packages/ledger-sandbox/src/daml-lf/package-writer.ts';
import { initialLicensing } from '../../packages/ledger-sandbox/src/demo/packages/applications.ts';
import { templateTypes } from '../../packages/ledger-sandbox/src/demo/packages/library.ts';
import { demoPackages } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { PackageWatch } from '../../src/pipeline/background/package-watch.ts';
import { waitFor } from '../support/wait-for.ts';
import { failure } from './memory-ledger.ts';
import { memoryWorld, type World } from './memory-parts.ts';

const smallPackage = writePackage({
  name: 'small',
  version: '1.0.0',
  imports: [],
  modules: { Main: { Note: record({ owner: 'Party', text: 'Text' }) } },
});

let watching: Subscription | undefined;
afterEach(() => watching?.unsubscribe());

/** A ledger with these packages. The stored events name the first one. */
function loadPackages(first: WrittenPackage, ...otherPackages: readonly WrittenPackage[]): World {
  const world = memoryWorld();
  for (const testPackage of [first, ...otherPackages])
    world.ledger.archives.set(testPackage.id, Buffer.from(archiveOf(testPackage)));
  world.sink.packageState = { missing: [first.id], named: [], templates: 1 };
  return world;
}

/** Waits for the end of one pass, which is the creation of views. */
async function runWatch(world: World, watch = new PackageWatch(world.parts)): Promise<PackageWatch> {
  const reportsBefore = world.reports.of('packages.read').length + world.reports.of('packages.failed').length;
  watching?.unsubscribe();
  watching = watch.watch$().subscribe();
  await waitFor('a look', () =>
    world.reports.of('packages.read').length + world.reports.of('packages.failed').length > reportsBefore
      ? true
      : undefined,
  );
  return watch;
}

describe('package watch', () => {
  it('reads the packages of stored events, and creates their views', async () => {
    const world = loadPackages(smallPackage);
    world.sink.views = { made: ['small__note'], failed: [] };
    await runWatch(world);
    expect(world.sink.models.map(({ name }) => name)).toEqual(['small']);
    expect(world.reports.of('packages.read')).toEqual([[{ packages: 1, refused: [], views: 1, failedViews: [] }]]);
    expect(world.sink.count('refreshOmittedFields')).toBe(1);
  });

  it('reads the packages that the types of another package refer to', async () => {
    const world = loadPackages(initialLicensing, ...demoPackages);
    await runWatch(world);
    const readPackageIds = world.sink.models.map(({ packageId }) => packageId);
    expect(readPackageIds[0]).toBe(initialLicensing.id);
    // Every template refers to this package by its choice Archive.
    expect(readPackageIds).toContain(templateTypes.id);
    expect(new Set(readPackageIds).size).toBe(readPackageIds.length);
  });

  it('sends no request if no new package is named', async () => {
    const world = loadPackages(smallPackage);
    const watch = await runWatch(world);
    const { length } = world.reports.calls;
    const states = world.sink.count('state');
    watching?.unsubscribe();
    watching = watch.watch$().subscribe();
    await waitFor('the look', () => (world.sink.count('state') > states ? true : undefined));
    await new Promise((resolve) => setImmediate(resolve));
    expect(world.ledger.count('content')).toBe(1);
    expect(world.sink.count('syncViews')).toBe(1);
    expect(world.reports.calls).toHaveLength(length);
  });

  it('reports an unreadable package once, and does not request it again', async () => {
    const world = loadPackages(smallPackage);
    world.ledger.archives.set(smallPackage.id, Buffer.from('no package'));
    const watch = await runWatch(world);
    expect(world.reports.of('packages.read')[0]?.[0].refused.map(({ packageId }) => packageId)).toEqual([
      smallPackage.id,
    ]);
    // An update of another template causes another pass of the next session.
    world.sink.packageState = { ...world.sink.packageState, templates: 2 };
    world.sink.views = { made: ['other'], failed: [] };
    await runWatch(world, watch);
    expect(world.ledger.count('content')).toBe(1);
    expect(world.reports.of('packages.read')[1]?.[0].refused).toEqual([]);
  });

  it('retries a package after a transient failure, and stores the other packages meanwhile', async () => {
    const otherPackage = writePackage({ ...smallPackage.declaration, name: 'other' });
    const world = loadPackages(smallPackage, otherPackage);
    world.sink.packageState = { missing: [smallPackage.id, otherPackage.id], named: [], templates: 2 };
    world.ledger.before = (_, count) => {
      if (count === 1) throw failure('LEDGER_UNAVAILABLE');
    };
    const watch = await runWatch(world);
    expect(world.sink.models.map(({ name }) => name)).toEqual(['other']);
    await waitFor('the delay', () => (world.reports.of('packages.failed').length > 0 ? true : undefined));
    expect(world.reports.of('packages.failed')[0]?.[0].code).toBe('LEDGER_UNAVAILABLE');
    await runWatch(world, watch);
    expect(world.sink.models.map(({ name }) => name)).toEqual(['other', 'small']);
  });

  it('retries if a gateway route is briefly missing', async () => {
    const world = loadPackages(smallPackage);
    world.ledger.before = (_, count) => {
      if (count === 1) throw failure('LEDGER_NOT_A_LEDGER', { httpStatus: 404 });
    };
    const watch = await runWatch(world);
    await runWatch(world, watch);
    expect(world.sink.models.map(({ name }) => name)).toEqual(['small']);
  });

  it('abandons a package that fails five times', async () => {
    const world = loadPackages(smallPackage);
    world.ledger.before = () => {
      throw failure('LEDGER_UNAVAILABLE');
    };
    let watch: PackageWatch | undefined;
    for (let session = 1; session <= 5; session += 1) watch = await runWatch(world, watch);
    expect(world.reports.of('packages.failed')).toHaveLength(4);
    expect(world.reports.of('packages.read')[0]?.[0].refused).toMatchObject([
      { error: { code: 'LEDGER_UNAVAILABLE' } },
    ]);
  });

  it('reads no further package while the database is unreachable', async () => {
    const world = loadPackages(smallPackage, initialLicensing);
    world.sink.packageState = { missing: [smallPackage.id, initialLicensing.id], named: [], templates: 2 };
    world.sink.before = (sinkCall) => {
      if (sinkCall === 'store') throw failure('STORE_UNREACHABLE');
    };
    await runWatch(world);
    expect(world.reports.of('packages.failed')[0]?.[0].code).toBe('STORE_UNREACHABLE');
    expect(world.ledger.count('content')).toBe(1);
    expect(watching?.closed).toBe(false);
  });

  it('reports a view that another session has locked, and creates it later', async () => {
    const world = loadPackages(smallPackage);
    const error = failure('STORE_LOCKED');
    world.sink.views = { made: [], failed: [{ view: 'small__note', error }] };
    const watch = await runWatch(world);
    expect(world.reports.of('packages.read')[0]?.[0].failedViews).toEqual([{ view: 'small__note', error }]);
    await waitFor('the delay', () => (world.reports.of('packages.failed').length > 0 ? true : undefined));
    world.sink.views = { made: ['small__note'], failed: [] };
    await runWatch(world, watch);
    expect(world.reports.of('packages.read').at(-1)?.[0]).toMatchObject({ packages: 0, views: 1 });
  });

  it('discards a rejected access token', async () => {
    const world = loadPackages(smallPackage);
    world.ledger.before = () => {
      throw failure('LEDGER_UNAUTHENTICATED');
    };
    await runWatch(world);
    expect(world.tokens.invalidated).toBe(1);
  });
});
