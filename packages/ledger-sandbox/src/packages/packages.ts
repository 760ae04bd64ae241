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
function refuseClashes(vetted: readonly PackageArchive[], next: readonly PackageArchive[]): void {
  const upgradable = next.filter((archive) => !isUtility(archive));
  const all = [...vetted.filter((known) => !isUtility(known)), ...upgradable];
  for (const one of upgradable) {
    const same = all.find(({ id, name, version }) => id !== one.id && name === one.name && version === one.version);
    if (same !== undefined) throw knownPackageVersion(formatPackageName(same), formatPackageName(one));
  }
}

function formatPackageName({ id, name, version }: PackageName): string {
  return `${id}(${name} v${version})`;
}

function byName(a: PackageName, b: PackageName): number {
  for (const key of ['name', 'version', 'id'] as const) {
    if (a[key] !== b[key]) return a[key] < b[key] ? -1 : 1;
  }
  return 0;
}

/** Functions by which the ledger registers names of its packages. */
export interface KnownNames {
  readonly packages: OwnPackages;
  /** Registers the names that an uploaded package defines. */
  learn(uploaded: PackageArchive): void;
}

export class Packages {
  readonly #known: KnownNames;
  readonly #stored = new Map<string, PackageArchive>();
  /** By synchronizer id: the ids of the uploaded packages that are vetted there, and the number of changes. */
  readonly #vetted = new Map<string, { readonly ids: Set<string>; serial: number }>();

  constructor(known: KnownNames) {
    this.#known = known;
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
    const found = this.#stored.get(id) ?? this.#known.packages.written(id);
    if (found === undefined) throw packageNotFound(id);
    return found.payload;
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
    const fits = (requested: string, found: string): boolean => requested === '' || requested === found;
    const found = [...this.#own(), ...this.#stored.values()].filter(
      (known) => fits(id, known.id) && fits(name, known.name) && fits(version, known.version),
    );
    if (found.length === 0) throw packageNotFound(id === '' ? `${name}:${version}` : id);
    return found;
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
    const before = this.#idsOn(synchronizerId);
    const ids = new Set(before);
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
    const same = ids.size === before.size && [...ids].every((id) => before.has(id));
    const serial = this.#serial(synchronizerId) + (same ? 0 : 1);
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
    const packages = [...this.#own(), ...this.#uploaded(ids)].sort(byName);
    return { synchronizerId, packages, serial };
  }

  #idsOn(synchronizerId: string): ReadonlySet<string> {
    return this.#vetted.get(synchronizerId)?.ids ?? new Set();
  }

  #vet(synchronizerId: string, archives: readonly PackageArchive[]): void {
    const vetted = this.#vetted.get(synchronizerId) ?? { ids: new Set<string>(), serial: 0 };
    const before = vetted.ids.size;
    for (const { id } of archives) vetted.ids.add(id);
    if (vetted.ids.size > before) vetted.serial += 1;
    this.#vetted.set(synchronizerId, vetted);
  }
}
