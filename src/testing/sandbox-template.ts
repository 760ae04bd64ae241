/** Converts a test's template to the form of the sandbox ledger. */
import type { Json, JsonObject } from 'ledger-indexer-sandbox/wire/json';
import type { Choice, Template } from 'ledger-indexer-sandbox/contracts/model';
import type { TestChoice, TestTemplate } from './test-template.ts';

/** Results and arguments of a test must be JSON; otherwise the sandbox would refuse or print them as they are. */
function json(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? {})) as Json;
}

/** How the sandbox refuses a command. */
export type Refuse = (what: string) => Error;

/** Parties named by a test. A payload without them is refused, as the ledger refuses one of another type. */
function parties(of: string, named: readonly unknown[], refuse: Refuse): readonly string[] {
  return named.map((party) => {
    if (typeof party === 'string' && party !== '') return party;
    throw refuse(`${of}: expected ids of parties, found other values`);
  });
}

function sandboxChoice(name: string, choice: TestChoice, refuse: Refuse): Choice {
  return {
    consuming: choice.consuming,
    controllers: (payload, argument) =>
      parties(`controllers of ${name}`, choice.controllers(payload, argument), refuse),
    run: ({ contract, argument, create }) =>
      json(
        choice.run?.({
          payload: contract.createArgument,
          argument,
          create: (template, payload) => create(template, json(payload) as JsonObject),
        }),
      ),
  };
}

/** The same template for `Model.register`. */
export function sandboxTemplate(template: TestTemplate, refuse: Refuse): Template {
  const choices = Object.entries(template.choices ?? {}).map(([name, choice]) => [
    name,
    sandboxChoice(name, choice, refuse),
  ]);
  return {
    name: template.name,
    signatories: (payload) => parties(`signatories of ${template.name}`, template.signatories(payload), refuse),
    observers: (payload) => parties(`observers of ${template.name}`, template.observers?.(payload) ?? [], refuse),
    interfaces: [],
    choices: Object.fromEntries(choices) as Record<string, Choice>,
  };
}
