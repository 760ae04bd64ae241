/** Routes of contracts: active now, at an earlier position, or all; one contract and its history. */
import type { ApiArguments } from '../../model/push/read-api.ts';
import type { DocumentSubject } from './document-subjects.ts';
import { equalTo, partyIn, rowsRoute, textArgument, textOf, type Columns, type RowsRoute } from './route.ts';
import type { Statement } from './statement.ts';

const contractColumns: Columns = {
  contract_id: 'text',
  template_fqn: 'text',
  package_id: 'text',
  status: 'text',
  payload: 'json',
  contract_key: 'json',
  signatories: 'texts',
  observers: 'texts',
  witnesses: 'texts',
  created_at_offset: 'integer',
  created_at: 'time',
  record_time: 'time',
  archived_at_offset: 'integer',
  archived_at: 'time',
  synchronizer_id: 'text',
  reassignment_counter: 'integer',
  update_id: 'text',
};

const stakeholder = partyIn('party', 'Only contracts with this signatory or observer.', {
  signatories: 'texts',
  observers: 'texts',
});

const createdRange = [
  {
    name: 'created_from',
    kind: 'offset',
    description: 'Only contracts that became active after this offset.',
    condition: (value, statement) => `r.created_at_offset > ${statement.value(value, 'bigint')}`,
  },
  {
    name: 'created_to',
    kind: 'offset',
    description: 'Only contracts that became active up to this offset, inclusive.',
    condition: (value, statement) => `r.created_at_offset <= ${statement.value(value, 'bigint')}`,
  },
] satisfies RowsRoute['parameters'];

function payloadSubject({ template }: ApiArguments): DocumentSubject | undefined {
  return typeof template === 'string' ? { kind: 'template', name: template } : undefined;
}

/** Columns of a contract that is active, and so has not ended. */
const stillActive = `'active'::text as status, null::bigint as archived_at_offset, null::timestamptz as archived_at`;

function contractsFrom(args: ApiArguments, statement: Statement): string {
  const { at, key_hash: keyHash, state } = args;
  const template = (): string => textArgument(args['template'], statement);
  if (typeof at === 'object' && 'offset' in at) {
    const active = `${statement.explore('active_at')}(${statement.value(at.offset, 'bigint')}, ${template()})`;
    return `(select a.*, ${stillActive} from ${active} a)`;
  }
  if (keyHash !== undefined) {
    const active = `${statement.explore('active_by_key')}(${statement.value(keyHash, 'text')}, ${template()})`;
    return `(select a.*, ${stillActive} from ${active} a)`;
  }
  if (state === 'all') {
    // The function with a template never evaluates a condition for the payload of another template.
    return args['template'] === undefined
      ? statement.explore('contracts')
      : `${statement.explore('contracts')}(${template()})`;
  }
  return `(select a.*, ${stillActive} from ${statement.explore('active')}(${template()}) a)`;
}

const template = {
  name: 'template',
  kind: 'name',
  description: 'Only contracts of this template, in all versions: package:Module:Entity, or a unique shorter name.',
} as const;

const contracts = rowsRoute({
  name: 'contracts',
  path: '/api/contracts',
  summary: 'Contracts',
  description:
    'Contracts that are active now or, with at, at an earlier offset or time; with state=all also contracts that ended. One row per activation.',
  columns: contractColumns,
  key: ['created_at_offset', 'contract_id'],
  from: contractsFrom,
  documents: { payload: payloadSubject },
  knownPositions: ['at'],
  parameters: [
    template,
    stakeholder,
    {
      name: 'state',
      kind: 'choice',
      values: ['active', 'all'],
      fallback: 'active',
      description: 'Whether contracts that ended are included.',
    },
    {
      name: 'at',
      kind: 'position',
      description: 'Contracts that were active at this offset or time; see the route coverage.',
      excludes: ['key_hash'],
    },
    {
      name: 'key_hash',
      kind: 'text',
      description: 'Active contracts with a key of this hash, in base64 as the ledger prints it.',
    },
    equalTo('synchronizer_id', 'Only contracts on this synchronizer.'),
    ...createdRange,
  ],
});

const interfaceViews = rowsRoute({
  name: 'interface_views',
  path: '/api/interface-views',
  summary: 'Views of contracts through an interface',
  description:
    'Active contracts of all templates that implement an interface, with their views. The interface must be in the filter of the indexer.',
  columns: {
    contract_id: 'text',
    offset: 'integer',
    interface_fqn: 'text',
    view: 'json',
    status_code: 'integer',
    status_message: 'text',
    template_fqn: 'text',
    is_active: 'boolean',
    archived_at_offset: 'integer',
    created_at: 'time',
  },
  key: ['offset', 'contract_id', 'interface_fqn'],
  from: (args, statement) => {
    const name = statement.value(args['interface'], 'text');
    const active = args['state'] === 'all' ? '' : ' and v.is_active';
    return `(select v.* from ${statement.explore('interface_views')} v
              where v.interface_fqn = ${name}${active})`;
  },
  resolvedNames: ['interface'],
  documents: { view: ({ interface: name }) => ({ kind: 'interface', name: textOf(name) }) },
  parameters: [
    {
      name: 'interface',
      kind: 'name',
      required: true,
      description: 'The interface: package:Module:Entity, or a unique shorter name.',
    },
    {
      name: 'state',
      kind: 'choice',
      values: ['active', 'all'],
      fallback: 'active',
      description: 'Whether contracts that ended are included.',
    },
  ],
});

const contractId = {
  name: 'contract_id',
  kind: 'text',
  inPath: true,
  required: true,
  description: 'Contract id.',
} as const;

const contract = rowsRoute({
  name: 'contract',
  path: '/api/contracts/{contract_id}',
  summary: 'One contract',
  description: 'The contract with this id, whether active or not. One row per activation, the newest first.',
  columns: { ...contractColumns, is_active: 'boolean', origin: 'text', node_id: 'integer' },
  key: ['created_at_offset', 'contract_id'],
  isDescending: true,
  from: (args, statement) =>
    `(select c.* from ${statement.explore('contracts')} c
       where c.contract_id = ${statement.value(args['contract_id'], 'text')})`,
  parameters: [contractId],
});

const contractHistory = rowsRoute({
  name: 'contract_history',
  path: '/api/contracts/{contract_id}/history',
  summary: 'History of a contract',
  description:
    'Create, interface views, exercises, reassignments and end of a contract, in order. Of more than 1,000 exercises, the newest are listed.',
  columns: {
    offset: 'integer',
    node_id: 'integer',
    event_type: 'text',
    effective_at: 'time',
    record_time: 'time',
    update_id: 'text',
    template_fqn: 'text',
    package_id: 'text',
    package_version: 'text',
    choice: 'text',
    interface_fqn: 'text',
    acting_parties: 'texts',
    synchronizer_id: 'text',
    target: 'text',
    other_contract_id: 'text',
    contents: 'json',
    result: 'json',
    reason: 'text',
  },
  key: ['offset', 'node_id', 'event_type', 'interface_fqn'],
  from: (args, statement) =>
    `${statement.explore('explain_contract')}(${statement.value(args['contract_id'], 'text')})`,
  parameters: [contractId],
});

export const contractRoutes = [contracts, interfaceViews, contract, contractHistory];
