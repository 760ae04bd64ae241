/** The rules that connect migrations, their tests and the recorded database of a release. Pure. */

export interface RuleInput {
  /** Migrations of the current build. */
  readonly migrations: readonly string[];
  /** Comment of schema `explore` that the current build writes. */
  readonly readSide: string;
  /** Version in package.json. */
  readonly version: string;
  readonly recording: { readonly version: string; readonly migrations: readonly string[]; readonly readSide: string };
  /** Ids of the migrations that have an entry in migration-tests.ts. */
  readonly tested: readonly string[];
}

const record = 'run `npm run upgrade:record` and commit test/upgrade/recorded';

/** The violated rules, each with its remedy. */
export function violations({ migrations, readSide, version, recording, tested }: RuleInput): readonly string[] {
  const isReleased = compareVersions(version, recording.version) >= 0;
  const unrecorded = migrations.filter((id) => !recording.migrations.includes(id));
  const untested = unrecorded.filter((id) => !tested.includes(id));
  const removed = recording.migrations.filter((id) => !migrations.includes(id));
  const unknown = tested.filter((id) => !unrecorded.includes(id));
  const beforeRelease = isReleased ? '' : `; until ${recording.version} is released, ${record} instead`;
  return [
    ...untested.map(
      (id) => `${id} has no upgrade test: add an entry to test/upgrade/migration-tests.ts${beforeRelease}`,
    ),
    ...removed.map(
      (id) => `${id} is in the database of ${recording.version} and was removed: restore the file${beforeRelease}`,
    ),
    ...unknown.map(
      (id) => `${id} has an upgrade test, but is no migration after ${recording.version}: remove the entry`,
    ),
    ...(isReleased && readSide !== recording.readSide && unrecorded.length === 0
      ? [
          `migrations/read differs from ${recording.version} without a migration, so an older version would replace the views: add a migration, or on the day of the release ${record}`,
        ]
      : []),
  ];
}

/** Compares the numbers of two versions. */
function compareVersions(left: string, right: string): number {
  const numbers = (version: string): readonly number[] => version.split(/[.-]/).slice(0, 3).map(Number);
  const [a, b] = [numbers(left), numbers(right)];
  const index = a.findIndex((number, place) => number !== b[place]);
  return index === -1 ? 0 : (a[index] ?? 0) - (b[index] ?? 0);
}
