/** Creates attempts that are one row of a table: a statement or request, and its expected result. */
import { attempt as tryStatement } from '../../security/attempts.ts';
import { broken, verdict, type Attempt } from '../attempt.ts';
import type { Login, World } from '../world/world.ts';
import { ask, type AskOptions } from './ask.ts';
import { exchange, head, statusOf } from './raw.ts';

/** SQLSTATE of insufficient privilege. */
const noRight = '42501';

/** A text, or a function that derives the text from the running world. */
export type Text = string | ((world: World) => string);

export function textOf(text: Text, world: World): string {
  return typeof text === 'string' ? text : text(world);
}

/** A request sent as bytes must get one of these statuses. Status 0: the connection is closed without a response. */
export function rawRow(id: string, what: string, lines: readonly string[], statuses: readonly number[]): Attempt {
  return {
    id,
    what,
    expected: `status ${statuses.join(' or ')}`,
    run: async (world) => {
      const answer = await exchange(world.port, head(...lines));
      const status = statusOf(answer);
      return verdict(statuses.includes(status), `status ${String(status)}: ${answer.slice(0, 160)}`);
    },
  };
}

export interface RequestRow {
  readonly id: string;
  readonly what: string;
  readonly path: Text;
  readonly options?: AskOptions | ((world: World) => AskOptions);
  readonly statuses: readonly number[];
  /** Values that the body must not contain. */
  readonly without?: (world: World) => readonly string[];
}

/** The response must have one of these statuses, and its body must not contain the values of `without`. */
export function requestRow({ id, what, path, options = {}, statuses, without }: RequestRow): Attempt {
  return {
    id,
    what,
    expected: `status ${statuses.join(' or ')}`,
    run: async (world) => {
      const requestOptions = typeof options === 'function' ? options(world) : options;
      const { status, body } = await ask(`${world.httpUrl}${textOf(path, world)}`, {
        most: 2_000_000,
        ...requestOptions,
      });
      const leaked = (without?.(world) ?? []).filter((value) => value !== '' && body.includes(value));
      const seen = `status ${String(status)}, ${leaked.length === 0 ? body.slice(0, 120) : 'a hidden value in the body'}`;
      return verdict(statuses.includes(status) && leaked.length === 0, seen);
    },
  };
}

/** Postgres must reject the statement of this login, by default with insufficient privilege. */
export function refusedRow(
  as: Login,
  id: string,
  what: string,
  sql: Text,
  states: readonly string[] = [noRight],
): Attempt {
  return {
    id: `${as}-${id}`,
    what,
    expected: `SQLSTATE ${states.join(' or ')}`,
    run: async (world) => {
      const client = await world.session(as);
      try {
        const outcome = await tryStatement(client, textOf(sql, world));
        if (outcome === undefined) return broken('the statement was carried out');
        return verdict(states.includes(outcome), `SQLSTATE ${outcome}`);
      } finally {
        await client.end();
      }
    },
  };
}

/** The statement must return no row or be rejected. */
export function emptyRow(as: Login, id: string, what: string, sql: Text, setup: readonly string[] = []): Attempt {
  return {
    id: `${as}-${id}`,
    what,
    expected: 'no row, or a refusal',
    run: async (world) => {
      const client = await world.session(as);
      try {
        for (const each of setup) await client.query(each);
        const { rows } = await client.query<Record<string, unknown>>(textOf(sql, world));
        return verdict(rows.length === 0, `${String(rows.length)} rows: ${JSON.stringify(rows.slice(0, 2))}`);
      } catch (thrown) {
        const state = String(Reflect.get(thrown as object, 'code'));
        return verdict(state === noRight, `SQLSTATE ${state}`);
      } finally {
        await client.end();
      }
    },
  };
}
