/** The commands of a submission: their form in a request, and their execution in one transaction. */
import { authorize, traceName, withTrace } from '../wire/daml-failure.ts';
import type { DeduplicationPeriod } from './deduplication.ts';
import { failure, missingField } from '../wire/failure.ts';
import { asObject, asText } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import { entityOf } from '../contracts/model.ts';
import type { Model, Template } from '../contracts/model.ts';
import type { TransactionBuilder } from '../contracts/transaction.ts';
import type { CreatedEvent } from '../wire/wire.ts';

interface Exercise {
  readonly choice: string;
  readonly argument: JsonObject;
}

export type Command =
  | { readonly kind: 'create'; readonly templateId: string; readonly argument: JsonObject }
  | (Exercise & {
      readonly kind: 'exercise';
      readonly contractId: string;
      /** The expected template or interface of the contract; absent if any is accepted. */
      readonly templateId?: string;
    })
  | (Exercise & { readonly kind: 'exercise-by-key'; readonly templateId: string; readonly key: Json })
  | {
      readonly kind: 'create-and-exercise';
      readonly templateId: string;
      readonly argument: JsonObject;
      readonly choice: string;
      readonly choiceArgument: JsonObject;
    };

export interface Submission {
  readonly commands: readonly Command[];
  readonly actAs: readonly string[];
  readonly readAs?: readonly string[];
  readonly commandId?: string;
  readonly workflowId?: string;
  readonly synchronizerId?: string;
  /** Microseconds since 1970; default: the ledger's clock. */
  readonly at?: number;
  /** The submitting user. Only submissions with a user are deduplicated and have a completion. */
  readonly userId?: string;
  readonly submissionId?: string;
  readonly deduplication?: DeduplicationPeriod;
  /** Lower-case hex of the hash that external parties signed. */
  readonly externalHash?: string;
  /** Microseconds since 1970. After this time, the ledger must not record the transaction. */
  readonly maxRecordTime?: number;
  /**
   * Traffic cost that the submitting participant paid; null for a submission of another participant. If absent, it is
   * random.
   */
  readonly paidTrafficCost?: number | null;
  /** Whether the submission has a trace context. Default true. */
  readonly traced?: boolean;
}

function requiredField(jsonObject: JsonObject, key: string, field: string): string {
  const value = asText(jsonObject[key]);
  if (value === '') throw missingField(field);
  return value;
}

function exerciseOf(command: JsonObject): Exercise & { readonly templateId: string } {
  const templateId = requiredField(command, 'templateId', 'template_id');
  return {
    templateId,
    choice: requiredField(command, 'choice', 'choice'),
    argument: asObject(command['choiceArgument']) ?? {},
  };
}

/** One element of `commands`. Throws MISSING_FIELD. */
export function parseCommand(body: Json): Command {
  const command = asObject(body) ?? {};
  const argument = (jsonObject: JsonObject): JsonObject => asObject(jsonObject['createArguments']) ?? {};
  const create = asObject(command['CreateCommand']);
  if (create !== undefined) {
    return {
      kind: 'create',
      templateId: requiredField(create, 'templateId', 'template_id'),
      argument: argument(create),
    };
  }
  const createAndExercise = asObject(command['CreateAndExerciseCommand']);
  if (createAndExercise !== undefined) {
    const { templateId, choice, argument: choiceArgument } = exerciseOf(createAndExercise);
    return { kind: 'create-and-exercise', templateId, argument: argument(createAndExercise), choice, choiceArgument };
  }
  const exerciseByKey = asObject(command['ExerciseByKeyCommand']);
  if (exerciseByKey !== undefined) {
    const key = exerciseByKey['contractKey'] ?? null;
    if (key === null) throw missingField('contract_key');
    return { kind: 'exercise-by-key', key, ...exerciseOf(exerciseByKey) };
  }
  const exercise = asObject(command['ExerciseCommand']);
  if (exercise === undefined) throw missingField('command');
  const contractId = requiredField(exercise, 'contractId', 'contract_id');
  return { kind: 'exercise', contractId, ...exerciseOf(exercise) };
}

function unknownIdentifier(model: Model, identifier: string): never {
  if (identifier.startsWith('#')) model.requireKnown('template', identifier.slice(1));
  const cause = `Templates or interfaces not found: ${identifier}`;
  throw failure({ code: 'TEMPLATES_OR_INTERFACES_NOT_FOUND', category: 11, cause });
}

function template(model: Model, identifier: string): Template {
  return model.resolve(identifier) ?? unknownIdentifier(model, identifier);
}

/** Refuses a contract that is not of the template, or does not implement the interface, in a command. */
function requireType(model: Model, contract: CreatedEvent, identifier: string): void {
  const name = `${contract.packageName}:${entityOf(contract.templateId)}`;
  if (contract.templateId === identifier || `#${name}` === identifier) return;
  const expected = model.resolve(identifier)?.name;
  if (expected === name) return;
  const interfaceName = model.resolveInterface(identifier);
  if (
    interfaceName !== undefined &&
    model.interfacesOf(name).some((implementation) => implementation.name === interfaceName)
  )
    return;
  if (expected === undefined && interfaceName === undefined) unknownIdentifier(model, identifier);
  const signatureCause = `the contract ${contract.contractId} is of type ${contract.templateId}`;
  const cause = `Interpretation error: Error: wrongly typed contract: ${signatureCause}, expected ${identifier}`;
  const code = interfaceName === undefined ? 'WRONGLY_TYPED_CONTRACT' : 'CONTRACT_DOES_NOT_IMPLEMENT_INTERFACE';
  throw failure({ code, category: 9, cause });
}

/**
 * Returns the id of the contract to exercise. For a key, this is the newest active contract that is visible to a
 * submitting or reading party.
 */
function resolveContractId(
  builder: TransactionBuilder,
  model: Model,
  command: Extract<Command, { kind: 'exercise' | 'exercise-by-key' }>,
  readers: readonly string[],
): string {
  if (command.kind === 'exercise-by-key') {
    return builder.fetchByKey(template(model, command.templateId), command.key, readers).contractId;
  }
  if (command.templateId !== undefined) requireType(model, builder.fetch(command.contractId), command.templateId);
  return command.contractId;
}

/** Runs one command in the transaction, with the rules of authorization for its root node. */
export function runCommand(
  builder: TransactionBuilder,
  model: Model,
  command: Command,
  { actAs, readAs = [] }: Pick<Submission, 'actAs' | 'readAs'>,
): void {
  let contractId: string;
  if (command.kind === 'create' || command.kind === 'create-and-exercise') {
    const createdEvent = builder.create(template(model, command.templateId), command.argument);
    authorize(createdEvent.signatories, actAs, `create of ${command.templateId}`);
    if (command.kind === 'create') return;
    contractId = createdEvent.contractId;
  } else {
    contractId = resolveContractId(builder, model, command, [...actAs, ...readAs]);
  }
  const argument = command.kind === 'create-and-exercise' ? command.choiceArgument : command.argument;
  const { templateId } = builder.fetch(contractId);
  try {
    const declaredBy = command.templateId === undefined ? undefined : model.resolveInterface(command.templateId);
    const exercisedEvent = builder.exercise(contractId, command.choice, argument, { declaredBy });
    authorize(exercisedEvent.actingParties, actAs, `exercise of ${command.choice}`);
  } catch (error) {
    throw withTrace(error, `in exercise command ${traceName(templateId, command.choice, contractId)}.`);
  }
}
