/**
 * Expected rows after a list of active contracts and the updates that follow it: one row per event, with names instead
 * of numbers. This is an independent model, written from the documentation of the tables.
 */
import { asObject, asText, JsonNumber, JsonObject, singleFieldOf, type Json } from './json.ts';
import type { Entry, Frame } from './recording.ts';
import { integer, Message, Rows, LeafTally, type Row } from './rows.ts';

/** Kinds of updates by their names on the wire. Other kinds keep those names. */
const kinds: Readonly<Record<string, string>> = {
  Transaction: 'transaction',
  Reassignment: 'reassignment',
  TopologyTransaction: 'topology',
};
const topologyEvents = new Set([
  'ParticipantAuthorizationAdded',
  'ParticipantAuthorizationChanged',
  'ParticipantAuthorizationRevoked',
  'ParticipantAuthorizationOnboarding',
]);

interface Activation {
  readonly origin: 'create' | 'assign' | 'seed';
  readonly synchronizer_id: Json;
  readonly reassignment_counter: Json;
  readonly workflow_id: Json;
}

export interface Lifetime {
  readonly row: Row;
  deactivated: Json;
}

export class ExpectedRows {
  readonly rows = new Rows();
  readonly tally = new LeafTally();
  readonly lifetimes: Lifetime[] = [];
  readonly #open = new Map<string, Lifetime>();
  readonly #views = new Set<string>();

  /** Adds an entry of the list of active contracts that the seed reads. */
  entry({ json }: Pick<Entry, 'json'>): void {
    Message.read(json, this.tally, 'entry', (entry) => {
      const workflow_id = entry.optional('workflowId');
      const [kind, body] = singleFieldOf(entry.inside('contractEntry'));
      // The token is used until the seed is published, and is not a value of the ledger.
      entry.inside('streamContinuationToken');
      Message.read(body, this.tally, kind, (message) => {
        if (kind === 'JsActiveContract') {
          const synchronizer_id = message.take('synchronizerId');
          const reassignment_counter = message.take('reassignmentCounter');
          const activation = { origin: 'seed', synchronizer_id, reassignment_counter, workflow_id } as const;
          this.#created(message.inside('createdEvent'), activation, true);
        } else if (kind === 'JsIncompleteUnassigned') {
          const unassignedMessage = message.inside('unassignedEvent');
          const synchronizer_id =
            unassignedMessage instanceof JsonObject ? (unassignedMessage.fields.get('source') ?? null) : null;
          const activation = { origin: 'seed', synchronizer_id, reassignment_counter: null, workflow_id } as const;
          this.#created(message.inside('createdEvent'), activation, true);
          this.#unassigned(unassignedMessage, true);
        }
      });
    });
  }

  update(frame: Pick<Frame, 'value' | 'kind' | 'json'>): void {
    const { value, kind } = frame;
    const raw = kind in kinds ? null : (asObject(frame.json).fields.get('update') ?? null);
    Message.read(value, this.tally, kind, (update) => {
      const events = update.list('events');
      if (raw !== null) update.rest();
      const trace = this.#trace(update.inside('traceContext'));
      const row = {
        kind: kinds[kind] ?? 'unknown',
        offset: update.take('offset'),
        update_id: update.take('updateId'),
        synchronizer_id: update.take('synchronizerId'),
        command_id: update.optional('commandId'),
        workflow_id: update.optional('workflowId'),
        effective_at: update.time('effectiveAt'),
        record_time: update.time('recordTime'),
        ...trace,
        external_transaction_hash: update.take('externalTransactionHash'),
        transaction_hash: update.take('transactionHash'),
        paid_traffic_cost: update.take('paidTrafficCost'),
        event_count: integer(events.length),
        raw,
      };
      this.rows.add('updates', row);
      events.forEach((event, index) => {
        if (kind === 'TopologyTransaction') this.#topology(event, row, index);
        else this.#event(event, row);
      });
    });
  }

