/** A template of a test, as the sandbox ledger wants it. */
import { invalidArgument } from '../sandbox/failure.ts';
import type { Json, JsonObject } from '../sandbox/json.ts';
import type { Choice, Template } from '../sandbox/model.ts';
import type { TestChoice, TestTemplate } from './test-template.ts';

/** What a test returns or hands on must be JSON; the sandbox would refuse or print anything else as it is. */
function json(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? {})) as Json;
}

/** What a test names as parties. A payload without them is refused, as the ledger refuses one of another type. */
function parties(of: string, named: readonly unknown[]): readonly string[] {
  return named.map((party) => {
    if (typeof party === 'string' && party !== '') return party;
    throw invalidArgument(`${of}: expected ids of parties, found something else`);
  });
}

function sandboxChoice(name: string, choice: TestChoice): Choice {
  return {
    consuming: choice.consuming,
    controllers: (payload, argument) => parties(`controllers of ${name}`, choice.controllers(payload, argument)),
    run: ({ contract, argument, create }) =>
      json(
        choice.run?.({
          payload: contract.createArgument,
          argument,
          create: (template, given) => create(template, json(given) as JsonObject),
        }),
      ),
  };
}

/** The same template for `Model.register`. */
export function sandboxTemplate(template: TestTemplate): Template {
  const choices = Object.entries(template.choices ?? {}).map(([name, choice]) => [name, sandboxChoice(name, choice)]);
  return {
    name: template.name,
    signatories: (payload) => parties(`signatories of ${template.name}`, template.signatories(payload)),
    observers: (payload) => parties(`observers of ${template.name}`, template.observers?.(payload) ?? []),
    interfaces: [],
    choices: Object.fromEntries(choices) as Record<string, Choice>,
  };
}
