/** Routes that describe what is stored: templates, parties, coverage; and the explanation of an id. */
import type { ClientBase } from 'pg';
import type { ApiArguments } from '../../model/push/read-api.ts';
import { explainable, explainIn, type ExplainableKind, type ExplainedUpdate, type Rows } from '../reads/explain.ts';
import { rowsRoute, textOf, view, type ObjectRoute, type RouteParameter } from './route.ts';

/** The name of the row contains this text, in any case. */
function containing(column: string): RouteParameter {
  return {
    name: 'contains',
    kind: 'text',
    description: 'Only names that contain this text, in upper or lower case.',
    condition: (value, statement) => `position(lower(${statement.value(value, 'text')}) in lower(r."${column}")) > 0`,
  };
}

const templates = rowsRoute({
  name: 'templates',
  path: '/api/templates',
  summary: 'Templates and interfaces',
  description: 'Templates and interfaces that stored rows use, one row per package version, with active contracts.',
  columns: {
    template_fqn: 'text',
    package_name: 'text',
    module_name: 'text',
    entity_name: 'text',
    package_id: 'text',
    package_version: 'text',
    kind: 'text',
    active: 'integer',
    activated: 'integer',
  },
  key: ['template_fqn', 'package_id'],
  from: view('templates'),
  parameters: [
    containing('template_fqn'),
    {
      name: 'kind',
      kind: 'choice',
      values: ['template', 'interface'],
      description: 'Only templates, or only interfaces.',
      condition: (value, statement) => `r.kind = ${statement.value(value, 'text')}`,
    },
  ],
});

const parties = rowsRoute({
  name: 'parties',
  path: '/api/parties',
  summary: 'Parties',
  description: 'Parties that events, changes of topology and commands name, as far as the reader may see these.',
  columns: { party: 'text' },
  key: ['party'],
  from: (_args, statement) => `(select n.party from ${statement.explore('party_names')}() n (party))`,
  parameters: [containing('party')],
});

const coverage = rowsRoute({
  name: 'coverage',
  path: '/api/coverage',
  summary: 'Coverage of history',
  description: 'Ranges of offsets, and whether their updates or completions are complete, with the reason.',
  columns: { from_offset: 'integer', to_offset: 'integer', status: 'text', reason: 'text', recorded_at: 'time' },
  key: ['from_offset', 'to_offset', 'status'],
  from: ({ of }, statement) => statement.explore(of === 'completions' ? 'completion_coverage' : 'coverage'),
  parameters: [
    {
      name: 'of',
      kind: 'choice',
      values: ['updates', 'completions'],
      fallback: 'updates',
      description: 'Coverage of updates and contracts, or of completions.',
    },
  ],
});

const explain: ObjectRoute = {
  name: 'explain',
  path: '/api/explain',
  summary: 'Explain an id',
  description: 'Everything about an update, a contract or a command, given its id or the offset of an update.',
  answers: 'object',
  columns: {},
  fields: {
    kind: 'update, contract or command.',
    summary: 'Of an update: its times, command and workflow.',
    events: 'Of an update: its events as a tree.',
    transfers: 'Of an update: the token transfers.',
    changes: 'Of an update: the changes of balances.',
    history: 'Of a contract: its events.',
    outcomes: 'Of a command: the results of its submissions.',
    update: 'Of a command: the update that it caused, or null.',
  },
  parameters: [
    { name: 'id', kind: 'text', required: true, description: 'Id of an update, contract or command; or an offset.' },
    { name: 'as', kind: 'choice', values: explainable, description: 'Kind of the id. Needed only if it is ambiguous.' },
    {
      name: 'limit',
      kind: 'integer',
      range: [1, 1_000],
      fallback: 500,
      description: 'Maximum number of rows of each kind. The number of omitted rows is in the answer.',
    },
  ],
  read: readExplanation,
};

async function readExplanation(
  client: ClientBase,
  { id, as, limit }: ApiArguments,
  storage: string,
): Promise<Readonly<Record<string, string>>> {
  const request = { id: textOf(id), as: (as ?? null) as ExplainableKind | null, most: Number(limit) };
  const explained = await explainIn(client, storage, request);
  const kind = JSON.stringify(explained.kind);
  if (explained.kind === 'update') return { kind, ...updateFields(explained) };
  if (explained.kind === 'contract') return { kind, history: rowsText(explained.history) };
  const update = explained.update === null ? 'null' : objectText(updateFields(explained.update));
  return { kind, outcomes: rowsText(explained.outcomes), update };
}

function updateFields({ summary, events, transfers, changes }: ExplainedUpdate): Readonly<Record<string, string>> {
  return { summary, events: rowsText(events), transfers: rowsText(transfers), changes: rowsText(changes) };
}

function rowsText({ rows, omitted }: Rows): string {
  return `{"rows":[${rows.join(',')}],"omitted":${String(omitted)}}`;
}

function objectText(fields: Readonly<Record<string, string>>): string {
  return `{${Object.entries(fields)
    .map(([name, text]) => `${JSON.stringify(name)}:${text}`)
    .join(',')}}`;
}

export const catalogRoutes = [templates, parties, coverage, explain];
