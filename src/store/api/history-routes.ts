/** Routes of history: updates, exercises, commands, and the difference between two positions. */
import type { ApiArguments } from '../../model/push/read-api.ts';
import type { DocumentSubject } from './document-subjects.ts';
import {
  equalTo,
  eventColumns,
  isTrue,
  partyIn,
  rangeOf,
  rowsRoute,
  textArgument,
  view,
  type Columns,
  type RouteParameter,
} from './route.ts';
import type { Statement } from './statement.ts';

const updates = rowsRoute({
  name: 'updates',
  path: '/api/updates',
  summary: 'Updates',
  description: 'Updates of the ledger: transactions, reassignments and changes of topology.',
  columns: {
    offset: 'integer',
    kind: 'text',
    update_id: 'text',
    effective_at: 'time',
    record_time: 'time',
    synchronizer_id: 'text',
    command_id: 'text',
    workflow_id: 'text',
    trace_parent: 'text',
    transaction_hash: 'text',
    external_transaction_hash: 'text',
    paid_traffic_cost: 'integer',
    event_count: 'integer',
    indexed_at: 'time',
    participant_offset: 'integer',
  },
  key: ['offset'],
  from: (args, statement) => {
    const { update_id: id } = args;
    if (id === undefined) return statement.explore('updates');
    const offset = `(select ${statement.explore('update_offset')}(${statement.value(id, 'text')}))`;
    return `(select u.* from ${statement.explore('updates')} u where u."offset" = ${offset})`;
  },
  parameters: [
    {
      name: 'kind',
      kind: 'choice',
      values: ['transaction', 'reassignment', 'topology', 'unknown'],
      description: 'Only updates of this kind.',
      condition: (value, statement) => `r.kind = ${statement.value(value, 'text')}`,
    },
    { name: 'update_id', kind: 'text', description: 'The update with this id.' },
    equalTo('command_id', 'Only updates that a command with this id caused.'),
    equalTo('workflow_id', 'Only updates of this workflow.'),
    ...rangeOf(),
  ],
});

const updateEvents = rowsRoute({
  name: 'update_events',
  path: '/api/updates/{update_id}/events',
  summary: 'Events of an update',
  description: 'The events of an update as a tree in pre-order, as far as the reader may see them.',
  columns: {
    offset: 'integer',
    node_id: 'integer',
    parent_node_id: 'integer',
    depth: 'integer',
    event_type: 'text',
    template_fqn: 'text',
    package_id: 'text',
    choice: 'text',
    interface_fqn: 'text',
    contract_id: 'text',
    acting_parties: 'texts',
    signatories: 'texts',
    observers: 'texts',
    witnesses: 'texts',
    argument: 'json',
    result: 'json',
    reason: 'text',
    before: 'json',
    after: 'json',
    changed: 'json',
    other_contract_id: 'text',
    synchronizer_id: 'text',
  },
  key: ['offset', 'node_id', 'event_type'],
  from: (args, statement) => `${statement.explore('explain_update')}(${statement.value(args['update_id'], 'text')})`,
  parameters: [{ name: 'update_id', kind: 'text', inPath: true, required: true, description: 'Id of the update.' }],
});

function choiceSubject(kind: 'argument' | 'result') {
  return ({ template, choice }: ApiArguments): DocumentSubject | undefined =>
    typeof template === 'string' && typeof choice === 'string' ? { kind, name: template, choice } : undefined;
}

const exercises = rowsRoute({
  name: 'exercises',
  path: '/api/exercises',
  summary: 'Exercised choices',
  description: 'Exercises with their arguments and results. There are none if the indexer reads with ACS_DELTA.',
  columns: {
    ...eventColumns,
    contract_id: 'text',
    template_fqn: 'text',
    package_id: 'text',
    choice: 'text',
    interface_fqn: 'text',
    argument: 'json',
    result: 'json',
    acting_parties: 'texts',
    witnesses: 'texts',
    consuming: 'boolean',
    last_descendant_node_id: 'integer',
    synchronizer_id: 'text',
  },
  key: ['offset', 'node_id'],
  from: view('exercises'),
  resolvedNames: ['template'],
  documents: { argument: choiceSubject('argument'), result: choiceSubject('result') },
  parameters: [
    {
      name: 'template',
      kind: 'name',
      description: 'Only exercises on contracts of this template.',
      condition: (value, statement) => `r.template_fqn = ${statement.value(value, 'text')}`,
    },
    equalTo('choice', 'Only exercises of this choice.'),
    equalTo('contract_id', 'Only exercises on this contract.'),
    partyIn('party', 'Only exercises that this party controls or witnesses.', {
      acting_parties: 'texts',
      witnesses: 'texts',
    }),
    isTrue('consuming', 'Whether the exercise archived the contract.'),
    ...rangeOf(),
  ],
});

