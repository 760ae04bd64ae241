/**
 * Event formats: parties, templates, interfaces and options of a request. `parse*` refuses the requests that the
 * participant refuses. `match` decides which parts of an event are visible.
 */
import { UndecodableRequest, invalidArgument, invalidField, missingField } from '../wire/failure.ts';
import { asList, asObject, asText, asTexts } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import { entityOf } from './model.ts';
import type { Model } from './model.ts';
import type { Release } from '../wire/release.ts';

/** Decides which names a filter may use: 3.4 still accepts package ids. */
interface ContractNames {
  readonly model: Model;
  readonly release: Release;
}

interface Filters {
  wildcard: boolean;
  wildcardBlob: boolean;
  /** By template name: whether to include the created event blob. */
  readonly templates: Map<string, boolean>;
  readonly interfaces: Map<string, { readonly view: boolean; readonly blob: boolean }>;
}

export interface EventFormat {
  readonly anyParty: Filters | undefined;
  readonly byParty: ReadonlyMap<string, Filters>;
}

export type Shape = 'TRANSACTION_SHAPE_ACS_DELTA' | 'TRANSACTION_SHAPE_LEDGER_EFFECTS';

export interface UpdateFormat {
  readonly transactions: { readonly format: EventFormat; readonly shape: Shape } | undefined;
  readonly reassignments: EventFormat | undefined;
  /** Parties whose topology events are requested; empty for all parties. */
  readonly topology: readonly string[] | undefined;
}

/** Visible parts of a visible event. */
export interface EventMatch {
  readonly witnesses: readonly string[];
  readonly blob: boolean;
  /** `Module:Entity` of the interfaces whose views are requested. */
  readonly views: ReadonlySet<string>;
}

function identifierName(identifier: string, { model, release }: ContractNames): string {
  if (identifier.startsWith('#')) return identifier.slice(1);
  const templateName =
    release === '3.4' ? (model.resolve(identifier)?.name ?? model.resolveInterface(identifier)) : undefined;
  if (templateName !== undefined) return templateName;
  const packageId = identifier.slice(0, identifier.indexOf(':'));
  throw invalidField('packageId', `Received an identifier with package ID ${packageId}, but expected a package name.`);
}

function addFilter(filters: Filters, entry: Json, names: ContractNames): void {
  const { model } = names;
  const identifier = asObject(asObject(entry)?.['identifierFilter']);
  const wildcard = asObject(asObject(identifier?.['WildcardFilter'])?.['value']);
  const template = asObject(asObject(identifier?.['TemplateFilter'])?.['value']);
  const interfaceFilter = asObject(asObject(identifier?.['InterfaceFilter'])?.['value']);
  if (wildcard !== undefined) {
    filters.wildcard = true;
    filters.wildcardBlob ||= wildcard['includeCreatedEventBlob'] === true;
  } else if (template !== undefined) {
    const name = identifierName(asText(template['templateId']), names);
    model.requireKnown('template', name);
    filters.templates.set(name, template['includeCreatedEventBlob'] === true);
  } else if (interfaceFilter !== undefined) {
    const name = identifierName(asText(interfaceFilter['interfaceId']), names);
    model.requireKnown('interface', name);
    const view = interfaceFilter['includeInterfaceView'] === true;
    filters.interfaces.set(name, { view, blob: interfaceFilter['includeCreatedEventBlob'] === true });
  }
}

function parseFilters(body: Json, names: ContractNames): Filters {
  const filters: Filters = { wildcard: false, wildcardBlob: false, templates: new Map(), interfaces: new Map() };
  for (const entry of asList(asObject(body)?.['cumulative'])) addFilter(filters, entry, names);
  if (filters.templates.size === 0 && filters.interfaces.size === 0) filters.wildcard = true;
  return filters;
}

/** Refuses a value that cannot be the id of a party. */
export function requireParty(party: string): void {
  if (party === '') throw invalidArgument('Daml-LF Party is empty');
  if (party.length > 255) throw invalidArgument('Daml-LF Party is too long (max: 255)');
  const [invalidCharacter] = /[^A-Za-z0-9:\-_ ]/u.exec(party) ?? [];
  if (invalidCharacter === undefined) return;
  const code = invalidCharacter.codePointAt(0)?.toString(16) ?? '';
  throw invalidArgument(`non expected character 0x${code} in Daml-LF Party "${party}"`);
}

