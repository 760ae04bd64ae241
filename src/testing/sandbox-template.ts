/** Converts a template of a test to the form that the sandbox ledger needs. */
import type { Json, JsonObject } from 'ledger-indexer-sandbox/wire/json';
import type { Choice, Template } from 'ledger-indexer-sandbox/contracts/model';
import type { TestChoice, TestTemplate } from './test-template.ts';

/**
 * Checks that results and arguments of a test are JSON; otherwise the sandbox would reject them, or print them
 * unchanged.
 */
function json(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? {})) as Json;
}

/** Creates the error with which the sandbox rejects a command. */
export type Refuse = (what: string) => Error;

/**
 * The parties that a function of the test returned. Like the ledger, rejects a payload of another type, which has no
 * parties.
 */
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

/** The template in the form that `Model.register` accepts. */
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
