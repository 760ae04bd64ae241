/**
 * The packages of the sandbox's own templates, and those that recorded updates name. Generated ones can be downloaded,
 * and new contracts are of the newest of several versions of a name; of other packages only a name and an id are known.
 */
import type { WrittenPackage } from '../daml-lf/declaration.ts';
import { fingerprint } from '../wire/random.ts';
import type { PackageName } from './package-name.ts';
import { compareVersions } from './package-name.ts';

/** The version of packages that are not generated. */
const unwrittenVersion = '1.0.0';

/** The id of a package that is not generated: 64 hex digits, always the same for a name. */
function unwrittenId(name: string): string {
  return fingerprint(`package ${name}`);
}

export class OwnPackages {
  readonly #written = new Map<string, WrittenPackage>();
  /** By name: the newest generated version. */
  readonly #newest = new Map<string, WrittenPackage>();
  readonly #listed = new Map<string, PackageName>();
  /** Ids of generated packages, and those derived from names; not the recorded ones. */
  readonly #names = new Map<string, string>();

  /** Registers a package. New contracts are of it from then on, unless a newer version exists. */
  vet(added: WrittenPackage): void {
    const { id, name, version } = added;
    this.#written.set(id, added);
    this.#listed.set(id, { id, name, version });
    this.#names.set(id, name);
    const before = this.#newest.get(name);
    if (before === undefined || compareVersions(before.version, version) < 0) this.#newest.set(name, added);
  }

  /** Registers a name of a template of the sandbox. */
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

  /** The id that new contracts of the package name carry. */
  idOf(name: string): string {
    return this.#newest.get(name)?.id ?? unwrittenId(name);
  }

  /** The name of a package of the sandbox's own; undefined for other ids. */
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

  /** All generated packages. */
  list(): readonly PackageName[] {
    return [...this.#listed.values()];
  }
}
