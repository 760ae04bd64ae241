/** Contracts of the name service, and of the network that it belongs to, for tests that write frames. */
import type { JsonRecord } from '../../support/frames.ts';
import { dso, made } from '../network/network-frames.ts';

const ansPackage = { packageId: '0d'.repeat(32), packageName: 'splice-amulet-name-service' };

/** A contract AnsEntry that the user and the DSO have signed, unless the options say otherwise. */
export function ansEntry(
  contractId: string,
  user: string,
  name: string,
  {
    expiresAt = '2100-01-01T00:00:00Z',
    signatories = [user, dso],
    payload = {},
    nodeId = 0,
    otherPackage,
  }: {
    readonly expiresAt?: string;
    readonly signatories?: readonly string[];
    readonly payload?: JsonRecord;
    readonly nodeId?: number;
    /** A package that only has the same module and template. */
    readonly otherPackage?: { readonly packageId: string; readonly packageName: string };
  } = {},
): JsonRecord {
  const fields = { user, name, url: '', description: '', expiresAt, dso, ...payload };
  return made(contractId, 'Ans:AnsEntry', fields, nodeId, { ...(otherPackage ?? ansPackage), signatories });
}

/** The license of a validator, which the DSO signs. */
export function license(contractId: string, validator: string, nodeId = 0, signedBy = dso): JsonRecord {
  return made(
    contractId,
    'ValidatorLicense:ValidatorLicense',
    { dso: signedBy, validator, sponsor: validator },
    nodeId,
    {
      signatories: [signedBy],
      observers: [validator],
    },
  );
}
