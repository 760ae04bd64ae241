/**
 * Conditions of a selection on the rows of explore.events, as parts of the statement that reads a page. All of them read
 * with the rights of the reader, so a row that the reader may not see never decides whether a change is sent.
 */
import { escapeIdentifier } from 'pg';
import type { ChangeSelection } from '../../model/push/changes.ts';
import type { ReadSchemas } from '../connection/read-schemas.ts';
import type { CompiledFilter } from '../filters/compile.ts';

/** Parts of a statement that selects from `explore.events e`. */
export interface SelectedEvents {
  /** SQL: joins after `e`. */
  readonly joins: string;
  /** SQL: condition; `true` without a selection. */
  readonly condition: string;
  /** SQL: name of the change; null if no token events are selected. */
  readonly name: string;
  /** SQL: token events of the change, as JSON; undefined if no token events are selected. */
  readonly tokenEvents: string | undefined;
  /** Values of the parameters of these parts, which follow those of the statement. */
  readonly values: readonly unknown[];
}

/** Facts that are read before the statement is built. */
export interface SelectionFacts {
  /** Keys of the interface in table `templates`. */
  readonly interfaces: readonly number[];
  /** JSON array of the token events in the range, as `tokenEventsIn` returns it. */
  readonly tokenEvents: string;
  readonly where: WhereCondition | undefined;
}

export interface WhereCondition {
  /** Names of its columns begin with `f.`. @param parametersBefore number of parameters of the statement before its own */
  readonly compile: (parametersBefore: number) => CompiledFilter;
  /** Whether it has a field of the contract, so that the contract is looked up. */
  readonly needsContract: boolean;
}

export const everyEvent: SelectedEvents = {
  joins: '',
  condition: 'true',
  name: 'null::text',
  tokenEvents: undefined,
  values: [],
};

/** Columns of events that a filter may name, in SQL. */
const eventColumns = [
  'offset',
  'node_id',
  'event_type',
  'update_id',
  'record_time',
  'effective_at',
  'synchronizer_id',
  'contract_id',
  'template_fqn',
  'package_id',
  'choice',
  'parties',
  'argument',
  'result',
]
  .map((name) => `e.${escapeIdentifier(name)}`)
  .join(', ');

/** Columns of token events that a filter may name. */
const tokenColumns = `t.owner, t.sender, t.receiver, t.instrument_admin, t.instrument_id, t.amount, t.transfer_leg_id, t.deadline, t.reason`;

/** @param parametersBefore number of parameters of the statement before those of the selection */
export function selectEvents(
  schemas: ReadSchemas,
  selection: ChangeSelection,
  facts: SelectionFacts,
  parametersBefore: number,
): SelectedEvents {
  const values: unknown[] = [];
  const parameter = (value: unknown, type: string): string => {
    values.push(value);
    return `$${String(parametersBefore + values.length)}::${type}`;
  };
  const { interfaceName, choices, tokenEvents } = selection;
  const interfaces = interfaceName === null ? undefined : parameter(facts.interfaces, 'integer[]');
  const conditions = [
    ...(interfaces === undefined ? [] : [seenThrough(schemas, interfaces)]),
    ...(choices.length === 0 ? [] : [`e.choice = any (${parameter(choices, 'text[]')})`, `e.event_type <> 'topology'`]),
  ];
  const contract = facts.where?.needsContract === true ? contractOf(schemas, interfaces) : '';
  const contractColumns = contract === '' ? '' : ', m.payload, m.view';
  const tokens =
    tokenEvents.length === 0
      ? undefined
      : { list: parameter(facts.tokenEvents, 'jsonb'), names: parameter(tokenEvents, 'text[]') };
  const where = facts.where?.compile(parametersBefore + values.length);
  values.push(...(where?.values ?? []));
  if (tokens === undefined) {
    const fields = where === undefined ? '' : `cross join lateral (select ${eventColumns}${contractColumns}) f`;
    return {
      ...everyEvent,
      joins: `${contract} ${fields}`,
      condition: [...conditions, ...(where === undefined ? [] : [where.text])].join(' and ') || 'true',
      values,
    };
  }
  return {
    joins: `${contract} ${namedBy(tokens, contractColumns, where?.text ?? 'true')}`,
    condition: [...conditions, isNamed(tokens)].join(' and '),
    name: 'k.event',
    tokenEvents: 'k.token_events',
    values,
  };
}

/** SQL: parameters with the token events of the range, and with the selected names. */
interface TokenParameters {
  readonly list: string;
  readonly names: string;
}

/** The selected token events of a change that match the filter, always in the same order. */
function namedBy({ list, names }: TokenParameters, contractColumns: string, condition: string): string {
  return `cross join lateral (
      select (array_agg(f.event order by f.place))[1] as event,
             json_agg(f.details order by f.place, f.details::text collate "C") as token_events
        from (select ${eventColumns}${contractColumns}, t.event, t.details, array_position(${names}, t.event) as place, ${tokenColumns}
                from ${tokenRows(list)}
               where t."offset" = e."offset" and t.node_id = e.node_id and t.event = any (${names})) f
       where ${condition}) k`;
}

function isNamed({ list, names }: TokenParameters): string {
  return `(e."offset", e.node_id) in (
            select t."offset", t.node_id from ${tokenRows(list)} where t.event = any (${names}))
          and k.event is not null`;
}

function tokenRows(list: string): string {
  return `jsonb_to_recordset(${list}) t ("offset" bigint, node_id integer, event text, details json, owner text, sender text,
    receiver text, instrument_admin text, instrument_id text, amount numeric, transfer_leg_id text, deadline timestamptz, reason text)`;
}

/** A contract is seen through the interfaces of its template, an exercise also through the interface of its choice. */
function seenThrough({ storage }: ReadSchemas, interfaces: string): string {
  const schema = escapeIdentifier(storage);
  return `((e.package_id, e.module_name, e.entity_name) in (
             select t.package_id, t.module_name, t.entity_name
               from ${schema}.template_interfaces i join ${schema}.templates t on t.template_pk = i.template_pk
              where i.interface_pk = any (${interfaces}))
           or e.event_type in ('archived', 'exercised') and exists (
             select from ${schema}.exercises x join ${schema}.choices h on h.choice_pk = x.choice_pk
              where x."offset" = e."offset" and x.node_id = e.node_id and h.interface_pk = any (${interfaces})))`;
}

/** The contract of an event as it was created, whatever the kind of the event, and its view through the interface. */
function contractOf({ storage }: ReadSchemas, interfaces: string | undefined): string {
  const schema = escapeIdentifier(storage);
  const view =
    interfaces === undefined
      ? 'null::jsonb'
      : `(select v.view from ${schema}.interface_views v
           where v."offset" = s.activated_offset and v.node_id = s.node_id and v.interface_pk = any (${interfaces})
             and v.status_code = 0 order by v.interface_pk desc limit 1)`;
  return `left join lateral (
      select c.payload, ${view} as view
        from ${schema}.contract_states s
        join ${schema}.contracts c on c."offset" = s.activated_offset and c.node_id = s.node_id and c.template_pk = s.template_pk
       where s.contract_id = e.contract_id and s.activated_offset <= e."offset"
       order by s.activated_offset desc limit 1) m on true`;
}
