/**
 * Runs commands against the model and collects the full event tree of one transaction, with node ids in pre-order.
 * Informees are inherited from the parent exercise, and transient contracts are marked. The ledger receives the
 * transaction only when it is complete.
 */
import { contractKeyHash } from './contract-key.ts';
import { authorize, traceName, withTrace } from '../wire/daml-failure.ts';
import { failure } from '../wire/failure.ts';
import type { Activation } from './active-set.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import { packageOf, entityOf } from './model.ts';
import type { Choice, Model, Template } from './model.ts';
import type { Random } from '../wire/random.ts';
import type { CreatedEvent, ExercisedEvent, TransactionEvent } from '../wire/wire.ts';

/** The part of the ledger that a transaction reads. */
export interface TransactionBase {
  readonly model: Model;
  readonly random: Random;
  find(contractId: string): Activation | undefined;
  /** Ids of contracts that have or had the key with this hash, newest first. */
  keyed(hash: string): readonly string[];
  /** Returns one shared array per distinct list of parties, which keeps a long history small. */
  readonly parties: (list: readonly string[]) => readonly string[];
}

const archive: Choice = { consuming: true, controllers: () => [], run: () => ({}) };

/** Options of an exercise. */
interface ExerciseOptions {
  /** Default: the controllers of the choice. */
  readonly actors?: readonly string[];
  /** The informees of the parent exercise. */
  readonly seenBy?: readonly string[];
  /** The interface that declares the choice. If absent, any interface that declares it is used. */
  readonly declaredBy?: string | undefined;
}

export class TransactionBuilder {
  readonly events: TransactionEvent[] = [];
  readonly #base: TransactionBase;
  /** The ledger effective time, an API timestamp. */
  readonly createdAt: string;
  /** Contracts created by this transaction, with their events. */
  readonly #created = new Map<string, CreatedEvent>();
  readonly #consumed = new Set<string>();
  #synchronizerId: string | undefined;

  /** @param createdAt the ledger effective time, an API timestamp */
  constructor(base: TransactionBase, createdAt: string) {
    this.#base = base;
    this.createdAt = createdAt;
  }

  /** The synchronizer of the contracts that the transaction used; undefined if it used none. */
  get synchronizerId(): string | undefined {
    return this.#synchronizerId;
  }

  /** Creates a contract of a registered template. @param witnesses informees of the parent exercise */
  create(template: Template, input: JsonObject, witnesses: readonly string[] = []): CreatedEvent {
    const argument = template.normalize?.(input) ?? input;
    const signatories = this.#base.parties(template.signatories(argument));
    const observers = this.#base.parties(template.observers(argument).filter((p) => !signatories.includes(p)));
    const templateId = this.#base.model.id(template.name);
    const key = template.key?.(argument);
    const event: CreatedEvent = {
      offset: 0,
      nodeId: this.events.length,
      contractId: this.#base.random.contractId(),
      templateId,
      contractKey: key?.value ?? null,
      contractKeyHash: key === undefined ? '' : contractKeyHash(template.name, key.value),
      createArgument: argument,
      createdEventBlob: '',
      interfaceViews: [],
      witnessParties: this.#base.parties([...signatories, ...observers, ...witnesses]),
      signatories,
      observers,
      createdAt: this.createdAt,
      packageName: packageOf(template.name),
      representativePackageId: templateId.slice(0, 64),
      acsDelta: true,
    };
    this.events.push({ CreatedEvent: event });
    this.#created.set(event.contractId, event);
    return event;
  }

  /** Exercises a choice and runs its consequences. */
  exercise(
    contractId: string,
    choiceName: string,
    argument: JsonObject,
    options: ExerciseOptions = {},
  ): ExercisedEvent {
    const contract = this.fetch(contractId);
    const choice = this.#choice(contract, choiceName, options.declaredBy);
    const event = this.#exercised(contract, choiceName, choice, argument, options);
    this.events.push({ ExercisedEvent: event });
    if (choice.consuming) this.#consume(contractId, event);
    event.exerciseResult = this.#run(contract, choice, event);
    event.lastDescendantNodeId = this.events.length - 1;
    return event;
  }

