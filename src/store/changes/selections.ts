/**
 * The common parts of pages of selected changes, kept for a short time: compiled filters, and the token events of a range.
 * Clients that follow the end of history read the same ranges, so their token events are computed once for each role.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import type { ChangesRequest, ChangeSelection } from '../../model/push/changes.ts';
import type { ReadSchemas } from '../connection/read-schemas.ts';
import { everyEvent, selectEvents, type SelectedEvents, type WhereCondition } from './selected-events.ts';
import { readTokenEvents, tokenSources, type OffsetRange } from './token-events.ts';
import { compileWhere } from './where-fields.ts';

/** Time after which new versions of packages are used, milliseconds. */
const filterMs = 60_000;
const maxFilters = 1_000;
/** As for pages of changes: redactions and lost rights take effect after this time, milliseconds. */
const tokenEventsMs = 3_000;
const maxRanges = 16;
/** A longer list is not kept, characters. */
const longestKept = 1_000_000;

/** The reader of a page, whose rights its statements have. */
type PageReader = Pick<ChangesRequest, 'role' | 'rights'>;

export class Selections {
  readonly #filters = new ShortCache<WhereCondition>(filterMs, maxFilters);
  readonly #ranges = new ShortCache<string>(tokenEventsMs, maxRanges, (list) => list.length <= longestKept);

  /**
   * Prepares a page before the role of the reader is set, because dictionaries and packages are the same for all readers.
   * @throws IndexerError FILTER_INVALID; FIELD_UNKNOWN
   */
  async prepare(client: ClientBase, schemas: ReadSchemas, request: ChangesRequest): Promise<PreparedSelection> {
    const { selection, template } = request;
    if (selection === undefined) return { parts: () => Promise.resolve(everyEvent) };
    const { where, interfaceName, choices, tokenEvents } = selection;
    const key = JSON.stringify([template, interfaceName, choices, tokenEvents.length > 0, where]);
    const condition =
      where === null
        ? undefined
        : await this.#filters.get(key, () => compileWhere(client, schemas.storage, where, { template, selection }));
    const interfaces = interfaceName === null ? [] : await interfaceKeys(client, schemas, interfaceName);
    return {
      parts: async (range, parametersBefore) => {
        // Nothing is seen through an interface that no stored row uses.
        if (interfaceName !== null && interfaces.length === 0) return undefined;
        if (tokenEvents.length > 0 && range.upTo <= range.from) return undefined;
        const list = await this.#tokenEventsOf(client, schemas, selection, { ...request, range });
        if (list === '[]' && tokenEvents.length > 0) return undefined;
        return selectEvents(schemas, selection, { interfaces, tokenEvents: list, where: condition }, parametersBefore);
      },
    };
  }

  #tokenEventsOf(
    client: ClientBase,
    schemas: ReadSchemas,
    { tokenEvents }: ChangeSelection,
    { role, rights, range }: PageReader & { readonly range: OffsetRange },
  ): Promise<string> {
    const names = tokenSources(tokenEvents);
    if (names.length === 0) return Promise.resolve('[]');
    const key = JSON.stringify([role, rights?.key, names, range.from, range.upTo]);
    return this.#ranges.get(key, () => readTokenEvents(client, schemas, names, range));
  }
}

export interface PreparedSelection {
  /**
   * Parts of the statement that reads this range. Call it when the role of the reader is set. Undefined if no change
   * of the range can be selected.
   */
  readonly parts: (range: OffsetRange, parametersBefore: number) => Promise<SelectedEvents | undefined>;
}

/** Keys of all versions of an interface in table `templates`, whose rows often have no package name for interfaces. */
async function interfaceKeys(client: ClientBase, { storage }: ReadSchemas, name: string): Promise<readonly number[]> {
  const schema = escapeIdentifier(storage);
  const [packageName, moduleName, entityName] = name.split(':');
  const { rows } = await client.query<{ key: number }>(
    `select t.template_pk as key from ${schema}.templates t left join ${schema}.packages p on p.package_id = t.package_id
      where t.entity_name = $3 and t.module_name = $2 and coalesce(t.package_name, p.package_name, t.package_id) = $1`,
    [packageName, moduleName, entityName],
  );
  return rows.map(({ key }) => key);
}

/** Results that are used again for a short time. Concurrent callers share one computation. */
class ShortCache<T> {
  readonly #lifetimeMs: number;
  readonly #most: number;
  readonly #isKept: (value: T) => boolean;
  readonly #entries = new Map<string, { readonly value: Promise<T>; readonly until: number }>();

  constructor(lifetimeMs: number, most: number, isKept: (value: T) => boolean = () => true) {
    this.#lifetimeMs = lifetimeMs;
    this.#most = most;
    this.#isKept = isKept;
  }

  async get(key: string, make: () => Promise<T>): Promise<T> {
    const known = this.#entries.get(key);
    if (known !== undefined && performance.now() < known.until) return known.value;
    const entry = { value: make(), until: performance.now() + this.#lifetimeMs };
    // The entry is inserted again, so that it becomes the newest entry.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#most && oldest !== undefined) this.#entries.delete(oldest);
    const forget = (): void => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    };
    try {
      const value = await entry.value;
      if (!this.#isKept(value)) forget();
      return value;
    } catch (thrown) {
      forget();
      throw thrown;
    }
  }
}
