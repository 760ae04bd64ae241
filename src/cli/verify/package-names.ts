/** What the ledger's events call the packages of their templates, against the dictionary: a package has one name. */
import type { PackageName } from '../../ledger/frames/plain-frame.ts';
import type { Snapshot } from '../../store/verify/snapshot.ts';
import { storedPackageNames } from '../../store/verify/stored-names.ts';
import type { Finding } from './result.ts';

export class PackageNames {
  readonly #byTemplate = new Map<string, Set<string>>();

  add({ template, packageName }: PackageName): void {
    if (template === null || packageName === null) return;
    const names = this.#byTemplate.get(template);
    if (names === undefined) this.#byTemplate.set(template, new Set([packageName]));
    else names.add(packageName);
  }

  /** Templates that are named otherwise here. One that is not here at all is missed with its rows. */
  async differences({ client }: Snapshot): Promise<readonly Finding[]> {
    const stored = await storedPackageNames(client);
    return [...this.#byTemplate].flatMap(([template, names]): readonly Finding[] => {
      const name = stored.get(template);
      if (name === undefined || (name !== null && names.has(name))) return [];
      return [{ what: 'different', row: `template ${template}`, fields: ['package_name'] }];
    });
  }
}
