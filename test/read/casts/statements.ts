/** Statements that cast what templates, choices and interfaces hold, at every place of a query, with the answers they must have. */
import type { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import { type Fields, fieldNames, kinds, type MixedTemplate, packageName, valuesOf } from './mixed-world.ts';

/** What is asked: rows of one template, choice or interface. */
interface Relation {
  readonly from: string;
  /** The column that holds the JSON. */
  readonly json: 'payload' | 'argument' | 'view';
  readonly fields: Fields;
  readonly rows: readonly number[];
  /** Whether each field has a column as well. */
  readonly isTyped: boolean;
}

export interface Asked {
  readonly sql: string;
  readonly expected: number;
}

/** Everything that takes the name of a template, a choice or an interface, and every view made for one. */
function relationsOf(template: MixedTemplate, end: number): readonly Relation[] {
  const { entity, active, contracts, fields, argument, view } = template;
  const name = `'${packageName}:M:${entity}'`;
  const typed = `typed.${packageName}__${entity.toLowerCase()}`;
  const archived = contracts.filter((n) => !active.includes(n));
  const of = (from: string, rows: readonly number[], change: Partial<Relation> = {}): Relation => ({
    from,
    rows,
    json: 'payload',
    fields,
    isTyped: false,
    ...change,
  });
  const choice = { json: 'argument', fields: argument } as const;
  const shown = { json: 'view', fields: view } as const;
  return [
    of(`explore.active(${name})`, active),
    of(`explore.contracts(${name})`, contracts),
    of(`explore.active_at(${end}, ${name})`, active),
    of(`pqs.active(${name})`, active),
    of(`pqs.creates(${name})`, contracts),
    of(`pqs.archives(${name})`, archived),
    of(typed, active, { isTyped: true }),
    of(`${typed}__history`, contracts, { isTyped: true }),
    of(`${typed}__give`, contracts, { ...choice, isTyped: true }),
    of(`pqs.exercises('${packageName}:M:${entity}:Give')`, contracts, choice),
    of(`typed.${packageName}__i${entity.toLowerCase()}`, active, { ...shown, isTyped: true }),
    of(`pqs.active('${packageName}:M:I${entity}')`, active, { ...shown, json: 'payload' }),
    of(`pqs.creates('${packageName}:M:I${entity}')`, contracts, { ...shown, json: 'payload' }),
    of(`pqs.archives('${packageName}:M:I${entity}')`, archived, { ...shown, json: 'payload' }),
  ];
}

interface Compared {
  /** The cast value of the row `r`, and that of a row with another alias. */
  readonly value: (alias: string) => string;
  /** A value of that type. */
  readonly literal: string;
  /** Rows there are, and rows that have the value. */
  readonly all: number;
  readonly equal: number;
}

/** Each says how many rows it finds. */
const forms: readonly ((from: string, compared: Compared) => Asked)[] = [
  (from, { value, literal, equal }) => counted(`${from} r where ${value('r')} = ${literal}`, equal),
  (from, { value, literal, equal }) => counted(`${from} r where coalesce(${value('r')} = ${literal}, false)`, equal),
  (from, { value, literal, equal }) =>
    counted(`(values (${literal})) w (v) join ${from} r on ${value('r')} = w.v`, equal),
  (from, { value, literal, equal }) =>
    counted(
      `(values (${literal})) w (v) left join ${from} r on ${value('r')} = w.v where r.contract_id is not null`,
      equal,
    ),
  (from, { value, all }) =>
    counted(`${from} a join ${from} b on ${value('a')} = ${value('b')} and a.contract_id = b.contract_id`, all),
  (from, { value, literal, equal }) =>
    counted(
      `(select ${value('r')} as v from ${from} r group by 1 having count(*) > 0) g where v = ${literal}`,
      Math.min(equal, 1),
    ),
  (from, { value, all }) =>
    counted(`(select ${value('r')} as v from ${from} r order by 1 desc limit 100000) o where v is not null`, all),
  (from, { value, literal, equal }) =>
    counted(`${from} r where exists (select from (values (${literal})) w (v) where w.v = ${value('r')})`, equal),
];

function counted(rest: string, expected: number): Asked {
  return { sql: `select count(*)::int as found from ${rest}`, expected };
}

/** One statement of each form for each relation of a template, each over a field that is drawn. */
export function statementsOf(random: Random, template: MixedTemplate, end: number): readonly Asked[] {
  return relationsOf(template, end).flatMap((relation) =>
    forms.map((form) => form(relation.from, compared(random, relation))),
  );
}

function compared(random: Random, { json, fields, rows, isTyped }: Relation): Compared {
  const field = fieldNames[random.between(0, fieldNames.length - 1)] ?? 'amount';
  const kind = kinds[fields[field] ?? 'words'];
  if (kind === undefined) throw new Error(`no kind of field ${field}`);
  // A record has a column for each of its fields instead.
  const column = isTyped && fields[field] !== 'record' && random.chance(0.5);
  const value = (alias: string): string =>
    column ? `${alias}.${field}::${kind.cast}` : `(${alias}.${json} ->> '${field}')::${kind.cast}`;
  const wanted = JSON.stringify(kind.value(random.between(0, rows.length)));
  const equal = rows.filter((n) => JSON.stringify(valuesOf(fields, n)[field]) === wanted).length;
  return { value, literal: `(('{"v":${wanted}}'::jsonb ->> 'v')::${kind.cast})`, all: rows.length, equal };
}
