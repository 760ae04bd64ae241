/**
 * Statements that cast fields of templates, choices and interfaces, in every clause of a query, with the expected
 * results.
 */
import type { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import { type Fields, fieldNames, keyHash, kinds, type MixedTemplate, packageName, valuesOf } from './mixed-world.ts';

/** Rows of one template, choice or interface that a statement can read. */
interface Relation {
  readonly from: string;
  /** The column that holds the JSON. */
  readonly json: 'payload' | 'argument' | 'view';
  readonly fields: Fields;
  readonly rows: readonly number[];
  /** Whether each field is also a column. */
  readonly isTyped: boolean;
}

export interface StatementSpec {
  readonly sql: string;
  readonly expected: number;
}

type Part = Omit<Relation, 'from' | 'isTyped'>;

/** A relation that takes a name as an argument. */
interface Named extends Part {
  readonly call: (name: string) => string;
  /** Text before and after the template name in the requested name. */
  readonly before: string;
  readonly after: string;
}

const prefix = `${packageName}:M:`;

interface Parts {
  readonly current: Part;
  readonly created: Part;
  readonly archived: Part;
  readonly exercised: Part;
  readonly views: (rows: readonly number[]) => Part;
}

function partsOf({ active, contracts, fields, argument, view }: MixedTemplate): Parts {
  const ended = contracts.filter((n) => !active.includes(n));
  const payloads = (rows: readonly number[]): Part => ({ json: 'payload', fields, rows });
  return {
    current: payloads(active),
    created: payloads(contracts),
    archived: payloads(ended),
    exercised: { json: 'argument', fields: argument, rows: contracts },
    views: (rows) => ({ json: 'payload', fields: view, rows }),
  };
}

/** All relations that take the name of a template, a choice or an interface. */
function functionsOf(template: MixedTemplate, end: number): readonly Named[] {
  const { current, created, archived, exercised, views } = partsOf(template);
  const of = (part: Part, call: Named['call'], [before, after] = [prefix, '']): Named => ({
    ...part,
    call,
    before,
    after,
  });
  const choice: [string, string] = [prefix, ':Give'];
  const interfaceName: [string, string] = [`${prefix}I`, ''];
  return [
    of(current, (name) => `explore.active(${name})`),
    of(created, (name) => `explore.contracts(${name})`),
    of(current, (name) => `explore.active_at(${end}, ${name})`),
    of(current, (name) => `explore.active_at(now(), ${name})`),
    of(current, (name) => `explore.active_by_key('${keyHash}', ${name})`),
    of(current, (name) => `pqs.active(${name})`),
    of(current, (name) => `pqs_multisync.active(${name})`),
    of(created, (name) => `pqs.creates(${name})`),
    of(created, (name) => `pqs_multisync.creates(${name})`),
    of(archived, (name) => `pqs.archives(${name})`),
    of(archived, (name) => `pqs_multisync.archives(${name})`),
    of(exercised, (name) => `pqs.exercises(${name})`, choice),
    of(views(current.rows), (name) => `pqs.active(${name})`, interfaceName),
    of(views(created.rows), (name) => `pqs.creates(${name})`, interfaceName),
    of(views(archived.rows), (name) => `pqs.archives(${name})`, interfaceName),
  ];
}

/** Functions and views that are called with a literal name. */
function relationsOf(template: MixedTemplate, end: number): readonly Relation[] {
  const { current, created, exercised, views } = partsOf(template);
  const entity = template.entity.toLowerCase();
  const typed = `typed.${packageName}__${entity}`;
  const functions = functionsOf(template, end).map(({ call, before, after, ...part }) => ({
    ...part,
    from: call(`'${before}${template.entity}${after}'`),
    isTyped: false,
  }));
  const viewRelation = { ...views(current.rows), json: 'view' } as const;
  return [
    ...functions,
    { ...current, from: typed, isTyped: true },
    { ...created, from: `${typed}__history`, isTyped: true },
    { ...exercised, from: `${typed}__give`, isTyped: true },
    { ...viewRelation, from: `typed.${packageName}__i${entity}`, isTyped: true },
  ];
}

/** The same functions with a name from another relation: for each function, the possible relations. */
function lateralRelationsOf(template: MixedTemplate, end: number): readonly (readonly Relation[])[] {
  const { entity, contracts, fields, argument } = template;
  const from = (source: string, call: string, where = ''): string =>
    `(select f.* from ${source} cross join lateral ${call} f${where})`;
  const named = functionsOf(template, end).map(({ call, before, after, ...part }): readonly Relation[] => {
    const name = `'${before}${entity}${after}'`;
    const joined = call(`'${before}' || t.entity_name || '${after}'`);
    const once = { ...part, isTyped: false };
    return [
      { ...once, from: from(`(values (1, ${name}), (2, ${name})) v (n, t)`, call('v.t'), ' where v.n = 1') },
      { ...once, from: from(`(select ${name}::text as t offset 0) v`, call('v.t')) },
      { ...once, from: from('ledger.templates t', joined, ` where t.entity_name = '${entity}'`) },
      { ...once, from: from('explore.templates t', joined, ` where t.entity_name = '${entity}'`) },
    ];
  });
  const looked = (call: string): string =>
    from('explore.contracts c', call, ` where c.template_fqn = '${prefix}${entity}'`);
  const all = { rows: contracts, isTyped: false };
  return [
    ...named,
    ...['pqs', 'pqs_multisync'].map((schema) => [
      {
        ...all,
        json: 'payload' as const,
        fields,
        from: looked(`${schema}.lookup_contract(c.contract_id, c.template_fqn)`),
      },
    ]),
    [
      {
        ...all,
        json: 'argument',
        fields: argument,
        from: looked(`pqs.lookup_exercises(c.contract_id, c.template_fqn || ':Give')`),
      },
    ],
  ];
}

interface Compared {
  /** The cast value of a field in the row with this alias. */
  readonly value: (alias: string) => string;
  /** A value of the same type. */
  readonly literal: string;
  /** Number of all rows, and of rows with the literal value. */
  readonly all: number;
  readonly equal: number;
}

/** Statements that count rows, each with the cast in another clause. */
const forms: readonly ((from: string, compared: Compared) => StatementSpec)[] = [
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

function counted(rest: string, expected: number): StatementSpec {
  return { sql: `select count(*)::int as found from ${rest}`, expected };
}

/**
 * One statement of each form for each relation of a template, with a random field. In addition, one statement of a
 * random form for each function whose name comes from another relation.
 */
export function statementsOf(random: Random, template: MixedTemplate, end: number): readonly StatementSpec[] {
  const lateral = lateralRelationsOf(template, end).map((sources) => {
    const relation = drawn(random, sources);
    return drawn(random, forms)(relation.from, compared(random, relation));
  });
  const own = relationsOf(template, end).flatMap((relation) =>
    forms.map((form) => form(relation.from, compared(random, relation))),
  );
  return [...own, ...lateral];
}

function compared(random: Random, { json, fields, rows, isTyped }: Relation): Compared {
  const field = fieldNames[random.between(0, fieldNames.length - 1)] ?? 'amount';
  const kind = kinds[fields[field] ?? 'words'];
  if (kind === undefined) throw new Error(`no kind of field ${field}`);
  // A record has no column, but each of its fields has one.
  const column = isTyped && fields[field] !== 'record' && random.chance(0.5);
  const value = (alias: string): string =>
    column ? `${alias}.${field}::${kind.cast}` : `(${alias}.${json} ->> '${field}')::${kind.cast}`;
  const expected = JSON.stringify(kind.value(random.between(0, rows.length)));
  const equal = rows.filter((n) => JSON.stringify(valuesOf(fields, n)[field]) === expected).length;
  return { value, literal: `(('{"v":${expected}}'::jsonb ->> 'v')::${kind.cast})`, all: rows.length, equal };
}

function drawn<T>(random: Random, from: readonly T[]): T {
  const found = from[random.between(0, from.length - 1)];
  if (found === undefined) throw new Error('nothing to draw from');
  return found;
}
