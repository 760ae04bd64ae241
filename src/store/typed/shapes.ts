/**
 * Defines for each kind of generated view the tables that the view reads, and the columns that precede the columns
 * created from fields.
 */
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
  /** Suffix that is added to the name of the subject. It may be empty. */
  readonly suffix: string;
  readonly comment: string;
  readonly leading: readonly LeadingColumn[];
  /** SQL: the jsonb value from which the columns of fields are extracted. */
  readonly source: string;
  /** SQL: id of the package that defines the version of the row. */
  readonly packageId: string;
  /** The SQL of the view, beginning with `from`. */
  readonly from: string;
}

/**
 * The shapes of a subject: two for a template (active contracts, and all contracts), otherwise one.
 * @param fields names of the columns created from fields; a later version must not add other columns with these names
 */
export function shapesOf(
  subject: ViewSubject,
  schemas: ReadSchemas,
  fields: ReadonlySet<string>,
): readonly ViewShape[] {
  return shapes(subject, schemas.storage).map((shape) => ({
    ...shape,
    leading: shape.leading.map((leadingColumn) => ({ ...leadingColumn, name: freeName(leadingColumn.name, fields) })),
  }));
}

function shapes(subject: ViewSubject, storage: string): readonly ViewShape[] {
  if (subject.kind === 'choice') return [choiceShape(subject, storage)];
  if (subject.kind === 'interface') return [interfaceShape(subject, storage)];
  return [activeShape(subject, storage), historyShape(subject, storage)];
}

/** Names that columns of additional fields cannot have. @param fields see {@link shapesOf} */
export function reservedColumns(subject: ViewSubject, fields: ReadonlySet<string>): readonly string[] {
  return shapesOf(subject, readSchemas(''), fields).flatMap(({ leading }) => leading.map(({ name }) => name));
}

function column(name: string, sql: string, comment: string): LeadingColumn {
  return { name, sql, comment };
}

/** Name in Daml notation. */
export function damlName({ packageName, moduleName, entityName }: ViewSubject): string {
  return `${packageName}:${moduleName}:${entityName}`;
}

function stakeholders(alias: string): readonly LeadingColumn[] {
  return [
    column('signatories', `${alias}.signatories`, 'Signatories.'),
    column('observers', `${alias}.observers`, 'Observers.'),
  ];
}
const payload = column('payload', 'c.payload', 'The complete payload, in the ledger’s own JSON.');

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

function versionColumns(alias: string, entityKind: string): readonly LeadingColumn[] {
  return [
    column(
      'package_version',
      'p.package_version',
      `Version of the package of the ${entityKind}; null until it was read.`,
    ),
    column('package_id', `${alias}.package_id`, `Package id of the ${entityKind}.`),
  ];
}

const contractColumns = [
  column('contract_key', 'c.contract_key', 'Contract key, the ledger’s own JSON; null without key.'),
  column('synchronizer_id', 'z.synchronizer_id', 'Synchronizer of the activation.'),
];

/** Columns of a contract's lifecycle, with the values and rules of `explore.contracts`. */
const statusColumns = [
  column(
    'status',
    `case l.ended_by when 'a' then 'archived' when 'r' then 'unassigned' when 'e' then 'ended' when 'w' then 'witnessed'
       else case when l.unhosted_since is null then 'active' else 'unhosted' end end`,
    'Status of the contract: active, archived, witnessed and so on, as in explore.contracts.',
  ),
  column(
    'is_active',
    'l.ended_by is null and l.unhosted_since is null',
    'Whether the contract is active at the checkpoint.',
  ),
  column(
    'archived_at_offset',
    `case when l.ended_by <> 'w' then l.deactivated_offset end`,
    'Offset of the archive, or of the unassign when the contract left the synchronizer. Null while active, and for contracts that never were.',
  ),
  column(
    'archived_at',
    'l.ended_at',
    'Ledger effective time of that update (of an unassign its record time); null if there is none.',
  ),
];

