/**
 * Explains an id with everything stored about it: an update with its tree, the history of a contract, the result of a
 * command. Rows are returned as the JSON text that Postgres produces, so that no digit is lost. The number of rows is
 * limited.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import type { NodeRights } from '../../model/push/node-rights.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { labelsIn } from './party-labels.ts';
import { inSnapshot } from './snapshot-read.ts';

export const explainable = ['update', 'contract', 'command'] as const;
export type ExplainableKind = (typeof explainable)[number];

export interface ExplainRequest {
  /** An offset, or the id of an update, a contract or a command. */
  readonly id: string;
  /** Kind of the id; null searches for all kinds. */
  readonly as: ExplainableKind | null;
  /** Maximum number of events of an update, or rows of a contract's history. */
  readonly most: number;
}

/** Rows as JSON objects. */
export interface Rows {
  readonly rows: readonly string[];
  /** Number of rows that were left out. */
  readonly omitted: number;
}

export interface ExplainedUpdate {
  readonly kind: 'update';
  readonly summary: string;
  readonly events: Rows;
  readonly transfers: Rows;
  readonly changes: Rows;
}

export interface ExplainedContract {
  readonly kind: 'contract';
  readonly history: Rows;
}

export interface ExplainedCommand {
  readonly kind: 'command';
  readonly outcomes: Rows;
  /** The update that the command caused; null if there is none. */
  readonly update: ExplainedUpdate | null;
}

type Explanation = ExplainedUpdate | ExplainedContract | ExplainedCommand;

export type Explained = Explanation & {
  /** Labels of the parties in the rows, by party id. */
  readonly labels: ReadonlyMap<string, string>;
};

/** Maximum characters of JSON for one kind of rows. It applies in addition to the limit on the number of rows. */
const maxCharacters = 16_000_000;

/**
 * Explains this id in one snapshot.
 * @param reader reads as a user of the participant; the role of the connection must be a member of its role
 * @throws IndexerError QUERY_REFUSED if no object or several objects have this id; STORE_ errors
 */
export function readExplained(
  database: Database,
  request: ExplainRequest,
  reader?: { readonly role: string; readonly rights: NodeRights },
): Promise<Explained> {
  return inSnapshot(
    database,
    async (client) => {
      if (reader !== undefined) await client.query(`set local role ${escapeIdentifier(reader.role)}`);
      const explanation = await explainIn(client, database.schema, request);
      return { ...explanation, labels: await labelsIn(client, database.schema, textsOf(explanation)) };
    },
    reader?.rights,
  );
}

/** Explains this id in the current transaction, without labels. @param storage name of the storage schema @throws as readExplained */
export function explainIn(client: ClientBase, storage: string, request: ExplainRequest): Promise<Explanation> {
  return new Explainer(client, readSchemas(storage).explore, request).explain();
}

class Explainer {
  readonly #client: ClientBase;
  readonly #explore: string;
  readonly #wanted: ExplainRequest;

  constructor(client: ClientBase, explore: string, request: ExplainRequest) {
    this.#client = client;
    this.#explore = escapeIdentifier(explore);
    this.#wanted = request;
  }