const submissionColumns: Columns = {
  offset: 'integer',
  submission_id: 'text',
  user_id: 'text',
  act_as: 'texts',
  succeeded: 'boolean',
  error_code: 'text',
  error_category: 'integer',
  status_code: 'integer',
  contract_id: 'text',
  paid_traffic_cost: 'integer',
  record_time: 'time',
  synchronizer_id: 'text',
  update_id: 'text',
};

const commands = rowsRoute({
  name: 'commands',
  path: '/api/commands',
  summary: 'Results of commands',
  description: 'One row per submission that the participant accepted or rejected; see coverage of completions.',
  columns: { command_id: 'text', ...submissionColumns, status_message: 'text', submitted_at: 'time' },
  key: ['offset', 'submission_id'],
  from: view('completions'),
  parameters: [
    isTrue('succeeded', 'Whether the command was accepted.'),
    equalTo('user_id', 'Only commands of this user.'),
    equalTo('error_code', 'Only commands that were rejected with this code.'),
    partyIn('party', 'Only commands that act as this party.', { act_as: 'texts' }),
    ...rangeOf(),
  ],
});

const command = rowsRoute({
  name: 'command',
  path: '/api/commands/{command_id}',
  summary: 'Status of a command',
  description:
    'Results of the submissions with this command id: whether it was accepted, its update or reason, and whether a retry can help.',
  columns: {
    ...submissionColumns,
    effective_at: 'time',
    workflow_id: 'text',
    reason: 'text',
    is_retryable: 'boolean',
    template_fqn: 'text',
    choice: 'text',
    accepted_offset: 'integer',
    deduplication_offset: 'integer',
    trace_id: 'text',
  },
  key: ['offset', 'submission_id'],
  from: (args, statement) => `${statement.explore('explain_command')}(${statement.value(args['command_id'], 'text')})`,
  parameters: [{ name: 'command_id', kind: 'text', inPath: true, required: true, description: 'Command id.' }],
});

const diffParameters: readonly RouteParameter[] = [
  { name: 'from', kind: 'position', required: true, description: 'The earlier offset or time.' },
  { name: 'to', kind: 'position', required: true, description: 'The later offset or time.' },
  { name: 'template', kind: 'name', description: 'Only contracts of this template.' },
  { name: 'party', kind: 'party', description: 'Only contracts with this stakeholder.' },
];

function diffCall(name: string, { from, to, template, party }: ApiArguments, statement: Statement): string {
  const offsets = [from, to].map((position) => statement.value((position as { offset: number }).offset, 'bigint'));
  return `${statement.explore(name)}(${offsets.join(', ')}, ${textArgument(template, statement)}, ${textArgument(party, statement)})`;
}

const diff = rowsRoute({
  name: 'diff',
  path: '/api/diff',
  summary: 'Contracts between two positions, counted',
  description: 'Contracts that were created and that ended between two offsets or times, counted by template.',
  columns: {
    template_fqn: 'text',
    before: 'integer',
    created: 'integer',
    assigned: 'integer',
    archived: 'integer',
    unassigned: 'integer',
    unhosted: 'integer',
    unchanged: 'integer',
    after: 'integer',
    net: 'integer',
  },
  key: ['template_fqn'],
  from: (args, statement) => diffCall('diff', args, statement),
  knownPositions: ['from', 'to'],
  parameters: diffParameters,
});

const diffContracts = rowsRoute({
  name: 'diff_contracts',
  path: '/api/diff/contracts',
  summary: 'Contracts between two positions, listed',
  description: 'Contracts that were created, that ended and that stayed between two offsets or times.',
  columns: {
    template_fqn: 'text',
    contract_id: 'text',
    change: 'text',
    created_at_offset: 'integer',
    ended_at_offset: 'integer',
  },
  key: ['created_at_offset', 'contract_id', 'change'],
  from: (args, statement) => diffCall('diff_contracts', args, statement),
  knownPositions: ['from', 'to'],
  parameters: diffParameters,
});

export const historyRoutes = [updates, updateEvents, exercises, commands, command, diff, diffContracts];
