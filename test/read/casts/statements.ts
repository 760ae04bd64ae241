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
interface NamedCast extends Part {
  readonly call: (name: string) => string;
  /** Text before and after the template name in the requested name. */
  readonly before: string;
  readonly after: string;
}

const prefix = `${packageName}:M:`;

interface TemplateParts {
  readonly current: Part;
  readonly created: Part;
  readonly archived: Part;
  readonly exercised: Part;
  readonly views: (rows: readonly number[]) => Part;
}

function partsOf({ active, contracts, fields, argument, view }: MixedTemplate): TemplateParts {
  const endedContracts = contracts.filter((n) => !active.includes(n));
  const payloads = (rows: readonly number[]): Part => ({ json: 'payload', fields, rows });
  return {
    current: payloads(active),
    created: payloads(contracts),
    archived: payloads(endedContracts),
    exercised: { json: 'argument', fields: argument, rows: contracts },
    views: (rows) => ({ json: 'payload', fields: view, rows }),
  };
}

/** All relations that take the name of a template, a choice or an interface. */
function functionsOf(template: MixedTemplate, end: number): readonly NamedCast[] {
  const { current, created: createdPart, archived: archivedPart, exercised: exercisedPart, views } = partsOf(template);
  const castOf = (castPart: Part, call: NamedCast['call'], [castPrefix, suffix] = [prefix, '']): NamedCast => ({
    ...castPart,
    call,
    before: castPrefix,
    after: suffix,
  });
  const choice: [string, string] = [prefix, ':Give'];
  const interfaceName: [string, string] = [`${prefix}I`, ''];
  return [
    castOf(current, (name) => `explore.active(${name})`),
    castOf(createdPart, (name) => `explore.contracts(${name})`),
    castOf(current, (name) => `explore.active_at(${end}, ${name})`),
    castOf(current, (name) => `explore.active_at(now(), ${name})`),
    castOf(current, (name) => `explore.active_by_key('${keyHash}', ${name})`),
    castOf(current, (name) => `pqs.active(${name})`),
    castOf(current, (name) => `pqs_multisync.active(${name})`),
    castOf(createdPart, (name) => `pqs.creates(${name})`),
    castOf(createdPart, (name) => `pqs_multisync.creates(${name})`),
    castOf(archivedPart, (name) => `pqs.archives(${name})`),
    castOf(archivedPart, (name) => `pqs_multisync.archives(${name})`),
    castOf(exercisedPart, (name) => `pqs.exercises(${name})`, choice),
    castOf(views(current.rows), (name) => `pqs.active(${name})`, interfaceName),
    castOf(views(createdPart.rows), (name) => `pqs.creates(${name})`, interfaceName),
    castOf(views(archivedPart.rows), (name) => `pqs.archives(${name})`, interfaceName),
  ];
}

/** Functions and views that are called with a literal name. */
function relationsOf(template: MixedTemplate, end: number): readonly Relation[] {
  const { current, created: createdPart, exercised: exercisedPart, views } = partsOf(template);
  const entity = template.entity.toLowerCase();
  const typedViewName = `typed.${packageName}__${entity}`;
  const functions = functionsOf(template, end).map(({ call, before: castPrefix, after: suffix, ...castPart }) => ({
    ...castPart,
    from: call(`'${castPrefix}${template.entity}${suffix}'`),
    isTyped: false,
  }));
  const viewRelation = { ...views(current.rows), json: 'view' } as const;
  return [
    ...functions,
    { ...current, from: typedViewName, isTyped: true },
    { ...createdPart, from: `${typedViewName}__history`, isTyped: true },
    { ...exercisedPart, from: `${typedViewName}__give`, isTyped: true },
    { ...viewRelation, from: `typed.${packageName}__i${entity}`, isTyped: true },
  ];
}

/** The same functions with a name from another relation: for each function, the possible relations. */
function lateralRelationsOf(template: MixedTemplate, end: number): readonly (readonly Relation[])[] {
  const { entity, contracts, fields, argument } = template;
  const from = (source: string, call: string, condition = ''): string =>
    `(select f.* from ${source} cross join lateral ${call} f${condition})`;
  const namedCasts = functionsOf(template, end).map(
    ({ call, before: castPrefix, after: suffix, ...castPart }): readonly Relation[] => {
      const name = `'${castPrefix}${entity}${suffix}'`;
      const joinedName = call(`'${castPrefix}' || t.entity_name || '${suffix}'`);
      const untypedPart = { ...castPart, isTyped: false };
      return [
        { ...untypedPart, from: from(`(values (1, ${name}), (2, ${name})) v (n, t)`, call('v.t'), ' where v.n = 1') },
        { ...untypedPart, from: from(`(select ${name}::text as t offset 0) v`, call('v.t')) },
        { ...untypedPart, from: from('ledger.templates t', joinedName, ` where t.entity_name = '${entity}'`) },
        { ...untypedPart, from: from('explore.templates t', joinedName, ` where t.entity_name = '${entity}'`) },
      ];
    },
  );
  const lookupSql = (call: string): string =>
    from('explore.contracts c', call, ` where c.template_fqn = '${prefix}${entity}'`);
  const contractRows = { rows: contracts, isTyped: false };
  return [
    ...namedCasts,
    ...['pqs', 'pqs_multisync'].map((schema) => [
      {
        ...contractRows,
        json: 'payload' as const,
        fields,
        from: lookupSql(`${schema}.lookup_contract(c.contract_id, c.template_fqn)`),
      },
    ]),
    [
      {
        ...contractRows,
        json: 'argument',
        fields: argument,
        from: lookupSql(`pqs.lookup_exercises(c.contract_id, c.template_fqn || ':Give')`),
      },
    ],
  ];
}