  async explain(): Promise<Explanation> {
    const { as: requestedKind } = this.#wanted;
    const updatePositions = requestedKind === null || requestedKind === 'update' ? await this.#places() : [];
    const contract = requestedKind === null || requestedKind === 'contract' ? await this.#contract() : undefined;
    const command = requestedKind === null || requestedKind === 'command' ? await this.#command() : undefined;
    const explanations = [
      ...updatePositions.map((position) => async () => this.#update(position.offset)),
      ...[contract, command].flatMap((explained) =>
        explained === undefined ? [] : [() => Promise.resolve(explained)],
      ),
    ];
    if (explanations.length > 1)
      throw this.#ambiguous([...updatePositions.map(({ by: idKind }) => idKind), contract?.kind, command?.kind]);
    const [onlyExplanation] = explanations;
    if (onlyExplanation === undefined) throw await this.#nothing();
    return onlyExplanation();
  }

  /** Offsets of the update with this id, and of the update at this offset. */
  async #places(): Promise<readonly { readonly by: string; readonly offset: number }[]> {
    const { id } = this.#wanted;
    const { rows } = await this.#client.query<{ by: string; offset: number }>(
      `select 'update' as by, ${this.#explore}.update_offset($1) as "offset"
       union all select 'offset', (select s."offset" from ${this.#explore}.explain_summary($2) s)`,
      [id, isOffset(id) ? Number(id) : null],
    );
    return rows.filter(({ offset }) => offset !== null);
  }

  async #update(offset: number): Promise<ExplainedUpdate> {
    const { rows } = await this.#client.query<{ line: string }>(
      `select row_to_json(s)::text as line from ${this.#explore}.explain_summary($1) s`,
      [offset],
    );
    return {
      kind: 'update',
      summary: rows[0]?.line ?? '{}',
      events: await this.#rows(
        `${this.#explore}.explain_update($1::bigint)`,
        [offset],
        `${this.#explore}.update_tree($1)`,
      ),
      transfers: await this.#movements('token_transfers', offset, ['amount']),
      changes: await this.#movements('token_changes', offset, tokenSums),
    };
  }

  async #isUpdate(offset: number): Promise<boolean> {
    const { rows } = await this.#client.query(`select from ${this.#explore}.explain_summary($1)`, [offset]);
    return rows.length === 1;
  }

  /** Rows of a view for one update. Amounts are texts, so that all digits are kept. */
  async #movements(view: string, offset: number, amountColumns: readonly string[]): Promise<Rows> {
    const texts = amountColumns.map((name) => `trim_scale(m.${name})::text as ${name}`).join(', ');
    const { rows } = await this.#client.query<{ columns: string }>(
      `select string_agg('m.' || quote_ident(attname), ', ' order by attnum) as columns
         from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attname = any ($2)`,
      [`${this.#explore}.${view}`, amountColumns],
    );
    const columns = rows[0]?.columns ?? '';
    return this.#rows(`(select ${columns}, ${texts} from ${this.#explore}.${view} m where m."offset" = $1)`, [offset]);
  }

  async #contract(): Promise<ExplainedContract | undefined> {
    const { id, most: maxRows } = this.#wanted;
    const lifeRows = await this.#rows(`${this.#explore}.explain_contract($1, $2)`, [id, maxRows]);
    return lifeRows.rows.length === 0 ? undefined : { kind: 'contract', history: lifeRows };
  }

  async #command(): Promise<ExplainedCommand | undefined> {
    const outcomes = await this.#rows(`${this.#explore}.explain_command($1)`, [this.#wanted.id]);
    if (outcomes.rows.length === 0) return undefined;
    const acceptedOutcomes = outcomes.rows
      .map((row) => JSON.parse(row) as { readonly offset: number; readonly succeeded: boolean })
      .filter(({ succeeded: isAccepted }) => isAccepted);
    const [onlyOutcome] = acceptedOutcomes;
    // The update may be missing because the filter does not return it.
    const isUpdateStored =
      acceptedOutcomes.length === 1 && onlyOutcome !== undefined && (await this.#isUpdate(onlyOutcome.offset));
    return { kind: 'command', outcomes, update: isUpdateStored ? await this.#update(onlyOutcome.offset) : null };
  }

  /**
   * The first rows of a relation, and the number of the remaining rows.
   * @param countedRelation a relation that has the same number of rows and is cheaper to count
   */
  async #rows(relation: string, values: readonly unknown[], countedRelation = relation): Promise<Rows> {
    const maxRows = this.#wanted.most;
    await this.#client.query(
      `declare explained no scroll cursor for select row_to_json(r)::text as line from ${relation} r`,
      [...values],
    );
    const rows: string[] = [];
    let isComplete = false;
    for (let characters = 0; rows.length < maxRows && characters < maxCharacters && !isComplete;) {
      const page = Math.min(pageRows, maxRows - rows.length);
      const fetched = await this.#client.query<{ line: string }>(`fetch ${String(page)} from explained`);
      rows.push(...fetched.rows.map(({ line }) => line));
      characters += fetched.rows.reduce((sum, { line }) => sum + line.length, 0);
      isComplete = fetched.rows.length < page;
    }
    await this.#client.query('close explained');
    if (isComplete) return { rows, omitted: 0 };
    const count = `select count(*)::integer as all from ${countedRelation} r`;
    const { rows: counts } = await this.#client.query<{ all: number }>(count, [...values]);
    return { rows, omitted: Math.max(0, (counts[0]?.all ?? 0) - rows.length) };
  }

  #ambiguous(kinds: readonly (string | undefined)[]): IndexerError {
    const names = kinds.filter((kind) => kind !== undefined);
    return new IndexerError(
      `"${this.#wanted.id.slice(0, 80)}" is ${names.map((name) => kindLabels[name]).join(' and ')} here`,
      {
        code: 'QUERY_REFUSED',
        remedy:
          'say which one is meant: --as update, --as contract or --as command; of an update its id is never ambiguous',
      },
    );
  }

  async #nothing(): Promise<IndexerError> {
    const { id, as: requestedKind } = this.#wanted;
    const { rows } = await this.#client.query<{ known: string }>(
      `select ${this.#explore}.known_ranges_text() as known`,
    );
    const kinds = requestedKind === null ? 'update, contract or command' : requestedKind;
    const missingText = isOffset(id) && requestedKind !== 'contract' ? `no update at offset ${id}, and no ` : 'no ';
    return new IndexerError(`${missingText}${kinds} of id "${id.slice(0, 80)}" is here; ${rows[0]?.known ?? ''}`, {
      code: 'QUERY_REFUSED',
      remedy:
        'check the id; explore.coverage lists the stored history and the reasons for gaps, a role limited to parties sees only theirs, and a command that the participant refused at once leaves no completion',
    });
  }
}

/** All rows of an explanation, as JSON. */
function textsOf(explained: Explanation): readonly string[] {
  if (explained.kind === 'contract') return explained.history.rows;
  if (explained.kind === 'command') {
    return [...explained.outcomes.rows, ...(explained.update === null ? [] : textsOf(explained.update))];
  }
  const { summary, events, transfers, changes } = explained;
  return [summary, ...[events, transfers, changes].flatMap(({ rows }) => rows)];
}

const pageRows = 100;
const tokenSums = ['amount_in', 'amount_out', 'net', 'locked_in', 'locked_out', 'moved', 'explained'];
const kindLabels: Readonly<Record<string, string>> = {
  update: 'the id of an update',
  offset: 'the offset of an update',
  contract: 'a contract',
  command: 'a command',
};

function isOffset(id: string): boolean {
  return /^\d{1,15}$/.test(id);
}
