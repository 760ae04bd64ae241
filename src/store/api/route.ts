/** Routes of `/api` with their reads. A route of rows is a relation, its columns, and a key for pages. */
import type { ClientBase } from 'pg';
import type {
  ApiArguments,
  ApiColumnKind,
  ApiParameter,
  ApiPosition,
  ApiRoute,
  ApiValue,
} from '../../model/push/read-api.ts';
import { filterLimits } from '../filters/filter.ts';
import type { DocumentSubject } from './document-subjects.ts';
import type { Statement } from './statement.ts';

/** A parameter, and the condition on rows that it adds. */
export interface RouteParameter extends ApiParameter {
  readonly condition?: (value: ApiValue, statement: Statement) => string;
}

export interface RowsRoute extends ApiRoute {
  readonly answers: 'rows';
  readonly parameters: readonly RouteParameter[];
  /** SQL of the relation. */
  readonly from: (args: ApiArguments, statement: Statement) => string;
  /** Columns that identify a row, in the default order of rows. Only texts may be null. */
  readonly key: readonly string[];
  /** Columns of the key that are numbers and may be null. */
  readonly optionalKey?: readonly string[];
  readonly isDescending?: boolean;
  /**
   * Parameters of kind `position` that are resolved to an offset whose state is known, before `from` is called. An
   * unknown one is an error.
   */
  readonly knownPositions?: readonly string[];
  /** Parameters of kind `name` that are resolved to complete names, before `from` is called. */
  readonly resolvedNames?: readonly string[];
  /** The types of JSON columns, by which filters are checked. A column that is not listed may have any fields. */
  readonly documents?: Readonly<Record<string, (args: ApiArguments) => DocumentSubject | undefined>>;
}

export interface ObjectRoute extends ApiRoute {
  readonly answers: 'object';
  readonly parameters: readonly RouteParameter[];
  /** Fields of the answer, as JSON texts. */
  readonly read: (client: ClientBase, args: ApiArguments, storage: string) => Promise<Readonly<Record<string, string>>>;
}

export type StoredRoute = RowsRoute | ObjectRoute;

/** Maximum number of rows of one answer. */
export const maxRows = 1_000;

const columnsSentence = 'Columns of the rows, and fields of JSON columns such as payload.owner.';

const pageParameters: readonly RouteParameter[] = [
  {
    name: 'where',
    kind: 'filter',
    description: `Condition on the rows, at most ${String(filterLimits.characters)} characters. ${columnsSentence}`,
  },
  { name: 'sort', kind: 'field', description: `Order of the rows; with - in front, descending. ${columnsSentence}` },
  {
    name: 'limit',
    kind: 'integer',
    range: [1, maxRows],
    fallback: 100,
    description: 'Maximum number of rows. Pages of large rows have fewer.',
  },
  {
    name: 'cursor',
    kind: 'cursor',
    description: 'Value of next of the previous page; the other parameters stay the same.',
  },
];

type RowsRouteInput = Omit<RowsRoute, 'answers' | 'parameters'> & { readonly parameters?: readonly RouteParameter[] };

const allowUnseen: RouteParameter = {
  name: 'allow_unseen',
  kind: 'boolean',
  description:
    'With true, a well-formed template, interface or party that no stored row has is answered with no rows instead of 404.',
};

/** A route of rows, with the parameters of all pages. */
export function rowsRoute({ parameters = [], ...route }: RowsRouteInput): RowsRoute {
  const hasNames = parameters.some(({ kind }) => kind === 'name' || kind === 'party');
  const shared = hasNames ? [allowUnseen, ...pageParameters] : pageParameters;
  return { ...route, answers: 'rows', parameters: [...parameters, ...shared] };
}

/** A relation of `explore` without arguments. */
export function view(name: string): RowsRoute['from'] {
  return (_args, statement) => statement.explore(name);
}

// Parameters that several routes have.

/** The column has this value. */
export function equalTo(name: string, description: string, column = name): RouteParameter {
  return {
    name,
    kind: 'text',
    description,
    condition: (value, statement) => `r."${column}" = ${statement.value(value, 'text')}`,
  };
}

export function isTrue(name: string, description: string, column = name): RouteParameter {
  return {
    name,
    kind: 'boolean',
    description,
    condition: (value, statement) => `r."${column}" = ${statement.value(value, 'boolean')}`,
  };
}

/** One of the columns, which are texts or lists of texts, has this party. */
export function partyIn(
  name: string,
  description: string,
  columns: Readonly<Record<string, 'text' | 'texts'>>,
): RouteParameter {
  return {
    name,
    kind: 'party',
    description,
    condition: (value, statement) => {
      const party = statement.value(value, 'text');
      const conditions = Object.entries(columns).map(([column, kind]) =>
        kind === 'text' ? `r."${column}" = ${party}` : `${party} = any (r."${column}")`,
      );
      return `(${conditions.join(' or ')})`;
    },
  };
}

/** The rows after one position and up to another one. */
export function rangeOf(column = 'offset'): readonly RouteParameter[] {
  const bound = (operator: string) => (value: ApiValue, statement: Statement) =>
    `r."${column}" ${operator} ${offsetSql(value as ApiPosition, statement)}`;
  return [
    {
      name: 'from',
      kind: 'position',
      description: 'Only rows after this offset or time.',
      condition: bound('>'),
    },
    {
      name: 'to',
      kind: 'position',
      description: 'Only rows up to this offset or time, inclusive.',
      condition: bound('<='),
    },
  ];
}

/** SQL: the offset of a position; of a time, the newest transaction up to it. */
export function offsetSql(position: ApiPosition, statement: Statement): string {
  if ('offset' in position) return statement.value(position.offset, 'bigint');
  const nearest = statement.explore('nearest_offset');
  return `(select coalesce(${nearest}(${statement.value(position.time, 'timestamptz')}), -1))`;
}

/** The value of a parameter that is a text; empty if it has none. */
export function textOf(value: ApiValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** SQL: an argument of a function, null without a value. */
export function textArgument(value: ApiValue | undefined, statement: Statement): string {
  return statement.value(value ?? null, 'text');
}

export type Columns = Readonly<Record<string, ApiColumnKind>>;

/** Columns that rows of events begin with. */
export const eventColumns: Columns = {
  offset: 'integer',
  node_id: 'integer',
  update_id: 'text',
  effective_at: 'time',
  record_time: 'time',
};
