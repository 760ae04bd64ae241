/** What every generated view of a kind has before the columns made from fields, and the tables it reads. */
import { escapeIdentifier, escapeLiteral } from 'pg';
import { freeName } from '../../daml/identifiers.ts';
import { historySuffix } from '../../daml/view-names.ts';
import { readSchemas, type ReadSchemas } from '../connection/read-schemas.ts';
import type { ViewSubject } from './subjects.ts';

export interface LeadingColumn {
  readonly name: string;
  readonly sql: string;
  readonly comment: string;
}

export interface ViewShape {
  /** Added to the name of the subject; may be empty. */
  readonly suffix: string;
  readonly comment: string;
  readonly leading: readonly LeadingColumn[];
  /** The jsonb that the other columns are taken from. */
  readonly source: string;
  /** The package id of the version that the row belongs to. */
  readonly packageId: string;
  /** From `from` on. */
  readonly from: string;
}

/**
 * One shape, or for a template two: what is active, and everything.
 * @param fields names of the columns made from fields: they keep them, whatever a later version has beside them
 */
export function shapesOf(
  subject: ViewSubject,
  schemas: ReadSchemas,
  fields: ReadonlySet<string>,
): readonly ViewShape[] {
  return shapes(subject, schemas).map((shape) => ({
    ...shape,
    leading: shape.leading.map((each) => ({ ...each, name: freeName(each.name, fields) })),
  }));
}

function shapes(subject: ViewSubject, schemas: ReadSchemas): readonly ViewShape[] {
  if (subject.kind === 'choice') return [choiceShape(subject, schemas.storage)];
  if (subject.kind === 'interface') return [interfaceShape(subject, schemas.storage)];
  return [activeShape(subject, schemas), historyShape(subject, schemas)];
}

/** Names that further fields cannot have as columns. @param fields as {@link shapesOf} takes them */
export function reservedColumns(subject: ViewSubject, fields: ReadonlySet<string>): readonly string[] {
  return shapesOf(subject, readSchemas(''), fields).flatMap(({ leading }) => leading.map(({ name }) => name));
}

function column(name: string, sql: string, comment: string): LeadingColumn {
  return { name, sql, comment };
}

/** Names as Daml writes them. */
export function damlName({ packageName, moduleName, entityName }: ViewSubject): string {
  return `${packageName}:${moduleName}:${entityName}`;
}

function stakeholders(alias: string): readonly LeadingColumn[] {
  return [
    column('signatories', `${alias}.signatories`, 'Signatories.'),
    column('observers', `${alias}.observers`, 'Observers.'),
  ];
}
const payload = column('payload', 'c.payload', 'The whole payload, the ledger’s own JSON.');

function activation(contractId: string, offset: string): readonly LeadingColumn[] {
  return [
    column('contract_id', contractId, 'Contract id.'),
    column(
      'created_at_offset',
      offset,
      'Offset of the create; of the assign after a reassignment; of a seeded contract that of its last activation.',
    ),
    column('created_at', 'c.created_at', 'Ledger effective time of the create, kept across reassignments.'),
  ];
}

const ofContract = activation('c.contract_id', 'c.created_at_offset');

function versionColumns(alias: string, of: string): readonly LeadingColumn[] {
  return [
    column('package_version', 'p.package_version', `Version of the package of the ${of}; null until it was read.`),
    column('package_id', `${alias}.package_id`, `Package id of the ${of}.`),
  ];
}

const placed = [
  column('contract_key', 'c.contract_key', 'Contract key, the ledger’s own JSON; null without key.'),
  column('synchronizer_id', 'c.synchronizer_id', 'Synchronizer of the activation.'),
];

/** What became of a contract, in the words and by the rules of explore: they stand in one place. */
const fate = [
  column('status', 'c.status', 'What became of it: active, archived, witnessed and so on, as in explore.contracts.'),
  column('is_active', 'c.is_active', 'Whether the contract is active at the checkpoint.'),
  column(
    'archived_at_offset',
    'c.archived_at_offset',
    'Offset of the archive, or of the unassign when the contract left the synchronizer. Null while active, and for contracts that never were.',
  ),
  column(
    'archived_at',
    'c.archived_at',
    'Ledger effective time of that update (of an unassign its record time); null where there is none.',
  ),
];

function activeShape(subject: ViewSubject, schemas: ReadSchemas): ViewShape {
  return {
    suffix: '',
    comment: `Active contracts of ${damlName(subject)} in all versions.`,
    leading: [...ofContract, ...stakeholders('c'), ...placed, ...versionColumns('c', 'template as created'), payload],
    ...ofTemplate(subject, schemas, 'active_contracts'),
  };
}

function historyShape(subject: ViewSubject, schemas: ReadSchemas): ViewShape {
  return {
    suffix: historySuffix,
    comment: `All contracts of ${damlName(subject)} in all versions, archived and merely witnessed ones too; one row per activation.`,
    leading: [
      ...ofContract,
      column('node_id', 'c.node_id', 'Node of the create or assign within its update.'),
      ...stakeholders('c'),
      ...placed,
      ...versionColumns('c', 'template as created'),
      ...fate,
      payload,
    ],
    ...ofTemplate(subject, schemas, 'contracts'),
  };
}

