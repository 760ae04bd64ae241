/**
 * Traffic that is bought with Amulet: its cost, the contract that counts it, and transfers that buy it with their memo.
 */
import { formatNumeric, parseNumeric } from '../../wire/values.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import { assertionFailed } from '../../wire/daml-failure.ts';
import { reasonOf } from './metadata.ts';

/** Price of one byte of traffic, in units of 10^-10 USD. */
const usdPerByte = 150n;
const oneUnit = 10n ** 10n;

/** The member that receives the traffic. */
export interface Member {
  readonly memberId: string;
  readonly synchronizerId: string;
  readonly migrationId: string;
}

export interface TrafficPurchase extends Member {
  readonly bytes: bigint;
}

/**
 * The receiver of transfers that buy traffic; no participant hosts this party. Its name is that of daml/splice-amulet
 * in canton-network/splice (Splice/ExternalPartyAmuletRules.daml), where the number of the CIP is not assigned yet.
 */
export const trafficReceiver =
  'cip-xxx_traffic-purchase::1220000000000000000000000000000000000000000000000000000000000000abcd';

/**
 * Cost of traffic, in units of 10^-10 Amulet.
 * @param amuletPrice price of an Amulet in USD
 */
export function trafficCost(bytes: bigint, amuletPrice: string): bigint {
  return (bytes * usdPerByte * oneUnit) / (parseNumeric(amuletPrice) ?? oneUnit);
}

/** The payload of the contract that counts a purchase. */
export function trafficOf(admin: string, { bytes, ...member }: TrafficPurchase, amuletPrice: string): JsonObject {
  const cost = trafficCost(bytes, amuletPrice);
  return {
    dso: admin,
    ...member,
    totalPurchased: String(bytes),
    numPurchases: '1',
    amuletSpent: formatNumeric(cost),
    usdSpent: formatNumeric((cost * (parseNumeric(amuletPrice) ?? 0n)) / oneUnit),
  };
}

/** The memo with which a transfer buys traffic. */
export function trafficMemo({ memberId, synchronizerId, migrationId, bytes }: TrafficPurchase): string {
  const fields = { memberId, synchronizerId, migrationId, trafficAmount: String(bytes) };
  return Object.entries(fields)
    .map(([key, value]) => `${key}=${value}`)
    .join('&');
}

/** Parses the purchase in the memo of a transfer's metadata. Refuses a text that is not such a memo. */
export function readTrafficMemo(meta: Json | undefined): TrafficPurchase {
  const fields = new Map(
    reasonOf(meta)
      .split('&')
      .map((field) => {
        const [key = '', value = ''] = field.split('=');
        return [key, value] as const;
      }),
  );
  const field = (key: string): string => {
    const value = fields.get(key);
    if (value === undefined || value === '') throw assertionFailed(`missing key in traffic purchase memo: ${key}`);
    return value;
  };
  const [memberId, synchronizerId] = [field('memberId'), field('synchronizerId')];
  return { memberId, synchronizerId, migrationId: field('migrationId'), bytes: BigInt(field('trafficAmount')) };
}
