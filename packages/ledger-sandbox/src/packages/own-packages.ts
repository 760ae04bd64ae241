/**
 * The packages of the sandbox's own templates, and those that recorded updates name. Written ones can be downloaded, and of
 * several versions of a name new contracts are of the newest; of the others nothing but a name and an id is known.
 */
import type { WrittenPackage } from '../daml-lf/declaration.ts';
import { fingerprint } from '../wire/random.ts';
import type { PackageName } from './package-name.ts';
import { compareVersions } from './package-name.ts';

/** The version given to packages that are not written. */
const unwrittenVersion = '1.0.0';

/** The id of a package that is not written: 64 hex digits, always the same for a name. */
function unwrittenId(name: string): string {
  return fingerprint(`package ${name}`);
}

export class OwnPackages {
  readonly #written = new Map<string, WrittenPackage>();
  /** By name: the newest written version. */
  readonly #newest = new Map<string, WrittenPackage>();
  readonly #listed = new Map<string, PackageName>();
  /** Ids of written packages, and those made of names; not the recorded ones. */
  readonly #names = new Map<string, string>();

  /** Makes a package known. From then on new contracts are of it, unless a newer version is there. */
  vet(added: WrittenPackage): void {
    const { id, name, version } = added;
    this.#written.set(id, added);
    this.#listed.set(id, { id, name, version });
    this.#names.set(id, name);
    const before = this.#newest.get(name);
    if (before === undefined || compareVersions(before.version, version) < 0) this.#newest.set(name, added);
  }

  /** Makes a name known that a template of the sandbox has. */
  name(name: string): void {
    if (this.#newest.has(name)) return;
    const id = unwrittenId(name);
    this.#listed.set(id, { id, name, version: unwrittenVersion });
    this.#names.set(id, name);
  }

  /** Makes the package of a recorded update known. */
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

  /** The newest written version of a name; undefined when the package is not written. */
  newest(name: string): WrittenPackage | undefined {
    return this.#newest.get(name);
  }

  /** A written package. */
  written(id: string): WrittenPackage | undefined {
    return this.#written.get(id);
  }

  /** All of them. */
  list(): readonly PackageName[] {
    return [...this.#listed.values()];
  }
}