function activeShape(subject: ViewSubject, storage: string): ViewShape {
  const in_ = tables(storage);
  return {
    suffix: '',
    comment: `Active contracts of ${damlName(subject)} in all versions.`,
    leading: [
      ...activation(`${in_('id_text')}(l.contract_id)`, 'l."offset"'),
      ...stakeholders('s'),
      ...contractColumns,
      ...versionColumns('t', 'template as created'),
      payload,
    ],
    source: 'c.payload',
    packageId: 't.package_id',
    from: [
      `from ${in_('live')} l`,
      `join ${in_('templates')} t on t.template_pk = l.template_pk`,
      `left join ${in_('contracts')} c on c."offset" = l."offset" and c.node_id = l.node_id`,
      ...contractJoins(subject, in_),
      `where ${isOfTemplate('t', subject)} and l.unhosted_since is null`,
    ].join('\n  '),
  };
}

function historyShape(subject: ViewSubject, storage: string): ViewShape {
  const in_ = tables(storage);
  return {
    suffix: historySuffix,
    comment: `All contracts of ${damlName(subject)} in all versions, archived and merely witnessed ones too; one row per activation.`,
    leading: [
      ...activation('l.contract_id', 'c."offset"'),
      column('node_id', 'c.node_id', 'Node of the create or assign within its update.'),
      ...stakeholders('s'),
      ...contractColumns,
      ...versionColumns('t', 'template as created'),
      ...statusColumns,
      payload,
    ],
    source: 'c.payload',
    packageId: 't.package_id',
    from: [
      `from ${in_('contract_states')} l`,
      `join ${in_('templates')} t on t.template_pk = l.template_pk`,
      `left join ${in_('contracts')} c on c."offset" = l.activated_offset and c.node_id = l.node_id`,
      `  and c.template_pk = l.template_pk and ${in_('id_text')}(c.contract_id) = l.contract_id`,
      ...contractJoins(subject, in_),
      `where ${isOfTemplate('t', subject)}`,
    ].join('\n  '),
  };
}

/** The rest of the join to contracts, and additional joins. */
function contractJoins(subject: ViewSubject, in_: QualifyName): readonly string[] {
  const numbers = `select y.template_pk from ${in_('templates')} y where ${isOfTemplate('y', subject)}`;
  return [
    `  and ${oneOfCondition('c.template_pk', numbers)}`,
    `left join ${in_('contract_parties')} s on s.parties_pk = l.parties_pk`,
    `left join ${in_('synchronizers')} z on z.synchronizer_pk = l.synchronizer_pk`,
    `left join ${in_('packages')} p on p.package_id = t.package_id`,
  ];
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
      column('argument', 'e.argument::jsonb', 'The complete argument, in the ledger’s own JSON.'),
    ],
    source: 'e.argument::jsonb',
    packageId: `${owner}.package_id`,
    from: (subject.ofInterface ? interfaceChoice(subject, in_) : templateChoice(subject, in_)).join('\n  '),
  };
}

/**
 * SQL condition that ensures that casts in a reader's query are not applied to contents of other templates, in any
 * plan. Postgres evaluates the cheapest condition of a scan first, and a cast that can fail on contents is more
 * expensive than this condition.
 * @param numbers SQL that selects the numbers that the column may have
 */
function oneOfCondition(column: string, numbers: string): string {
  return `array_position(array(${numbers}), ${column}) is not null`;
}

function templateChoice(subject: ViewSubject, in_: QualifyName): readonly string[] {
  const isChoice = (templates: string, choices: string): string =>
    `${isOfTemplate(templates, subject)} and ${choices}.choice = ${escapeLiteral(subject.choice)}`;
  const choices = (choice: string, template: string): string =>
    `join ${in_('choices')} ${choice} on ${choice}.template_pk = ${template}.template_pk and ${choice}.interface_pk = 0`;
  const numbers = `select x.choice_pk from ${in_('templates')} y ${choices('x', 'y')} where ${isChoice('y', 'x')}`;
  return [
    `from ${in_('templates')} t`,
    choices('h', 't'),
    `join ${in_('exercises')} e on e.choice_pk = h.choice_pk`,
    ...exerciseJoins(in_),
    `left join ${in_('packages')} p on p.package_id = t.package_id`,
    `where ${isChoice('t', 'h')}`,
    `  and ${oneOfCondition('e.choice_pk', numbers)}`,
  ];
}