  /**
   * The newest active contract with the key of which a reader is a stakeholder. Throws the participant's refusal if
   * there is none. Keys are not unique.
   */
  fetchByKey(template: Template, key: Json, readers: readonly string[]): CreatedEvent {
    const hash = contractKeyHash(template.name, key);
    const local = [...this.#created.values()].filter((event) => event.contractKeyHash === hash).toReversed();
    for (const contractId of [...local.map((event) => event.contractId), ...this.#base.keyed(hash)]) {
      const event = this.#created.get(contractId) ?? this.#base.find(contractId)?.created;
      if (event === undefined || this.#consumed.has(contractId)) continue;
      if ([...event.signatories, ...event.observers].some((party) => readers.includes(party))) return event;
    }
    const cause = `Interpretation error: Error: couldn't find key GlobalKey(${this.#base.model.id(template.name)})`;
    const resources = [['ErrorResource(CONTRACT_KEY)', hash]] as const;
    throw failure({ code: 'CONTRACT_KEY_NOT_FOUND', category: 11, cause, resources });
  }

  #run(contract: CreatedEvent, choice: Choice, event: ExercisedEvent): Json {
    try {
      return choice.run({
        contract,
        argument: event.choiceArgument as JsonObject,
        time: this.createdAt,
        create: (name, payload) => this.create(this.#template(name), payload, event.witnessParties).contractId,
        exercise: (child, name, payload, actors, declaredBy) => {
          authorize(actors, [...contract.signatories, ...event.actingParties], `exercise of ${name}`);
          const exerciseOptions = { actors: actors, seenBy: event.witnessParties, declaredBy };
          return this.exercise(child, name, payload, exerciseOptions).exerciseResult;
        },
        fetch: (child) => this.fetch(child),
      });
    } catch (error) {
      const { templateId, contractId } = contract;
      throw withTrace(error, `in choice ${traceName(templateId, event.choice, contractId)} (#${event.nodeId})`);
    }
  }

  /** The create of an active contract. Throws the participant's refusal if the contract is not active. */
  fetch(contractId: string): CreatedEvent {
    const local = this.#created.get(contractId);
    const activation = local === undefined ? this.#base.find(contractId) : undefined;
    const createdEvent = local ?? activation?.created;
    if (createdEvent === undefined || this.#consumed.has(contractId)) {
      const cause = `Contract could not be found with id ${contractId}`;
      const resources = [['ErrorResource(CID)', contractId]] as const;
      throw failure({ code: 'CONTRACT_NOT_FOUND', category: 11, cause, resources });
    }
    if (activation !== undefined) this.#useSynchronizer(activation.synchronizerId);
    return createdEvent;
  }

  #exercised(
    contract: CreatedEvent,
    name: string,
    choice: Choice,
    argument: Json & JsonObject,
    { actors, seenBy: witnesses = [] }: ExerciseOptions,
  ): ExercisedEvent {
    const { model, parties } = this.#base;
    const controllers =
      choice === archive ? contract.signatories : choice.controllers(contract.createArgument, argument);
    const actingParties = parties(actors ?? controllers);
    const stakeholders = choice.consuming ? [...contract.signatories, ...contract.observers] : contract.signatories;
    return {
      offset: 0,
      nodeId: this.events.length,
      contractId: contract.contractId,
      templateId: contract.templateId,
      interfaceId: choice.interface === undefined ? null : model.id(choice.interface),
      choice: name,
      choiceArgument: argument,
      actingParties: actingParties,
      consuming: choice.consuming,
      witnessParties: parties([
        ...stakeholders,
        ...actingParties,
        ...(choice.observers?.(argument) ?? []),
        ...witnesses,
      ]),
      lastDescendantNodeId: 0,
      exerciseResult: {},
      packageName: contract.packageName,
      implementedInterfaces: [],
      acsDelta: choice.consuming,
    };
  }

  #consume(contractId: string, event: ExercisedEvent): void {
    this.#consumed.add(contractId);
    const transient = this.#created.get(contractId);
    if (transient === undefined) return;
    transient.acsDelta = false;
    event.acsDelta = false;
  }

  #choice(contract: CreatedEvent, name: string, declaredBy: string | undefined): Choice {
    if (name === 'Archive') return archive;
    const template = this.#base.model.resolve(`#${contract.packageName}:${entityOf(contract.templateId)}`);
    // Only own properties are used, because every object inherits a `constructor`.
    const choiceOwner =
      template !== undefined && Object.hasOwn(template.choices, name) ? template.choices[name] : undefined;
    const choices = choiceOwner === undefined ? [] : [choiceOwner].flat();
    const choice = choices.find((candidate) => candidate.interface === declaredBy) ?? choices[0];
    if (choice !== undefined) return choice;
    const cause = `choice ${name} is not known for template ${contract.templateId}; its package is not part of this ledger`;
    throw failure({ code: 'TEMPLATES_OR_INTERFACES_NOT_FOUND', category: 11, cause });
  }

  #template(name: string): Template {
    const template = this.#base.model.resolve(`#${name}`);
    if (template !== undefined) return template;
    const cause = `Templates or interfaces not found: ${name}`;
    throw failure({ code: 'TEMPLATES_OR_INTERFACES_NOT_FOUND', category: 11, cause });
  }

  #useSynchronizer(id: string): void {
    this.#synchronizerId ??= id;
    if (this.#synchronizerId === id) return;
    const cause = `the contracts used are on different synchronizers: ${this.#synchronizerId} and ${id}`;
    throw failure({ code: 'FAILED_TO_DETERMINE_SYNCHRONIZER', category: 9, cause });
  }
}