/** @param view of explore, which says what there is */
function ofTemplate(
  subject: ViewSubject,
  { storage, explore }: ReadSchemas,
  view: string,
): Pick<ViewShape, 'source' | 'packageId' | 'from'> {
  const packageName = escapeLiteral(subject.packageName);
  return {
    source: 'c.payload',
    packageId: 'c.package_id',
    from: [
      `from ${tables(explore)(view)} c`,
      `left join ${tables(storage)('packages')} p on p.package_id = c.package_id`,
      `where ${isNamed('c', subject)} and c.package_name = ${packageName}`,
    ].join('\n  '),
  };
}

const templateOf = column(
  'template',
  `coalesce(t.package_name, t.package_id) || ':' || t.module_name || ':' || t.entity_name`,
  'Template of the contract: package name, module and entity.',
);

function choiceShape(subject: ViewSubject, storage: string): ViewShape {
  const owner = subject.ofInterface ? 'i' : 't';
  const in_ = tables(storage);
  return {
    suffix: '',
    comment: `Exercises of choice ${subject.choice} of ${damlName(subject)} in all versions.`,
    leading: [
      column('contract_id', `${in_('id_text')}(e.contract_id)`, 'Contract exercised on.'),
      column('exercised_at_offset', 'e."offset"', 'Offset of the transaction.'),
      column('node_id', 'e.node_id', 'Node within the transaction; pre-order.'),
      column('exercised_at', 'u.effective_at', 'Ledger effective time of the transaction.'),
      column('acting_parties', 'w.acting_parties', 'Controllers that exercised the choice.'),
      column('consuming', 'e.consuming', 'Whether the exercise archived the contract.'),
      ...(subject.ofInterface ? [templateOf] : []),
      ...versionColumns(owner, subject.ofInterface ? 'interface' : 'template as the event names it'),
      column('result', 'e.result::jsonb', 'The result, the ledger’s own JSON.'),
      column('argument', 'e.argument::jsonb', 'The whole argument, the ledger’s own JSON.'),
    ],
    source: 'e.argument::jsonb',
    packageId: `${owner}.package_id`,
    from: (subject.ofInterface ? interfaceChoice(subject, in_) : templateChoice(subject, in_)).join('\n  '),
  };
}

function templateChoice(subject: ViewSubject, in_: InSchema): readonly string[] {
  return [
    `from ${in_('templates')} t`,
    `join ${in_('choices')} h on h.template_pk = t.template_pk and h.interface_pk = 0`,
    `join ${in_('exercises')} e on e.choice_pk = h.choice_pk`,
    ...besideExercise(in_),
    `left join ${in_('packages')} p on p.package_id = t.package_id`,
    `where ${isNamed('t', subject)} and t.package_name = ${escapeLiteral(subject.packageName)}`,
    `  and h.choice = ${escapeLiteral(subject.choice)}`,
  ];
}

function besideExercise(in_: InSchema): readonly string[] {
  return [
    `left join ${in_('event_parties')} w on w.parties_pk = e.parties_pk`,
    `left join ${in_('updates')} u on u."offset" = e."offset"`,
  ];
}

function interfaceChoice(subject: ViewSubject, in_: InSchema): readonly string[] {
  return [
    ...interfaceFrom(in_),
    `join ${in_('choices')} h on h.interface_pk = i.template_pk`,
    `join ${in_('exercises')} e on e.choice_pk = h.choice_pk`,
    `join ${in_('templates')} t on t.template_pk = h.template_pk`,
    ...besideExercise(in_),
    `where ${isNamed('i', subject)} and p.package_name = ${escapeLiteral(subject.packageName)}`,
    `  and h.choice = ${escapeLiteral(subject.choice)}`,
  ];
}

function interfaceShape(subject: ViewSubject, storage: string): ViewShape {
  const in_ = tables(storage);
  return {
    suffix: '',
    comment: `Active contracts seen through interface ${damlName(subject)}, of every template that implements it.`,
    leading: [
      ...activation(`${in_('id_text')}(l.contract_id)`, 'l."offset"'),
      templateOf,
      ...stakeholders('s'),
      ...versionColumns('i', 'interface'),
      column('view', 'v.view', 'The whole view, the ledger’s own JSON; null when it could not be computed.'),
    ],
    source: 'v.view',
    packageId: 'i.package_id',
    from: [
      ...interfaceFrom(in_),
      // By the live contracts of the templates that implement it: its views of all times may be many more.
      `join ${in_('template_interfaces')} m on m.interface_pk = i.template_pk`,
      `join ${in_('live')} l on l.template_pk = m.template_pk`,
      `join ${in_('interface_views')} v on v."offset" = l."offset" and v.node_id = l.node_id`,
      '  and v.interface_pk = i.template_pk',
      `join ${in_('templates')} t on t.template_pk = l.template_pk`,
      `left join ${in_('contracts')} c on c."offset" = l."offset" and c.node_id = l.node_id`,
      `left join ${in_('contract_parties')} s on s.parties_pk = l.parties_pk`,
      `where ${isNamed('i', subject)} and p.package_name = ${escapeLiteral(subject.packageName)}`,
      '  and l.unknown_since is null',
    ].join('\n  '),
  };
}

type InSchema = (name: string) => string;

function tables(schema: string): InSchema {
  return (name) => `${escapeIdentifier(schema)}.${name}`;
}

/** Events name interfaces by package id alone; the package says its name. */
function interfaceFrom(in_: InSchema): readonly string[] {
  return [`from ${in_('templates')} i`, `join ${in_('packages')} p on p.package_id = i.package_id`];
}

function isNamed(alias: string, { moduleName, entityName }: ViewSubject): string {
  return `${alias}.module_name = ${escapeLiteral(moduleName)} and ${alias}.entity_name = ${escapeLiteral(entityName)}`;
}
