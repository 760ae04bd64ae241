/**
 * The Daml types of JSON columns, by which filters are checked. Packages are read when a filter first needs them. A
 * package never changes, because its id is the hash of its content, so it is kept.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import type { DamlType, PackageLookup, PackageModel } from '../../daml/package-model.ts';

/** The values of a JSON column: payloads of a template, views of an interface, or arguments of a choice. */
export type DocumentSubject =
  | { readonly kind: 'template' | 'interface'; readonly name: string }
  | { readonly kind: 'argument' | 'result'; readonly name: string; readonly choice: string };

const anyTypes: readonly DamlType[] = [{ kind: 'builtin', name: 'any' }];

interface Entity {
  readonly packageId: string;
  readonly moduleName: string;
  readonly entityName: string;
}

export class DocumentSubjects {
  readonly #storage: string;
  readonly #explore: string;
  readonly #packages = new Map<string, PackageModel>();
  readonly lookup: PackageLookup = (packageId) => this.#packages.get(packageId);

  constructor(storage: string, explore: string) {
    this.#storage = escapeIdentifier(storage);
    this.#explore = escapeIdentifier(explore);
  }

  /** @throws DatabaseError if the name is unknown or ambiguous */
  async typesOf(client: ClientBase, subject: DocumentSubject | undefined): Promise<readonly DamlType[]> {
    if (subject === undefined) return anyTypes;
    const entities = await this.#entities(client, subject.name);
    await this.#load(client, new Set(entities.map(({ packageId }) => packageId)));
    const types = entities.flatMap((entity) => this.#typesOfEntity(entity, subject));
    return types.length === 0 ? anyTypes : types;
  }

  async #entities(client: ClientBase, name: string): Promise<readonly Entity[]> {
    const { rows } = await client.query<Entity>(
      `select t.package_id as "packageId", t.module_name as "moduleName", t.entity_name as "entityName"
         from ${this.#storage}.templates t where t.template_pk = any ((select ${this.#explore}.template_pks($1))::integer[])`,
      [name],
    );
    return rows;
  }

  /** Reads packages, and the packages whose types they use. */
  async #load(client: ClientBase, ids: ReadonlySet<string>): Promise<void> {
    for (let missing = this.#missing(ids); missing.length > 0;) {
      const { rows } = await client.query<{ model: PackageModel }>(
        `select p.model from ${this.#storage}.packages p where p.package_id = any ($1)`,
        [missing],
      );
      for (const { model } of rows) this.#packages.set(model.packageId, model);
      // A package that is not stored yet is not requested again here: its types are unknown for now.
      missing = this.#missing(new Set(rows.flatMap(({ model }) => model.dependencies)));
    }
  }

  #missing(ids: ReadonlySet<string>): readonly string[] {
    return [...ids].filter((id) => !this.#packages.has(id));
  }

  #typesOfEntity({ packageId, moduleName, entityName }: Entity, subject: DocumentSubject): readonly DamlType[] {
    const model = this.lookup(packageId);
    if (model === undefined) return anyTypes;
    const isNamed = (item: { readonly moduleName: string; readonly entityName: string }): boolean =>
      item.moduleName === moduleName && item.entityName === entityName;
    const owner = model.templates.find(isNamed) ?? model.interfaces.find(isNamed);
    if (owner === undefined) return anyTypes;
    if (!('choice' in subject)) {
      if ('view' in owner) return [owner.view];
      return [{ kind: 'named', name: `${packageId}:${moduleName}:${entityName}`, arguments: [] }];
    }
    // The choice may belong to an interface of the template, whose arguments have other types.
    const choice = owner.choices.find(({ name }) => name === subject.choice);
    return choice === undefined ? anyTypes : [choice[subject.kind]];
  }
}
