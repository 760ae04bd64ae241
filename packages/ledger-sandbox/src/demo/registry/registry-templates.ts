/** The templates of a registry of both versions of the token standard. */
import { asObject, asText, asTexts, textAt } from '../../wire/json.ts';
import type { JsonObject } from '../../wire/json.ts';
import type { Template } from '../../contracts/model.ts';
import { emptyMetadata } from '../templates/metadata.ts';
import { interfaces, interfacesV2 } from '../templates/names.ts';
import { ownerOf, partiesOf } from './accounts.ts';
import { allocationFactoryChoices, allocationTemplates } from './allocations.ts';
import { eventLogChoice } from './holdings-change.ts';
import type { Registry } from './registry.ts';
import { transferFactoryChoices, waitingTransfers } from './transfers.ts';

function holdings({ holding }: Registry, choices: Template['choices']): Template {
  const { template: name, read: readPayload } = holding;
  const viewV1 = (payload: JsonObject): JsonObject => {
    const { account, ...holdingFields } = readPayload(payload);
    return { owner: ownerOf(account), ...holdingFields };
  };
  return {
    name,
    signatories: (payload) => {
      const { account, instrumentId } = readPayload(payload);
      return [...new Set([textAt(instrumentId, 'admin'), ownerOf(account)])];
    },
    observers: (payload) => {
      const { account, lock } = readPayload(payload);
      return [...new Set([...partiesOf(account), ...asTexts(asObject(lock)?.['holders'])])];
    },
    interfaces: [
      { name: interfaces.holding, view: viewV1 },
      { name: interfacesV2.holding, view: readPayload },
    ],
    choices,
  };
}

function rules(registry: Registry, choices: Template['choices']): Template {
  const view = (payload: JsonObject): JsonObject => ({ admin: asText(payload['admin']), meta: emptyMetadata });
  const { eventLog, transferFactory, allocationFactory, settlementFactory } = interfacesV2;
  const interfaceNames = [interfaces.transferFactory, interfaces.allocationFactory];
  return {
    name: registry.rules,
    signatories: (payload) => [asText(payload['admin'])],
    observers: () => [],
    interfaces: [...interfaceNames, eventLog, transferFactory, allocationFactory, settlementFactory].map((name) => ({
      name,
      view,
    })),
    choices: {
      ...transferFactoryChoices(registry),
      ...allocationFactoryChoices(registry),
      EventLog_HoldingsChange: eventLogChoice,
      ...choices,
    },
  };
}

/** Choices of the registry itself, in addition to those of the standard. */
export interface OwnChoices {
  readonly rules: Template['choices'];
  readonly holding: Template['choices'];
}

/** All templates. */
export function registryTemplates(registry: Registry, ownChoices: OwnChoices): Template[] {
  return [
    rules(registry, ownChoices.rules),
    holdings(registry, ownChoices.holding),
    waitingTransfers(registry),
    ...allocationTemplates(registry),
  ];
}
