/**
 * The packages of a participant, and the synchronizers on which they are vetted. The packages of the sandbox's own
 * templates are vetted on every synchronizer. Uploaded packages can be named in filters, but their templates cannot be
 * run, because the sandbox does not interpret package code.
 */
import type { OwnPackages } from './own-packages.ts';
import { readArchive } from './archive.ts';
import type { PackageArchive } from './archive.ts';
import { readDar } from './dar.ts';
import { invalidArgument } from '../wire/failure.ts';
import { knownPackageVersion, packageNotFound } from './package-failure.ts';
import type { PackageName } from './package-name.ts';

/** Packages vetted on one synchronizer. */
export interface Vetting {
  readonly synchronizerId: string;
  /** Sorted by name, version and id. */
  readonly packages: readonly PackageName[];
  /** Number of changes. */
  readonly serial: number;
}

/** One change of vetting: packages become vetted, or are no longer vetted. */
export interface VettingChange {
  readonly vets: boolean;
  /** Package ids. */
  readonly packages: readonly string[];
}

/**
 * Whether a package has no templates and interfaces, like the standard library. Such packages may repeat a name and a
 * version.
 */
function isUtility({ templates, interfaces }: PackageArchive): boolean {
  return templates.length + interfaces.length === 0;
}

/** Refuses a package with the name and version of another one that is, or becomes, vetted. */
function refuseClashes(vettedPackages: readonly PackageArchive[], next: readonly PackageArchive[]): void {
  const upgradable = next.filter((archive) => !isUtility(archive));
  const allPackages = [...vettedPackages.filter((archive) => !isUtility(archive)), ...upgradable];
  for (const upgradedPackage of upgradable) {
    const samePackage = allPackages.find(
      ({ id, name, version }) =>
        id !== upgradedPackage.id && name === upgradedPackage.name && version === upgradedPackage.version,
    );
    if (samePackage !== undefined)
      throw knownPackageVersion(formatPackageName(samePackage), formatPackageName(upgradedPackage));
  }
}

function formatPackageName({ id, name, version }: PackageName): string {
  return `${id}(${name} v${version})`;
}

function compareNames(a: PackageName, b: PackageName): number {
  for (const key of ['name', 'version', 'id'] as const) {
    if (a[key] !== b[key]) return a[key] < b[key] ? -1 : 1;
  }
  return 0;
}

/** Functions by which the ledger registers names of its packages. */
export interface NameSources {
  readonly packages: OwnPackages;
  /** Registers the names that an uploaded package defines. */
  learn(archive: PackageArchive): void;
}

export class Packages {
  readonly #known: NameSources;
  readonly #stored = new Map<string, PackageArchive>();
  /** By synchronizer id: the ids of the uploaded packages that are vetted there, and the number of changes. */
  readonly #vetted = new Map<string, { readonly ids: Set<string>; serial: number }>();

  constructor(nameSources: NameSources) {
    this.#known = nameSources;
  }

