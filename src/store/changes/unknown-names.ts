/**
 * Names in a selection that no stored row and no stored package has. A client with a mistyped name would wait without a
 * warning. Reads with the rights of the reader: a party that the reader may not see is unknown to it.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import { nearestNames } from '../../errors/nearest-names.ts';
import type { UnknownName } from '../../config/selection/change-selection.ts';
import type { ChangesRequest } from '../../model/push/changes.ts';
import type { Database } from '../connection/database.ts';
import { readSchemas, type ReadSchemas } from '../connection/read-schemas.ts';
import { eventTypesOf, readPackagesOf } from '../filters/payload-types.ts';
import { inSnapshot } from '../reads/snapshot-read.ts';

type NamedRequest = Pick<ChangesRequest, 'role' | 'rights' | 'template' | 'party' | 'selection'>;

/** The names of a request that are unknown to its reader. @throws IndexerError STORE_ errors */
export function unknownNames(database: Database, request: NamedRequest): Promise<readonly UnknownName[]> {
  const { role, rights, template, party, selection } = request;
  const schemas = readSchemas(database.schema);
  const interfaceName = selection?.interfaceName ?? null;
  const choices = selection?.choices ?? [];
  return inSnapshot(
    database,
    async (client) => {
      if (role !== null) await client.query(`set local role ${escapeIdentifier(role)}`);
      const definitions = new Definitions(client, schemas);
      const unknown = [
        ...(template === null ? [] : await definitions.unknown('template', template)),
        ...(interfaceName === null ? [] : await definitions.unknown('interface', interfaceName)),
      ];
      // A name that is not known has no choices, so the choices of all templates are searched.
      const owner = unknown.length === 0 ? { template, interfaceName } : { template: null, interfaceName: null };
      return [
        ...unknown,
        ...(choices.length === 0 ? [] : await unknownChoices(client, schemas, { ...owner, choices })),
        ...(party === null ? [] : await unknownParty(client, schemas, party)),
      ];
    },
    rights,
  );
}

type DefinitionKind = 'template' | 'interface';

/** Templates and interfaces that stored rows use or stored packages define. */
class Definitions {
  readonly #client: ClientBase;
  readonly #schemas: ReadSchemas;

  constructor(client: ClientBase, schemas: ReadSchemas) {
    this.#client = client;
    this.#schemas = schemas;
  }

  async unknown(kind: DefinitionKind, name: string): Promise<readonly UnknownName[]> {
    const used = await this.#usedKinds(name);
    if (used.includes(kind)) return [];
    const defined = await this.#defined();
    if (defined.some((definition) => definition.name === name && definition.kind === kind)) return [];
    const isOfOtherKind = used.length > 0 || defined.some((definition) => definition.name === name);
    const names = [...new Set(defined.filter((definition) => definition.kind === kind).map((found) => found.name))];
    return [{ parameter: kind, name, isOfOtherKind, nearest: similarNames(name, names) }];
  }

  async #usedKinds(name: string): Promise<readonly DefinitionKind[]> {
    const { rows } = await this.#client.query<{ kind: DefinitionKind }>(
      `select distinct t.kind from ${escapeIdentifier(this.#schemas.explore)}.templates t where t.template_fqn = $1`,
      [name],
    );
    return rows.map(({ kind }) => kind);
  }

  async #defined(): Promise<readonly { readonly name: string; readonly kind: DefinitionKind }[]> {
    const { explore, storage } = this.#schemas;
    const { rows } = await this.#client.query<{ name: string; kind: DefinitionKind }>(
      `select t.template_fqn as name, t.kind from ${escapeIdentifier(explore)}.templates t
       union
       select ${escapeIdentifier(explore)}.fqn(p.package_name, d.item ->> 'moduleName', d.item ->> 'entityName'), d.kind
         from ${escapeIdentifier(storage)}.packages p
        cross join lateral (
                select jsonb_array_elements(p.model -> 'templates') as item, 'template' as kind
                union all select jsonb_array_elements(p.model -> 'interfaces'), 'interface') d`,
    );
    return rows;
  }
}

interface NamedChoices {
  readonly template: string | null;
  readonly interfaceName: string | null;
  readonly choices: readonly string[];
}

async function unknownChoices(
  client: ClientBase,
  schemas: ReadSchemas,
  { template, interfaceName, choices }: NamedChoices,
): Promise<readonly UnknownName[]> {
  const known = new Set(await exercisedChoices(client, schemas, template));
  if (choices.every((choice) => known.has(choice))) return [];
  const names = [template, interfaceName].flatMap((name) => name ?? []);
  const defined =
    names.length === 0
      ? await definedChoices(client, schemas)
      : eventTypesOf(await readPackagesOf(client, schemas.storage, names), { template, interfaceName }).choices.map(
          ({ name }) => name,
        );
  for (const choice of ['Archive', ...defined]) known.add(choice);
  return choices
    .filter((choice) => !known.has(choice))
    .map((name) => ({ parameter: 'choice', name, isOfOtherKind: false, nearest: similarNames(name, [...known]) }));
}

async function exercisedChoices(
  client: ClientBase,
  { explore, storage }: ReadSchemas,
  template: string | null,
): Promise<readonly string[]> {
  const schema = escapeIdentifier(storage);
  const { rows } = await client.query<{ choice: string }>(
    `select distinct h.choice from ${schema}.choices h join ${schema}.templates t on t.template_pk = h.template_pk
      where $1::text is null or ${escapeIdentifier(explore)}.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) = $1`,
    [template],
  );
  return rows.map(({ choice }) => choice);
}

async function definedChoices(client: ClientBase, { storage }: ReadSchemas): Promise<readonly string[]> {
  const { rows } = await client.query<{ choice: string }>(
    `select distinct c ->> 'name' as choice from ${escapeIdentifier(storage)}.packages p
      cross join lateral jsonb_array_elements((p.model -> 'templates') || (p.model -> 'interfaces')) d
      cross join lateral jsonb_array_elements(d -> 'choices') c`,
  );
  return rows.map(({ choice }) => choice);
}

async function unknownParty(client: ClientBase, schemas: ReadSchemas, party: string): Promise<readonly UnknownName[]> {
  const explore = escapeIdentifier(schemas.explore);
  const { rows } = await client.query<{ nearest: string | null }>(
    `select ${explore}.similar_parties($1) as nearest where not ${explore}.is_known_party($1)`,
    [party],
  );
  return rows.map(({ nearest }) => ({
    parameter: 'party',
    name: party,
    isOfOtherKind: false,
    nearest: nearest?.split(', ') ?? [],
  }));
}

/** The nearest names, otherwise names with the same last part. */
function similarNames(name: string, known: readonly string[]): readonly string[] {
  const nearest = nearestNames(name, known);
  if (nearest.length > 0) return nearest;
  const entity = name.slice(name.lastIndexOf(':') + 1).toLowerCase();
  return known.filter((other) => other.toLowerCase().endsWith(`:${entity}`)).slice(0, 3);
}