interface CastValue {
  /** The cast value of a field in the row with this alias. */
  readonly value: (alias: string) => string;
  /** A value of the same type. */
  readonly literal: string;
  /** Number of all rows, and of rows with the literal value. */
  readonly all: number;
  readonly equal: number;
}

/** Statements that count rows, each with the cast in another clause. */
const forms: readonly ((from: string, castValue: CastValue) => StatementSpec)[] = [
  (from, { value, literal, equal: equalCount }) =>
    countStatement(`${from} r where ${value('r')} = ${literal}`, equalCount),
  (from, { value, literal, equal: equalCount }) =>
    countStatement(`${from} r where coalesce(${value('r')} = ${literal}, false)`, equalCount),
  (from, { value, literal, equal: equalCount }) =>
    countStatement(`(values (${literal})) w (v) join ${from} r on ${value('r')} = w.v`, equalCount),
  (from, { value, literal, equal: equalCount }) =>
    countStatement(
      `(values (${literal})) w (v) left join ${from} r on ${value('r')} = w.v where r.contract_id is not null`,
      equalCount,
    ),
  (from, { value, all: allSql }) =>
    countStatement(
      `${from} a join ${from} b on ${value('a')} = ${value('b')} and a.contract_id = b.contract_id`,
      allSql,
    ),
  (from, { value, literal, equal: equalCount }) =>
    countStatement(
      `(select ${value('r')} as v from ${from} r group by 1 having count(*) > 0) g where v = ${literal}`,
      Math.min(equalCount, 1),
    ),
  (from, { value, all: allSql }) =>
    countStatement(
      `(select ${value('r')} as v from ${from} r order by 1 desc limit 100000) o where v is not null`,
      allSql,
    ),
  (from, { value, literal, equal: equalCount }) =>
    countStatement(
      `${from} r where exists (select from (values (${literal})) w (v) where w.v = ${value('r')})`,
      equalCount,
    ),
];

function countStatement(fromClause: string, expected: number): StatementSpec {
  return { sql: `select count(*)::int as found from ${fromClause}`, expected };
}

/**
 * One statement of each form for each relation of a template, with a random field. In addition, one statement of a
 * random form for each function whose name comes from another relation.
 */
export function statementsOf(random: Random, template: MixedTemplate, end: number): readonly StatementSpec[] {
  const lateral = lateralRelationsOf(template, end).map((sources) => {
    const relation = pickOne(random, sources);
    return pickOne(random, forms)(relation.from, castValueOf(random, relation));
  });
  const ownStatements = relationsOf(template, end).flatMap((relation) =>
    forms.map((toStatement) => toStatement(relation.from, castValueOf(random, relation))),
  );
  return [...ownStatements, ...lateral];
}

function castValueOf(random: Random, { json, fields, rows, isTyped }: Relation): CastValue {
  const field = fieldNames[random.between(0, fieldNames.length - 1)] ?? 'amount';
  const kind = kinds[fields[field] ?? 'words'];
  if (kind === undefined) throw new Error(`no kind of field ${field}`);
  // A record has no column, but each of its fields has one.
  const column = isTyped && fields[field] !== 'record' && random.chance(0.5);
  const value = (alias: string): string =>
    column ? `${alias}.${field}::${kind.cast}` : `(${alias}.${json} ->> '${field}')::${kind.cast}`;
  const expected = JSON.stringify(kind.value(random.between(0, rows.length)));
  const equalRows = rows.filter((n) => JSON.stringify(valuesOf(fields, n)[field]) === expected).length;
  return { value, literal: `(('{"v":${expected}}'::jsonb ->> 'v')::${kind.cast})`, all: rows.length, equal: equalRows };
}

function pickOne<T>(random: Random, from: readonly T[]): T {
  const pickedValue = from[random.between(0, from.length - 1)];
  if (pickedValue === undefined) throw new Error('nothing to draw from');
  return pickedValue;
}
