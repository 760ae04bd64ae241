/**
 * Reads a recording. It contains the frames of both streams as a participant sent them. Active contracts were recorded
 * at the last offset. For earlier offsets, they are assembled as text from the recorded updates. This file shares no
 * code with the indexer or the sandbox.
 */
import { fixture, fixtureLines } from '../support/wire/fixtures.ts';
import { asInteger, asObject, asText, singleFieldOf, parseJson, type Json, type JsonObject } from './json.ts';

export const shapes = ['LEDGER_EFFECTS', 'ACS_DELTA'] as const;
export type Shape = (typeof shapes)[number];

export interface Frame {
  readonly text: string;
  readonly json: Json;
  readonly kind: string;
  readonly value: JsonObject;
  readonly offset: number;
}

/** An entry in the list of active contracts. */
export interface Entry {
  readonly text: string;
  readonly json: Json;
  readonly token: string;
}

export interface Recording {
  readonly updates: Readonly<Record<Shape, readonly Frame[]>>;
  readonly version: string;
  readonly participantId: string;
  /** Offset of the last update, at which the active contracts were recorded. */
  readonly end: number;
  readonly activeContracts: readonly Entry[];
  /** Updates after `from` were sent by a second participant, whose offsets are smaller by `shift`. */
  readonly second?: { readonly from: number; readonly shift: number };
}

/** @param name `core` or `two-synchronizers` */
export function readRecording(name: string): Recording {
  const lines = (file: string): readonly string[] => fixtureLines(`recordings/${name}/${file}`);
  const updates = {
    LEDGER_EFFECTS: lines('updates-ledger-effects.jsonl').map(frameOf),
    ACS_DELTA: lines('updates-acs-delta.jsonl').map(frameOf),
  };
  const [first, last] = [updates.ACS_DELTA[0], updates.ACS_DELTA.at(-1)];
  if (first === undefined || last === undefined) throw new Error(`no updates in ${name}`);
  return {
    updates,
    version: fixture(`recordings/${name}/version.json`),
    participantId: participantOf(first),
    end: last.offset,
    activeContracts: lines('active-contracts.jsonl').map(entryOf),
  };
}

/** A line of a recording of updates. */
export function frameOf(text: string): Frame {
  const json = parseJson(text);
  const [kind, holder] = singleFieldOf(asObject(json).fields.get('update'));
  const value = asObject(asObject(holder).fields.get('value'));
  return { text, json, kind, value, offset: asInteger(value.fields.get('offset')) };
}

function entryOf(text: string): Entry {
  const json = parseJson(text);
  return { text, json, token: asText(asObject(json).fields.get('streamContinuationToken')) };
}

/** The first update of a participant's ledger authorizes a local party. */
function participantOf(frame: Frame): string {
  const [event] = frame.value.fields.get('events') as readonly Json[];
  const [, holder] = singleFieldOf(asObject(event).fields.get('event'));
  return asText(asObject(asObject(holder).fields.get('value')).fields.get('participantId'));
}

/** The active contracts at an offset, derived from the updates of shape ACS_DELTA before the last offset. */
export function activeAt(recording: Recording, offset: number): readonly Entry[] {
  if (offset >= recording.end) return recording.activeContracts;
  return entriesAt(recording, offset);
}

/** The active contracts at any offset, derived from updates only. */
export function entriesAt(recording: Recording, offset: number): readonly Entry[] {
  const set = new ActiveSet();
  for (const frame of recording.updates.ACS_DELTA) if (frame.offset <= offset) set.apply(frame);
  return set.contents().map((text, index) => {
    const token = Buffer.from(`${String(offset)}/${String(index)}`).toString('base64');
    return entryOf(`{"workflowId":"",${text},"streamContinuationToken":"${token}"}`);
  });
}

/** Entries of active contracts as text, by contract and synchronizer, and entries in flight, by reassignment. */
class ActiveSet {
  readonly #created = new Map<string, string>();
  readonly #active = new Map<string, string>();
  readonly #underWay = new Map<string, string>();

  apply(frame: Frame): void {
    for (const event of frame.value.fields.get('events') as readonly Json[]) {
      const [name, holder] = singleFieldOf(event);
      const body = asObject(holder).fields;
      if (name === 'CreatedEvent')
        this.#activate(asObject(holder), asText(frame.value.fields.get('synchronizerId')), '0');
      else if (name === 'ArchivedEvent') {
        this.#active.delete(key(asText(body.get('contractId')), asText(frame.value.fields.get('synchronizerId'))));
      } else if (name === 'JsUnassignedEvent') this.#leave(asObject(body.get('value')));
      else if (name === 'JsAssignmentEvent') {
        this.#underWay.delete(asText(body.get('reassignmentId')));
        const counter = String(asInteger(body.get('reassignmentCounter')));
        this.#activate(asObject(body.get('createdEvent')), asText(body.get('target')), counter);
      }
    }
  }

  contents(): readonly string[] {
    return [...this.#active.values(), ...this.#underWay.values()];
  }

  #activate(createdEvent: JsonObject, synchronizer: string, counter: string): void {
    const contract = key(asText(createdEvent.fields.get('contractId')), synchronizer);
    this.#created.set(contract, createdEvent.text);
    const reassignmentJson = `"synchronizerId":"${synchronizer}","reassignmentCounter":${counter}`;
    this.#active.set(
      contract,
      `"contractEntry":{"JsActiveContract":{"createdEvent":${createdEvent.text},${reassignmentJson}}}`,
    );
  }

  #leave(unassignedEvent: JsonObject): void {
    const { fields, text } = unassignedEvent;
    const contract = key(asText(fields.get('contractId')), asText(fields.get('source')));
    const createdContract = this.#created.get(contract);
    this.#active.delete(contract);
    if (createdContract === undefined) return;
    const assignedJson = `"createdEvent":${createdContract},"unassignedEvent":${text}`;
    this.#underWay.set(
      asText(fields.get('reassignmentId')),
      `"contractEntry":{"JsIncompleteUnassigned":{${assignedJson}}}`,
    );
  }
}

function key(contractId: string, synchronizer: string): string {
  return `${contractId} ${synchronizer}`;
}