  /** Every id once: those of the sandbox's own packages, then those of uploaded ones in their order. */
  ids(): readonly string[] {
    return [...new Set([...this.#own().map(({ id }) => id), ...this.#stored.keys()])];
  }

  has(id: string): boolean {
    return this.ids().includes(id);
  }

  /** The content of a package. Throws PACKAGE_NOT_FOUND if it is unknown, or known only from recorded updates. */
  payload(id: string): Uint8Array {
    const archive = this.#stored.get(id) ?? this.#known.packages.written(id);
    if (archive === undefined) throw packageNotFound(id);
    return archive.payload;
  }

  /**
   * Parses a DAR and checks it against the packages that are vetted on the synchronizers. Changes nothing. Throws the
   * participant's refusal (INVALID_DAR, INVALID_ZIP_ENTRY, ZIP_BOMB, DAR_PARSE_ERROR, KNOWN_PACKAGE_VERSION).
   */
  validate(dar: Uint8Array, synchronizerIds: readonly string[]): readonly PackageArchive[] {
    const archives = readDar(dar).map(readArchive);
    for (const synchronizerId of synchronizerIds) {
      refuseClashes(this.#uploaded(this.#idsOn(synchronizerId)), archives);
    }
    return archives;
  }

  /**
   * Stores the packages of a DAR and vets them on the synchronizers. Repeating it changes nothing. Throws the refusals
   * of `validate`.
   */
  upload(dar: Uint8Array, synchronizerIds: readonly string[]): void {
    const archives = this.validate(dar, synchronizerIds);
    for (const archive of archives) {
      if (this.#stored.has(archive.id)) continue;
      this.#stored.set(archive.id, archive);
      this.#known.learn(archive);
    }
    for (const synchronizerId of synchronizerIds) this.#vet(synchronizerId, archives);
  }

  /**
   * The packages with this id, name and version, of which an empty text matches any. Throws PACKAGE_NOT_FOUND if there
   * are none.
   */
  matching({ id, name, version }: PackageName): readonly PackageName[] {
    const fitsFilter = (requestedName: string, foundName: string): boolean =>
      requestedName === '' || requestedName === foundName;
    const archives = [...this.#own(), ...this.#stored.values()].filter(
      (archive) => fitsFilter(id, archive.id) && fitsFilter(name, archive.name) && fitsFilter(version, archive.version),
    );
    if (archives.length === 0) throw packageNotFound(id === '' ? `${name}:${version}` : id);
    return archives;
  }

  /** The packages that are vetted on a synchronizer: the sandbox's own, and uploaded ones. */
  vetting(synchronizerId: string): Vetting {
    return this.#vettingOf(synchronizerId, this.#idsOn(synchronizerId), this.#serial(synchronizerId));
  }

  /**
   * Vets and unvets known packages on a synchronizer, in this order. The sandbox's own remain vetted. Throws
   * KNOWN_PACKAGE_VERSION or INVALID_ARGUMENT.
   * @param dryRun if true, nothing is changed
   * @returns the packages vetted afterwards
   */
  change(synchronizerId: string, changes: readonly VettingChange[], dryRun: boolean): Vetting {
    const previousIds = this.#idsOn(synchronizerId);
    const ids = new Set(previousIds);
    for (const { vets, packages } of changes) {
      for (const id of packages) {
        const archive = this.#stored.get(id);
        if (archive === undefined && !vets) throw invalidArgument(`the sandbox's own package ${id} stays vetted`);
        if (archive !== undefined && vets) {
          refuseClashes(this.#uploaded(ids), [archive]);
          ids.add(id);
        }
        if (!vets) ids.delete(id);
      }
    }
    const isUnchanged = ids.size === previousIds.size && [...ids].every((id) => previousIds.has(id));
    const serial = this.#serial(synchronizerId) + (isUnchanged ? 0 : 1);
    if (!dryRun) this.#vetted.set(synchronizerId, { ids, serial: serial - 1 });
    return this.#vettingOf(synchronizerId, ids, serial);
  }

  #serial(synchronizerId: string): number {
    return 1 + (this.#vetted.get(synchronizerId)?.serial ?? 0);
  }

  #own(): readonly PackageName[] {
    return this.#known.packages.list().filter(({ id }) => !this.#stored.has(id));
  }

  #uploaded(ids: Iterable<string>): readonly PackageArchive[] {
    return [...ids].flatMap((id) => this.#stored.get(id) ?? []);
  }

  #vettingOf(synchronizerId: string, ids: ReadonlySet<string>, serial: number): Vetting {
    const packages = [...this.#own(), ...this.#uploaded(ids)].sort(compareNames);
    return { synchronizerId, packages, serial };
  }

  #idsOn(synchronizerId: string): ReadonlySet<string> {
    return this.#vetted.get(synchronizerId)?.ids ?? new Set();
  }

  #vet(synchronizerId: string, archives: readonly PackageArchive[]): void {
    const vettedIds = this.#vetted.get(synchronizerId) ?? { ids: new Set<string>(), serial: 0 };
    const previousCount = vettedIds.ids.size;
    for (const { id } of archives) vettedIds.ids.add(id);
    if (vettedIds.ids.size > previousCount) vettedIds.serial += 1;
    this.#vetted.set(synchronizerId, vettedIds);
  }
}
