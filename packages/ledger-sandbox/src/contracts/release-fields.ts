/**
 * Differences between the releases in the fields of a response. All other code prints the fields of 3.5. A renderer
 * uses the functions of its release. The functions of 3.5 return their input.
 */
import { LedgerFailure } from '../wire/failure.ts';
import { asList } from '../wire/json.ts';
import type { JsonObject } from '../wire/json.ts';
import { entityOf } from './model.ts';
import type { Model } from './model.ts';
import { isFrom } from '../wire/release.ts';
import type { Release } from '../wire/release.ts';
import type { CreatedEvent, InterfaceView, Transaction } from '../wire/wire.ts';

/** An active-contracts entry as the release prints it. */
export interface ReleaseEntry {
  readonly workflowId: string;
  readonly contractEntry: object;
  readonly streamContinuationToken?: string;
}

/** Functions whose results are only printed. In 3.4, the results lack keys that their types have. */
export interface ReleaseFields {
  /** A created event that is filtered for its reader. */
  created(event: CreatedEvent): CreatedEvent;
  transaction(value: Transaction): Transaction;
  entry(entry: ReleaseEntry): ReleaseEntry;
  /** Whether the release has this variant of topology event. */
  topologyVariant(variant: string): boolean;
}

const fields35: ReleaseFields = {
  created: (event) => event,
  transaction: (value) => value,
  entry: (entry) => entry,
  topologyVariant: () => true,
};

/** 3.6 renames the hash of a transaction. externalTransactionHash remains as the deprecated name. */
const fields36: ReleaseFields = {
  ...fields35,
  transaction: (value) => ({ ...value, transactionHash: value.externalTransactionHash }),
};

/** The argument with every declared trailing Optional printed, as in 3.4. */
function withNones(argument: JsonObject, optionals: readonly string[]): JsonObject {
  return { ...argument, ...Object.fromEntries(optionals.map((name) => [name, argument[name] ?? null])) };
}

/** A view without the package that computed it, as before 3.5. */
function view34({ interfaceId, viewStatus, viewValue }: InterfaceView): InterfaceView {
  const printedView: Omit<InterfaceView, 'implementationPackageId'> = { interfaceId, viewStatus, viewValue };
  return printedView as InterfaceView;
}

function created34(model: Model, event: CreatedEvent): CreatedEvent {
  const optionals = model.resolve(`#${event.packageName}:${entityOf(event.templateId)}`)?.optionals ?? [];
  const printedEvent: Partial<CreatedEvent> = {
    ...event,
    createArgument: withNones(event.createArgument, optionals),
    interfaceViews: event.interfaceViews.map(view34),
  };
  delete (printedEvent as { contractKeyHash?: string }).contractKeyHash;
  return printedEvent as CreatedEvent;
}

function fields34(model: Model): ReleaseFields {
  return {
    ...fields35,
    created: (event) => created34(model, event),
    entry: ({ workflowId, contractEntry }) => ({ workflowId, contractEntry }),
    topologyVariant: (variant) => variant !== 'ParticipantAuthorizationOnboarding',
  };
}

/** The functions of a release. `model` provides the trailing Optional fields of a template. */
export function fieldsOf(release: Release, model: Model): ReleaseFields {
  if (release === '3.4') return fields34(model);
  return isFrom(release, '3.6') ? fields36 : fields35;
}

/** The argument of a create without its trailing Nones, as the ledger stores it. */
export function withoutTrailingNones(argument: JsonObject, optionals: readonly string[]): JsonObject {
  const keptArgument = { ...argument };
  for (const name of optionals.toReversed()) {
    if ((keptArgument[name] ?? null) !== null) break;
    delete (keptArgument as Record<string, unknown>)[name];
  }
  return keptArgument;
}

/** `CID` (3.6) and `ErrorResource(CID)` (before) name the same kind of resource. */
function resourceType(release: Release, type: string): string {
  const resourceText = /^ErrorResource\((.*)\)$/.exec(type)?.[1] ?? type;
  return isFrom(release, '3.6') ? resourceText : `ErrorResource(${resourceText})`;
}

/** A refusal in the form of a release. */
export function refusalIn(release: Release, { body, status }: LedgerFailure): LedgerFailure {
  if (body['resources'] === undefined) return new LedgerFailure(body, status);
  const resources = asList(body['resources']) as readonly (readonly [string, string])[];
  const resourceEntries = resources.map(([type, id]) => [resourceType(release, type), id] as const);
  return new LedgerFailure({ ...body, resources: resourceEntries }, status);
}
