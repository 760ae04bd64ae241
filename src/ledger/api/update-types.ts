/**
 * Updates, transactions and events as the participant sends them, for callers of single lookups. Fields that a release
 * may leave out are optional. Daml values remain plain JSON. (The indexer itself decodes text with
 * `../frames/decode.ts`, without loss.) Source: recorded responses and the OpenAPI descriptions of 3.4, 3.5 and 3.6.
 */
import { isObject } from '../frames/field.ts';
import { responseField, responseObject, responseOffset, type Maybe } from './answer.ts';
import { ledgerError } from '../errors/make-ledger-error.ts';

export interface TraceContext {
  readonly traceparent?: Maybe<string>;
  readonly tracestate?: Maybe<string>;
}

export interface InterfaceView {
  readonly interfaceId?: string;
  /** A `code` other than 0 means that the view failed and has no value. */
  readonly viewStatus?: Maybe<Status>;
  readonly viewValue?: unknown;
  readonly implementationPackageId?: Maybe<string>;
}

/** A gRPC status. */
export interface Status {
  readonly code?: number;
  readonly message?: string;
  readonly details?: Maybe<readonly unknown[]>;
}

export interface CreatedEvent {
  readonly contractId: string;
  /** `package-id:Module:Entity`. */
  readonly templateId: string;
  readonly offset?: number;
  readonly nodeId?: number;
  readonly contractKey?: unknown;
  readonly contractKeyHash?: Maybe<string>;
  readonly createArgument?: unknown;
  /** Base64; required in a DisclosedContract. */
  readonly createdEventBlob?: Maybe<string>;
  readonly interfaceViews?: Maybe<readonly InterfaceView[]>;
  readonly witnessParties?: readonly string[];
  readonly signatories?: readonly string[];
  readonly observers?: readonly string[];
  readonly createdAt?: string;
  readonly packageName?: string;
  readonly representativePackageId?: Maybe<string>;
  readonly acsDelta?: boolean;
}

export interface ArchivedEvent {
  readonly contractId: string;
  readonly templateId: string;
  readonly offset?: number;
  readonly nodeId?: number;
  readonly witnessParties?: readonly string[];
  readonly packageName?: string;
  readonly implementedInterfaces?: Maybe<readonly string[]>;
}

export interface ExercisedEvent extends ArchivedEvent {
  readonly interfaceId?: Maybe<string>;
  readonly choice?: string;
  readonly choiceArgument?: unknown;
  readonly actingParties?: readonly string[];
  readonly consuming?: boolean;
  readonly lastDescendantNodeId?: number;
  readonly exerciseResult?: unknown;
  readonly acsDelta?: boolean;
}

/** Has exactly one of the keys. */
export interface Event {
  readonly CreatedEvent?: CreatedEvent;
  readonly ArchivedEvent?: ArchivedEvent;
  readonly ExercisedEvent?: ExercisedEvent;
}

export interface Transaction {
  readonly offset: number;
  readonly updateId?: string;
  readonly commandId?: string;
  readonly workflowId?: string;
  readonly effectiveAt?: string;
  readonly events?: readonly Event[];
  readonly synchronizerId?: string;
  readonly traceContext?: Maybe<TraceContext>;
  readonly recordTime?: string;
  readonly externalTransactionHash?: Maybe<string>;
  readonly paidTrafficCost?: Maybe<number>;
  /** Since 3.6. */
  readonly transactionHash?: Maybe<string>;
}

/** `{"<Kind>":{"value":…}}`. Kinds of later releases appear under their own name. */
export interface Update {
  readonly Transaction?: { readonly value: Transaction };
  readonly Reassignment?: { readonly value: UpdateValue };
  readonly TopologyTransaction?: { readonly value: UpdateValue };
  readonly OffsetCheckpoint?: { readonly value: UpdateValue };
}

/** Common fields of all kinds of updates; the other fields are plain JSON. */
export interface UpdateValue {
  readonly offset: number;
  readonly [key: string]: unknown;
}

export interface UpdateResponse {
  readonly update?: Maybe<Update>;
}

/**
 * A response `{"update":…}`, whose value must have an offset if there is one.
 * @throws IndexerError LEDGER_UNDECODABLE
 */
export function updateResponseOf(response: unknown, path: string): UpdateResponse {
  const { update } = responseObject(response, path);
  if (!isObject(update)) return response as UpdateResponse;
  for (const [kind, body] of Object.entries(update)) {
    if (!isObject(body)) continue;
    responseOffset(body['value'], 'offset', `${kind} of ${path}`);
    if (kind === 'Transaction') checkEvents(body['value'], path);
  }
  return response as UpdateResponse;
}

/** The transaction of a response `{"transaction":…}`. @throws IndexerError LEDGER_UNDECODABLE */
export function transactionIn(response: unknown, path: string): Transaction {
  const transaction = responseField(response, 'transaction', path);
  responseOffset(transaction, 'offset', path);
  checkEvents(transaction, path);
  return transaction as unknown as Transaction;
}

/** The created event under `name`. @throws IndexerError LEDGER_UNDECODABLE if contract id or template id is missing */
export function createdEventOf(response: unknown, name: string, path: string): CreatedEvent {
  const event = responseField(response, name, path);
  checkEvent(event, path);
  return event as unknown as CreatedEvent;
}

function checkEvents(transaction: unknown, path: string): void {
  const events = isObject(transaction) ? transaction['events'] : undefined;
  if (!Array.isArray(events)) return;
  for (const entry of events as readonly unknown[]) {
    if (!isObject(entry)) continue;
    for (const kind of ['CreatedEvent', 'ArchivedEvent', 'ExercisedEvent']) {
      if (kind in entry) checkEvent(entry[kind], path);
    }
  }
}

/** Checks the two ids, without which an event is meaningless. @throws IndexerError LEDGER_UNDECODABLE */
export function checkEvent(event: unknown, path: string): void {
  if (isObject(event) && typeof event['contractId'] === 'string' && typeof event['templateId'] === 'string') return;
  throw ledgerError('LEDGER_UNDECODABLE', `expected contractId and templateId in an event of ${path}, found none`);
}
