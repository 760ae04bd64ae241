/** Values in the demo's traffic are valid for the types that its packages declare. */
import { demoWorld, demoPackages } from '../../src/demo/sandbox.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { readPackageArchive } from '../../../../src/daml/package-archive.ts';
import type { ChoiceModel, DamlType } from '../../../../src/daml/package-model.ts';
import { licensingUpgrade } from '../../src/demo/packages/applications.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import type { CreatedEvent, ExercisedEvent } from '../../src/wire/wire.ts';
import { playDemo } from '../../../../test/support/demo-play.ts';
import { PayloadValidator } from './payload-validator.ts';

const models = [...demoPackages, licensingUpgrade].map(({ payload }) => readPackageArchive(payload));
const validator = new PayloadValidator(models);

/** Type of the payload of a template, or of the view of an interface. */
function viewType(id: string): DamlType | undefined {
  const model = models.find(({ packageId }) => id.startsWith(packageId));
  const modelEntity = model?.interfaces.find((candidate) =>
    id.endsWith(`:${candidate.moduleName}:${candidate.entityName}`),
  );
  return modelEntity?.view;
}

/** The choice of a template or an interface, by the id of either. */
function choiceOf(id: string, name: string): ChoiceModel | undefined {
  const model = models.find(({ packageId }) => id.startsWith(packageId));
  const entities = [...(model?.templates ?? []), ...(model?.interfaces ?? [])];
  const modelEntity = entities.find((candidate) => id.endsWith(`:${candidate.moduleName}:${candidate.entityName}`));
  return modelEntity?.choices.find((choice) => choice.name === name);
}

/** Type errors by entity, without duplicates. */
const faults = new Map<string, Set<string>>();
const createdCounts = new Map<string, number>();
const exercisedCounts = new Map<string, number>();

function addFault(subject: string, foundFaults: readonly string[]): void {
  // Ids and amounts are removed, because they differ from row to row while the type error is the same.
  for (const fault of foundFaults) faults.set(subject, (faults.get(subject) ?? new Set()).add(fault.slice(0, 160)));
}

function entity(id: string): string {
  return id.slice(id.indexOf(':') + 1);
}

function checkCreate(ledger: Ledger, event: CreatedEvent): void {
  const type: DamlType = { kind: 'named', name: event.templateId, arguments: [] };
  createdCounts.set(entity(event.templateId), (createdCounts.get(entity(event.templateId)) ?? 0) + 1);
  addFault(event.templateId, validator.faults(event.createArgument, type));
  for (const implementation of ledger.model.interfacesOf(`${event.packageName}:${entity(event.templateId)}`)) {
    const { name } = implementation;
    const declaredType = viewType(ledger.model.id(name));
    if (declaredType === undefined) addFault(event.templateId, [`the interface ${name} is not declared`]);
    else
      addFault(
        `${event.templateId} as ${name}`,
        validator.faults(implementation.view(event.createArgument), declaredType),
      );
  }
}

function checkExercise(event: ExercisedEvent): void {
  const id = event.interfaceId ?? event.templateId;
  const choice = choiceOf(id, event.choice);
  const choiceText = `${entity(id)} ${event.choice}`;
  exercisedCounts.set(choiceText, (exercisedCounts.get(choiceText) ?? 0) + 1);
  if (choice === undefined) {
    addFault(choiceText, [`the choice is not declared in ${id}`]);
    return;
  }
  addFault(choiceText, choice.consuming === event.consuming ? [] : ['consumes otherwise than declared']);
  addFault(`${choiceText} argument`, validator.faults(event.choiceArgument, choice.argument));
  addFault(`${choiceText} result`, validator.faults(event.exerciseResult, choice.result));
}

beforeAll(() => {
  const ledger = new Ledger(demoWorld(), { seed: 5 });
  playDemo(ledger, 5);
  for (const { update } of ledger.range(0, ledger.ledgerEnd(), Infinity)) {
    if (update === undefined || !('Transaction' in update)) continue;
    for (const event of update.Transaction.value.events) {
      if ('CreatedEvent' in event) checkCreate(ledger, event.CreatedEvent);
      else if ('ExercisedEvent' in event) checkExercise(event.ExercisedEvent);
    }
  }
}, 120_000);

describe('the traffic of the demo', () => {
  it('writes only values that its packages declare', () => {
    const faultExamples = [...faults].map(([subject, examples]) => [subject, [...examples].slice(0, 3)]);
    expect(faultExamples).toEqual([]);
  });

  it('uses all templates of every package except the Iou template of the tutorials', () => {
    const packages = demoPackages.filter(({ name }) => name !== 'model-tests');
    const unusedTemplates = packages.flatMap(({ name, templates }) =>
      templates.filter((template) => !createdCounts.has(template)).map((template) => `${name}:${template}`),
    );
    expect(unusedTemplates).toEqual([]);
  });
});
