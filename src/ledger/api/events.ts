/** One contract: its events or its payload. */
import { IndexerError } from '../../errors/indexer-error.ts';
import { isObject } from '../frames/field.ts';
import type { Transport } from '../transport/transport.ts';
import { responseObject, type Maybe } from './answer.ts';
import type { EventFormat } from './format.ts';
import { type ArchivedEvent, checkEvent, type CreatedEvent, createdEventOf } from './update-types.ts';

export interface ContractEvents {
  readonly created?: Maybe<{ readonly createdEvent: CreatedEvent; readonly synchronizerId?: string }>;
  readonly archived?: Maybe<{ readonly archivedEvent: ArchivedEvent; readonly synchronizerId?: string }>;
}

export interface EventCalls {
  /**
   * `POST /v2/events/events-by-contract-id`; all releases. Right: CanReadAs for each party in the format, or
   * CanReadAsAnyParty. Undefined if neither event is visible, or both are pruned (CONTRACT_EVENTS_NOT_FOUND).
   */
  byContractId(contractId: string, eventFormat: EventFormat): Promise<ContractEvents | undefined>;
  /**
   * `POST /v2/contracts/contract-by-id`: the create of a contract that the participant knows, active or not. Right:
   * CanReadAs for each of `queryingParties`, or CanReadAsAnyParty if there are none. Undefined if the create is not
   * visible (CONTRACT_PAYLOAD_NOT_FOUND). 3.5 and later.
   */
  contractById(contractId: string, queryingParties?: readonly string[]): Promise<CreatedEvent | undefined>;
}

function undefinedIfCode(code: string): (thrown: unknown) => undefined {
  return (thrown) => {
    if (thrown instanceof IndexerError && thrown.facts['ledgerCode'] === code) return undefined;
    throw thrown;
  };
}

function contractEvents(response: unknown, path: string): ContractEvents {
  const { created, archived: archivedEntry } = responseObject(response, path);
  if (isObject(created)) checkEvent(created['createdEvent'], path);
  if (isObject(archivedEntry)) checkEvent(archivedEntry['archivedEvent'], path);
  return response as ContractEvents;
}

export function eventCalls(transport: Transport): EventCalls {
  return {
    async byContractId(contractId, eventFormat) {
      const path = '/v2/events/events-by-contract-id';
      return await transport
        .request('POST', path, { contractId, eventFormat })
        .then((response) => contractEvents(response, path), undefinedIfCode('CONTRACT_EVENTS_NOT_FOUND'));
    },
    async contractById(contractId, queryingParties) {
      const path = '/v2/contracts/contract-by-id';
      return await transport
        .request('POST', path, { contractId, queryingParties })
        .then(
          (response) => createdEventOf(response, 'createdEvent', path),
          undefinedIfCode('CONTRACT_PAYLOAD_NOT_FOUND'),
        );
    },
  };
}
