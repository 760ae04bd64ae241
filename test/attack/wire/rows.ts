/** Creates attempts that are one row of a table: a statement or request, and its expected result. */
import { attempt as tryStatement } from '../../security/attempts.ts';
import { failedVerdict, verdict, type Attempt } from '../attempt.ts';
import type { Login, World } from '../world/world.ts';
import { requestQueryPage, type RequestOptions } from './ask.ts';
import { exchange, head, statusOf } from './raw.ts';

/** SQLSTATE of insufficient privilege. */
const insufficientPrivilege = '42501';

/** A text, or a function that derives the text from the running world. */
export type Text = string | ((world: World) => string);

export function textOf(text: Text, world: World): string {
  return typeof text === 'string' ? text : text(world);
}

/** A request sent as bytes must get one of these statuses. Status 0: the connection is closed without a response. */
export function rawAttempt(
  id: string,
  description: string,
  lines: readonly string[],
  statuses: readonly number[],
): Attempt {
  return {
    id,
    what: description,
    expected: `status ${statuses.join(' or ')}`,
    run: async (world) => {
      const responseText = await exchange(world.port, head(...lines));
      const status = statusOf(responseText);
      return verdict(statuses.includes(status), `status ${String(status)}: ${responseText.slice(0, 160)}`);
    },
  };
}

export interface RequestRow {
  readonly id: string;
  readonly what: string;
  readonly path: Text;
  readonly options?: RequestOptions | ((world: World) => RequestOptions);
  readonly statuses: readonly number[];
  /** Values that the body must not contain. */
  readonly without?: (world: World) => readonly string[];
}

/** The response must have one of these statuses, and its body must not contain the values of `without`. */
export function requestRow({
  id,
  what: description,
  path,
  options = {},
  statuses,
  without: forbiddenText,
}: RequestRow): Attempt {
  return {
    id,
    what: description,
    expected: `status ${statuses.join(' or ')}`,
    run: async (world) => {
      const requestOptions = typeof options === 'function' ? options(world) : options;
      const { status, body } = await requestQueryPage(`${world.httpUrl}${textOf(path, world)}`, {
        most: 2_000_000,
        ...requestOptions,
      });
      const leakedValues = (forbiddenText?.(world) ?? []).filter((value) => value !== '' && body.includes(value));
      const observation = `status ${String(status)}, ${leakedValues.length === 0 ? body.slice(0, 120) : 'a hidden value in the body'}`;
      return verdict(statuses.includes(status) && leakedValues.length === 0, observation);
    },
  };
}

/** Postgres must reject the statement of this login, by default with insufficient privilege. */
export function refusedRow(
  login: Login,
  id: string,
  description: string,
  sql: Text,
  states: readonly string[] = [insufficientPrivilege],
): Attempt {
  return {
    id: `${login}-${id}`,
    what: description,
    expected: `SQLSTATE ${states.join(' or ')}`,
    run: async (world) => {
      const client = await world.session(login);
      try {
        const outcome = await tryStatement(client, textOf(sql, world));
        if (outcome === undefined) return failedVerdict('the statement was carried out');
        return verdict(states.includes(outcome), `SQLSTATE ${outcome}`);
      } finally {
        await client.end();
      }
    },
  };
}

/** The statement must return no row or be rejected. */
export function emptyRow(
  login: Login,
  id: string,
  description: string,
  sql: Text,
  setup: readonly string[] = [],
): Attempt {
  return {
    id: `${login}-${id}`,
    what: description,
    expected: 'no row, or a refusal',
    run: async (world) => {
      const client = await world.session(login);
      try {
        for (const setupSql of setup) await client.query(setupSql);
        const { rows } = await client.query<Record<string, unknown>>(textOf(sql, world));
        return verdict(rows.length === 0, `${String(rows.length)} rows: ${JSON.stringify(rows.slice(0, 2))}`);
      } catch (error) {
        const state = String(Reflect.get(error as object, 'code'));
        return verdict(state === insufficientPrivilege, `SQLSTATE ${state}`);
      } finally {
        await client.end();
      }
    },
  };
}