function exerciseJoins(in_: QualifyName): readonly string[] {
  return [
    `left join ${in_('event_parties')} w on w.parties_pk = e.parties_pk`,
    `left join ${in_('updates')} u on u."offset" = e."offset"`,
  ];
}

function interfaceChoice(subject: ViewSubject, in_: QualifyName): readonly string[] {
  const isChoice = (interfaces: string, packages: string, choices: string): string =>
    `${isOfInterface(interfaces, packages, subject)} and ${choices}.choice = ${escapeLiteral(subject.choice)}`;
  const choices = `${in_('choices')} x on x.interface_pk = y.template_pk`;
  const numbers = `select x.choice_pk ${interfaceFrom(in_, 'y', 'q')} join ${choices} where ${isChoice('y', 'q', 'x')}`;
  return [
    interfaceFrom(in_, 'i', 'p'),
    `join ${in_('choices')} h on h.interface_pk = i.template_pk`,
    `join ${in_('exercises')} e on e.choice_pk = h.choice_pk`,
    `join ${in_('templates')} t on t.template_pk = h.template_pk`,
    ...exerciseJoins(in_),
    `where ${isChoice('i', 'p', 'h')}`,
    `  and ${oneOfCondition('e.choice_pk', numbers)}`,
  ];
}

function interfaceShape(subject: ViewSubject, storage: string): ViewShape {
  const in_ = tables(storage);
  const numbers = `select y.template_pk ${interfaceFrom(in_, 'y', 'q')} where ${isOfInterface('y', 'q', subject)}`;
  return {
    suffix: '',
    comment: `Active contracts seen through interface ${damlName(subject)}, of every template that implements it.`,
    leading: [
      ...activation(`${in_('id_text')}(l.contract_id)`, 'l."offset"'),
      templateOf,
      ...stakeholders('s'),
      ...versionColumns('i', 'interface'),
      column('view', 'v.view', 'The complete view, in the ledger’s own JSON; null if it could not be computed.'),
    ],
    source: 'v.view',
    packageId: 'i.package_id',
    from: [
      interfaceFrom(in_, 'i', 'p'),
      // The query starts from the live contracts of the templates that implement the interface, because ended contracts
      // may have far more views.
      `join ${in_('template_interfaces')} m on m.interface_pk = i.template_pk`,
      `join ${in_('live')} l on l.template_pk = m.template_pk`,
      `join ${in_('interface_views')} v on v."offset" = l."offset" and v.node_id = l.node_id`,
      '  and v.interface_pk = i.template_pk',
      `join ${in_('templates')} t on t.template_pk = l.template_pk`,
      `left join ${in_('contracts')} c on c."offset" = l."offset" and c.node_id = l.node_id`,
      `left join ${in_('contract_parties')} s on s.parties_pk = l.parties_pk`,
      `where ${isOfInterface('i', 'p', subject)}`,
      `  and l.unhosted_since is null and ${oneOfCondition('v.interface_pk', numbers)}`,
    ].join('\n  '),
  };
}

type QualifyName = (name: string) => string;

function tables(schema: string): QualifyName {
  return (name) => `${escapeIdentifier(schema)}.${name}`;
}

/** Events contain only the package id of an interface. The name of the package is in a separate table. */
function interfaceFrom(in_: QualifyName, interfaces: string, packages: string): string {
  return `from ${in_('templates')} ${interfaces} join ${in_('packages')} ${packages} on ${packages}.package_id = ${interfaces}.package_id`;
}

function isOfTemplate(alias: string, subject: ViewSubject): string {
  return `${isNamed(alias, subject)} and ${alias}.package_name = ${escapeLiteral(subject.packageName)}`;
}

function isOfInterface(interfaces: string, packages: string, subject: ViewSubject): string {
  return `${isNamed(interfaces, subject)} and ${packages}.package_name = ${escapeLiteral(subject.packageName)}`;
}

function isNamed(alias: string, { moduleName, entityName }: ViewSubject): string {
  return `${alias}.module_name = ${escapeLiteral(moduleName)} and ${alias}.entity_name = ${escapeLiteral(entityName)}`;
}