/** A format in the form in which the context of a refusal describes it. */
export function formatText({ anyParty, byParty }: EventFormat): string {
  const textOf = ({ wildcard, wildcardBlob, templates, interfaces }: Filters): string => {
    const filterText = `templates: [${[...templates.keys()].join(', ')}], interfaces: [${[...interfaces.keys()].join(', ')}]`;
    return `{${filterText}${wildcard ? `, all-templates, created_event_blob: ${wildcardBlob}` : ''}}`;
  };
  const parties = [...byParty].map(([party, filters]) => `${party}: ${textOf(filters)}`);
  return `{${[...parties, ...(anyParty === undefined ? [] : [`anyParty: ${textOf(anyParty)}`])].join(', ')}}`;
}

/**
 * Parses an EventFormat. Throws the participant's refusal for an empty one, or for names that no uploaded package
 * defines.
 */
export function parseEventFormat(body: JsonObject, model: Model, release: Release): EventFormat {
  const names = { model, release };
  const partyFilters = Object.entries(asObject(body['filtersByParty']) ?? {});
  const anyPartyFilter = asObject(body['filtersForAnyParty']);
  if (partyFilters.length === 0 && anyPartyFilter === undefined) {
    throw invalidArgument('filtersByParty and filtersForAnyParty cannot be empty simultaneously');
  }
  for (const [party] of partyFilters) requireParty(party);
  return {
    anyParty: anyPartyFilter === undefined ? undefined : parseFilters(anyPartyFilter, names),
    byParty: new Map(partyFilters.map(([party, filters]) => [party, parseFilters(filters, names)])),
  };
}

/** Parses an UpdateFormat. An empty one is valid and selects only checkpoints. */
export function parseUpdateFormat(body: JsonObject, model: Model, release: Release): UpdateFormat {
  const transactions = asObject(body['includeTransactions']);
  const reassignments = asObject(body['includeReassignments']);
  const topology = asObject(asObject(body['includeTopologyEvents'])?.['includeParticipantAuthorizationEvents']);
  const shape = asText(transactions?.['transactionShape']);
  const isKnownShape = shape === 'TRANSACTION_SHAPE_ACS_DELTA' || shape === 'TRANSACTION_SHAPE_LEDGER_EFFECTS';
  if (!isKnownShape && !['', 'TRANSACTION_SHAPE_UNSPECIFIED'].includes(shape)) throw new UndecodableRequest('body');
  if (transactions !== undefined && !isKnownShape) throw missingField('transaction_shape');
  const format = asObject(transactions?.['eventFormat']);
  const parties = topology === undefined ? undefined : asTexts(topology['parties']);
  for (const party of parties ?? []) requireParty(party);
  if (transactions !== undefined && format === undefined) throw missingField('event_format');
  return {
    transactions:
      format !== undefined && isKnownShape ? { format: parseEventFormat(format, model, release), shape } : undefined,
    reassignments: reassignments === undefined ? undefined : parseEventFormat(reassignments, model, release),
    topology: parties,
  };
}

/**
 * Whether a filter requests one of the implemented interfaces, by full name or, for unregistered templates, by entity.
 */
function isImplemented(interfaceName: string, names: readonly string[]): boolean {
  return names.includes(interfaceName) || names.includes(`:${entityOf(interfaceName)}`);
}

/**
 * Decides about one event. `template` is `package-name:Module:Entity`, `interfaces` are the names that it implements,
 * `parties` are the parties that may see it. Undefined if it is not visible.
 */
export function match(
  format: EventFormat,
  template: string,
  interfaces: readonly string[],
  parties: readonly string[],
): EventMatch | undefined {
  const witnesses: string[] = [];
  const views = new Set<string>();
  let blob = false;
  const acceptsEvent = (filters: Filters): boolean => {
    let isAccepted = filters.wildcard;
    blob ||= filters.wildcard && filters.wildcardBlob;
    const templateFilter = filters.templates.get(template);
    if (templateFilter !== undefined) isAccepted = true;
    blob ||= templateFilter === true;
    for (const [name, interfaceFilter] of filters.interfaces) {
      if (!isImplemented(name, interfaces)) continue;
      isAccepted = true;
      blob ||= interfaceFilter.blob;
      if (interfaceFilter.view) views.add(entityOf(name));
    }
    return isAccepted;
  };
  for (const party of parties) {
    const filters = format.byParty.get(party);
    if (filters !== undefined && acceptsEvent(filters)) witnesses.push(party);
  }
  if (format.anyParty !== undefined && parties.length > 0 && acceptsEvent(format.anyParty)) {
    return { witnesses: parties, blob, views };
  }
  return witnesses.length === 0 ? undefined : { witnesses, blob, views };
}
