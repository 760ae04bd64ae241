/**
 * The packages of the sandbox's own templates, and those that recorded updates name. Generated packages can be
 * downloaded, and new contracts use the newest of several versions of a name. Of other packages only a name and an id
 * are known.
 */
import type { WrittenPackage } from '../daml-lf/declaration.ts';
import { fingerprint } from '../wire/random.ts';
import type { PackageName } from './package-name.ts';
import { compareVersions } from './package-name.ts';

/** Version of packages that are not generated. */
const unwrittenVersion = '1.0.0';

/** Id of a package that is not generated: 64 hex digits, always the same for a name. */
function unwrittenId(name: string): string {
  return fingerprint(`package ${name}`);
}

export class OwnPackages {
  readonly #written = new Map<string, WrittenPackage>();
  /** The newest generated version, by name. */
  readonly #newest = new Map<string, WrittenPackage>();
  readonly #listed = new Map<string, PackageName>();
  /** Names by id: of generated packages, and of ids derived from names, but not of recorded ones. */
  readonly #names = new Map<string, string>();

  /** Registers a package. New contracts use it from then on, unless a newer version exists. */
  vet(writtenPackage: WrittenPackage): void {
    const { id, name, version } = writtenPackage;
    this.#written.set(id, writtenPackage);
    this.#listed.set(id, { id, name, version });
    this.#names.set(id, name);
    const previousPackage = this.#newest.get(name);
    if (previousPackage === undefined || compareVersions(previousPackage.version, version) < 0)
      this.#newest.set(name, writtenPackage);
  }

  /** Registers the name of a package whose templates the sandbox has. */
  name(name: string): void {
    if (this.#newest.has(name)) return;
    const id = unwrittenId(name);
    this.#listed.set(id, { id, name, version: unwrittenVersion });
    this.#names.set(id, name);
  }

  /** Registers the package of a recorded update. */
  observe(name: string, id: string): void {
    if (!this.#listed.has(id)) this.#listed.set(id, { id, name, version: unwrittenVersion });
  }

  /** The package id of new contracts of this package name. */
  idOf(name: string): string {
    return this.#newest.get(name)?.id ?? unwrittenId(name);
  }

  /** The name of one of the sandbox's own packages; undefined for other ids. */
  nameOf(id: string): string | undefined {
    return this.#names.get(id);
  }

  /** The newest generated version of a name; undefined if the package is not generated. */
  newest(name: string): WrittenPackage | undefined {
    return this.#newest.get(name);
  }

  /** A generated package. */
  written(id: string): WrittenPackage | undefined {
    return this.#written.get(id);
  }

  /** All packages: generated ones, those derived from names, and those of recorded updates. */
  list(): readonly PackageName[] {
    return [...this.#listed.values()];
  }
}