  #trace(context: Json): Row {
    if (context === null) return { trace_parent: null, trace_state: null };
    return Message.read(context, this.tally, 'traceContext', (trace) => ({
      trace_parent: trace.optional('traceparent'),
      trace_state: trace.optional('tracestate'),
    }));
  }

  #event(event: Json, update: Row): void {
    const [name, body] = singleFieldOf(event);
    const synchronizer_id = update['synchronizer_id'] ?? null;
    if (name === 'CreatedEvent') {
      const activation = { origin: 'create', synchronizer_id, reassignment_counter: null, workflow_id: null } as const;
      this.#created(body, activation, undefined);
    } else if (name === 'ExercisedEvent') this.#exercised(body, synchronizer_id);
    else if (name === 'ArchivedEvent') this.#archived(body, synchronizer_id);
    else if (name === 'JsAssignmentEvent') this.#assigned(body);
    else if (name === 'JsUnassignedEvent') {
      Message.read(body, this.tally, name, (holder) => {
        this.#unassigned(holder.inside('value'), false);
      });
    } else this.tally.unplaced.push(name);
  }

  /** The row of a created contract. If `isActive` is undefined, the event itself contains whether it became active. */
  #created(json: Json, activation: Activation, isActive: boolean | undefined): Row {
    return Message.read(json, this.tally, 'createdEvent', (event) => {
      const row = {
        ...activation,
        contract_id: event.take('contractId'),
        offset: event.take('offset'),
        node_id: event.take('nodeId'),
        template_id: event.take('templateId'),
        package_name: event.take('packageName'),
        representative_package_id: event.take('representativePackageId'),
        payload: event.take('createArgument'),
        contract_key: event.take('contractKey'),
        contract_key_hash: event.optional('contractKeyHash'),
        signatories: event.take('signatories'),
        observers: event.take('observers'),
        witness_parties: event.take('witnessParties'),
        created_event_blob: event.optional('createdEventBlob'),
        created_at: event.time('createdAt'),
        acs_delta: event.take('acsDelta'),
        redaction_id: null,
      };
      this.rows.add('contracts', row);
      for (const view of event.list('interfaceViews')) this.#view(view, row);
      if (isActive ?? row.acs_delta === true) this.#activate(row);
      return row;
    });
  }

  #view(json: Json, contract: Row): void {
    const { contract_id = null, offset = null, node_id = null, template_id = null } = contract;
    Message.read(json, this.tally, 'interfaceView', (view) => {
      const status = Message.read(view.inside('viewStatus'), this.tally, 'viewStatus', (message) => ({
        status_code: message.take('code'),
        status_message: message.optional('message'),
        status_details: message.optional('details'),
      }));
      const interface_id = view.take('interfaceId');
      const implementation_package_id = view.take('implementationPackageId');
      const viewColumns = { view: view.take('viewValue'), implementation_package_id, ...status, redaction_id: null };
      this.rows.add('interface_views', { contract_id, offset, node_id, interface_id, ...viewColumns });
      const pair = `${asText(template_id)} ${asText(interface_id)}`;
      if (!this.#views.has(pair)) this.rows.add('template_interfaces', { template_id, interface_id });
      this.#views.add(pair);
    });
  }

  #exercised(json: Json, synchronizer: Json): void {
    Message.read(json, this.tally, 'ExercisedEvent', (event) => {
      const row = {
        offset: event.take('offset'),
        node_id: event.take('nodeId'),
        contract_id: event.take('contractId'),
        template_id: event.take('templateId'),
        package_name: event.take('packageName'),
        interface_id: event.take('interfaceId'),
        choice: event.take('choice'),
        argument: event.take('choiceArgument'),
        result: event.take('exerciseResult'),
        acting_parties: event.take('actingParties'),
        witness_parties: event.take('witnessParties'),
        consuming: event.take('consuming'),
        last_descendant_node_id: event.take('lastDescendantNodeId'),
        implemented_interfaces: event.take('implementedInterfaces'),
        acs_delta: event.take('acsDelta'),
        redaction_id: null,
      };
      this.rows.add('exercises', row);
      if (row.consuming === true && row.acs_delta === true) this.#deactivate(row.contract_id, synchronizer, row.offset);
    });
  }

  #archived(json: Json, synchronizer: Json): void {
    Message.read(json, this.tally, 'ArchivedEvent', (event) => {
      const row = {
        offset: event.take('offset'),
        node_id: event.take('nodeId'),
        contract_id: event.take('contractId'),
        template_id: event.take('templateId'),
        package_name: event.take('packageName'),
        witness_parties: event.take('witnessParties'),
        implemented_interfaces: event.take('implementedInterfaces'),
      };
      this.rows.add('archives', row);
      this.#deactivate(row.contract_id, synchronizer, row.offset);
    });
  }

  #unassigned(json: Json, incomplete: boolean): void {
    Message.read(json, this.tally, 'unassignedEvent', (event) => {
      const row = {
        kind: 'unassign',
        offset: event.take('offset'),
        node_id: event.take('nodeId'),
        contract_id: event.take('contractId'),
        template_id: event.take('templateId'),
        package_name: event.take('packageName'),
        reassignment_id: event.take('reassignmentId'),
        source: event.take('source'),
        target: event.take('target'),
        submitter: event.optional('submitter'),
        reassignment_counter: event.take('reassignmentCounter'),
        assignment_exclusivity: event.time('assignmentExclusivity'),
        witness_parties: event.take('witnessParties'),
        incomplete,
      };
      this.rows.add('reassignments', row);
      this.#deactivate(row.contract_id, row.source, row.offset);
    });
  }

  #assigned(json: Json): void {
    Message.read(json, this.tally, 'JsAssignmentEvent', (event) => {
      const assignFields = {
        kind: 'assign',
        reassignment_id: event.take('reassignmentId'),
        source: event.take('source'),
        target: event.take('target'),
        submitter: event.optional('submitter'),
        reassignment_counter: event.take('reassignmentCounter'),
        incomplete: false,
      };
      const { target: synchronizer_id, reassignment_counter } = assignFields;
      const activation = { origin: 'assign', synchronizer_id, reassignment_counter, workflow_id: null } as const;
      const createdRow = this.#created(event.inside('createdEvent'), activation, true);
      const sharedColumns = ['contract_id', 'offset', 'node_id', 'template_id', 'package_name', 'witness_parties'];
      const sharedValues = Object.fromEntries(sharedColumns.map((column) => [column, createdRow[column] ?? null]));
      this.rows.add('reassignments', { ...assignFields, ...sharedValues });
    });
  }

  #topology(json: Json, update: Row, index: number): void {
    Message.read(json, this.tally, 'topology', (holder) => {
      const variants = holder.inside('event');
      const [kind, body] = singleFieldOf(variants);
      if (!topologyEvents.has(kind)) {
        const offset = update['offset'] ?? null;
        this.rows.add('topology_events', { offset, event_index: integer(index), kind, raw: variants });
        return;
      }
      const value = body instanceof JsonObject ? body.fields.get('value') : undefined;
      Message.read(value, this.tally, kind, (event) => {
        this.rows.add('topology_events', {
          offset: update['offset'] ?? null,
          event_index: integer(index),
          kind,
          party_id: event.take('partyId'),
          participant_id: event.take('participantId'),
          participant_permission: event.take('participantPermission'),
        });
      });
    });
  }

  #activate(contract: Row): void {
    const {
      contract_id = null,
      synchronizer_id = null,
      offset: activated_offset = null,
      node_id = null,
      template_id = null,
    } = contract;
    const row = { contract_id, synchronizer_id, activated_offset, node_id, template_id };
    const lifetime = { row, deactivated: null };
    this.lifetimes.push(lifetime);
    this.#open.set(`${asText(contract_id)} ${asText(synchronizer_id)}`, lifetime);
  }

  #deactivate(contractId: Json, synchronizer: Json, offset: Json): void {
    const key = `${asText(contractId)} ${asText(synchronizer)}`;
    const lifetime = this.#open.get(key);
    if (lifetime !== undefined) lifetime.deactivated = offset;
    this.#open.delete(key);
  }
}

/** Whether a contract was active right after an offset. */
export function isAliveAt({ row, deactivated: deactivatedAt }: Lifetime, offset: number): boolean {
  const end = deactivatedAt instanceof JsonNumber ? Number(deactivatedAt.text) : Number.POSITIVE_INFINITY;
  const beginValue = row['activated_offset'];
  return beginValue instanceof JsonNumber && Number(beginValue.text) <= offset && end > offset;
}
