/** Reads a command submission (`JsCommands`) and runs its commands in one transaction. */
import { failure, missingField } from './failure.ts';
import { asList, asObject, asText, asTexts } from './json.ts';
import type { Json, JsonObject } from './json.ts';
import type { Model, Template } from './model.ts';
import type { TransactionBuilder } from './transaction.ts';

export type Command =
  | { readonly kind: 'create'; readonly templateId: string; readonly argument: JsonObject }
  | { readonly kind: 'exercise'; readonly contractId: string; readonly choice: string; readonly argument: JsonObject }
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
  /** Microseconds since 1970; the ledger's clock when absent. */
  readonly at?: number;
}

function command(body: Json): Command {
  const given = asObject(body) ?? {};
  const create = asObject(given['CreateCommand']);
  const argument = (of: JsonObject, key: string): JsonObject => asObject(of[key]) ?? {};
  if (create !== undefined) {
    return { kind: 'create', templateId: asText(create['templateId']), argument: argument(create, 'createArguments') };
  }
  const both = asObject(given['CreateAndExerciseCommand']);
  if (both !== undefined) {
    const made = { templateId: asText(both['templateId']), argument: argument(both, 'createArguments') };
    const choiceArgument = argument(both, 'choiceArgument');
    return { kind: 'create-and-exercise', ...made, choice: asText(both['choice']), choiceArgument };
  }
  const exercise = asObject(given['ExerciseCommand']);
  if (exercise === undefined) throw missingField('command');
  const target = { contractId: asText(exercise['contractId']), choice: asText(exercise['choice']) };
  return { kind: 'exercise', ...target, argument: argument(exercise, 'choiceArgument') };
}

/** A request body as a submission; refuses one without commands, commandId or actAs. */
export function parseSubmission(body: JsonObject): Submission {
  const commands = asList(body['commands']).map(command);
  const actAs = asTexts(body['actAs']);
  const commandId = asText(body['commandId']);
  if (commands.length === 0) throw missingField('commands');
  if (commandId === '') throw missingField('command_id');
  if (actAs.length === 0) throw missingField('act_as');
  const synchronizerId = asText(body['synchronizerId']);
  const target = synchronizerId === '' ? {} : { synchronizerId };
  const readAs = asTexts(body['readAs']);
  return { commands, actAs, readAs, commandId, workflowId: asText(body['workflowId']), ...target };
}

function template(model: Model, identifier: string): Template {
  const found = model.resolve(identifier);
  if (found !== undefined) return found;
  if (identifier.startsWith('#')) model.requireKnown('template', identifier.slice(1));
  const cause = `Templates or interfaces not found: ${identifier}`;
  throw failure({ code: 'TEMPLATES_OR_INTERFACES_NOT_FOUND', category: 11, cause });
}

/** Refuses what the submitting parties may not authorize: signatories and controllers must be among them. */
function authorize(needed: readonly string[], actAs: readonly string[], what: string): void {
  const missing = needed.filter((party) => !actAs.includes(party));
  if (missing.length === 0) return;
  const cause = `Interpretation error: Error: ${what} requires authorizers ${needed.join(',')}, but only ${actAs.join(',')} were given`;
  throw failure({ code: 'DAML_AUTHORIZATION_ERROR', category: 8, cause });
}

/** Runs one command in the transaction, with the rules of authorization for its root node. */
export function runCommand(
  builder: TransactionBuilder,
  model: Model,
  command: Command,
  actAs: readonly string[],
): void {
  let contractId = command.kind === 'exercise' ? command.contractId : '';
  if (command.kind !== 'exercise') {
    const made = builder.create(template(model, command.templateId), command.argument);
    authorize(made.signatories, actAs, `create of ${command.templateId}`);
    contractId = made.contractId;
  }
  if (command.kind === 'create') return;
  const argument = command.kind === 'exercise' ? command.argument : command.choiceArgument;
  const exercised = builder.exercise(contractId, command.choice, argument);
  authorize(exercised.actingParties, actAs, `exercise of ${command.choice}`);
}
