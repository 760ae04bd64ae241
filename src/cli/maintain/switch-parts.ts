/** The parts with which `switch-participant` reads the other participant and the stored data that it compares. */
import type { Config } from '../../config/config.ts';
import { interfacesNamed } from '../../config/interface-presets.ts';
import { knownInterfaces } from '../../ledger/api/known-interfaces.ts';
import type { SwitchParts } from '../../pipeline/participant/plan-switch.ts';
import { refuseWithoutRights } from '../../pipeline/participant/switch-refusals.ts';
import { askIdentity } from '../../pipeline/proof/identity.ts';
import type { Database } from '../../store/connection/database.ts';
import {
  firstDeparture,
  framesSetAside,
  newestUpdates,
  storedIds,
  updateBefore,
} from '../../store/history/participants.ts';
import { wrong } from '../command-line/refusals.ts';
import { openClient } from '../database/open-client.ts';

const requestTimeoutMs = 20_000;

/** @throws IndexerError CONFIGURATION_INVALID without a ledger */
export async function openSwitch(config: Config, database: Database, stop: AbortSignal) {
  const { url, wantedInterfaces, parties, templates, createdEventBlobs, shape, topology } = config.ledger;
  if (url === undefined) throw wrong('LEDGER_URL is not set', 'set LEDGER_URL to the participant to continue from');
  const { client: ledger } = await openClient({ ledger: config.ledger, url, requestTimeoutMs, stop });
  const filter = { parties, templates, interfaces: [], createdEventBlobs, shape, topology };
  const identity = await askIdentity({ ledger, filter, wantedInterfaces });
  const ledgerEnd = await ledger.state.ledgerEnd();
  const ids = interfacesNamed(wantedInterfaces);
  const interfaces = await knownInterfaces(ledger, filter, ids, ledgerEnd).catch(refuseWithoutRights);
  const stored = {
    newestUpdates: () => newestUpdates(database),
    updateBefore: (newer: number) => updateBefore(database, newer),
    storedIds: (ids: readonly string[], after: number) => storedIds(database, ids, after),
    framesSetAside: () => framesSetAside(database),
    firstDeparture: () => firstDeparture(database),
  };
  const parts: SwitchParts = { ledger, filter: { ...filter, interfaces }, stored };
  return { parts, identity, asked: identity.participantId };
}
