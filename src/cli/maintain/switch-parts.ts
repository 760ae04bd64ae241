/** The parts with which `switch-participant` reads the other participant and the stored data that it compares. */
import type { Config } from '../../config/config.ts';
import { interfacesNamed } from '../../config/interface-presets.ts';
import { findKnownInterfaces } from '../../ledger/api/known-interfaces.ts';
import type { SwitchParts } from '../../pipeline/participant/plan-switch.ts';
import { throwRightsError } from '../../pipeline/participant/switch-refusals.ts';
import { fetchLedgerIdentity } from '../../pipeline/proof/identity.ts';
import type { Database } from '../../store/connection/database.ts';
import {
  firstDeparture,
  readQuarantinedFrames,
  newestUpdates,
  storedIds,
  updateBefore,
} from '../../store/history/participants.ts';
import { configurationError } from '../command-line/refusals.ts';
import { openClient } from '../database/open-client.ts';

const requestTimeoutMs = 20_000;

/** @throws IndexerError CONFIGURATION_INVALID without a ledger */
export async function openSwitch(config: Config, database: Database, stop: AbortSignal) {
  const { url, wantedInterfaces, parties, templates, createdEventBlobs, shape, topology } = config.ledger;
  if (url === undefined)
    throw configurationError('LEDGER_URL is not set', 'set LEDGER_URL to the participant to continue from');
  const { client: ledger } = await openClient({ ledger: config.ledger, url, requestTimeoutMs, stop });
  const filter = { parties, templates, interfaces: [], createdEventBlobs, shape, topology };
  const identity = await fetchLedgerIdentity({ ledger, filter, wantedInterfaces });
  const ledgerEnd = await ledger.state.ledgerEnd();
  const ids = interfacesNamed(wantedInterfaces);
  const interfaces = await findKnownInterfaces(ledger, filter, ids, ledgerEnd).catch(throwRightsError);
  const storedReads = {
    newestUpdates: () => newestUpdates(database),
    updateBefore: (newerOffset: number) => updateBefore(database, newerOffset),
    storedIds: (ids: readonly string[], after: number) => storedIds(database, ids, after),
    framesSetAside: () => readQuarantinedFrames(database),
    firstDeparture: () => firstDeparture(database),
  };
  const parts: SwitchParts = { ledger, filter: { ...filter, interfaces }, stored: storedReads };
  return { parts, identity, asked: identity.participantId };
}
