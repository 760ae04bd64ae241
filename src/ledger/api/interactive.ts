/**
 * Interactive submission, for external parties: the participant prepares a transaction, the party signs its hash with a
 * key of its own, and a participant executes it. See `../access/signing.ts` for the signatures.
 */
import type { PartySignature } from '../access/signing.ts';
import type { Transport } from '../transport/transport.ts';
import { responseList, responseText, type Maybe } from './answer.ts';
import {
  type CommandContext,
  type DeduplicationPeriod,
  type Duration,
  type SubmitResponse,
  submitResponseOf,
} from './commands.ts';
import { type Transaction, transactionIn } from './update-types.ts';
import type { TransactionFormat } from './format.ts';

/** The earliest ledger time of the transaction. */
export interface MinLedgerTime {
  readonly time:
    | { readonly MinLedgerTimeAbs: { readonly value: string } }
    | { readonly MinLedgerTimeRel: { readonly value: Duration } };
}

export interface PrepareRequest extends CommandContext {
  /** Synchronizer to run on: one that the participant is connected to. */
  readonly synchronizerId: string;
  readonly minLedgerTime?: MinLedgerTime;
  /** ISO-8601. After this time, the prepared transaction is invalid. */
  readonly maxRecordTime?: string;
  /** Adds `hashingDetails` to the response. */
  readonly verboseHashing?: boolean;
  readonly estimateTrafficCost?: { readonly disabled?: boolean; readonly expectedSignatures?: readonly string[] };
  /** Default `HASHING_SCHEME_VERSION_V2`; `…_V3`, since 3.6 `…_V4`. */
  readonly hashingSchemeVersion?: string;
}

export interface PrepareResponse {
  /** Base64. */
  readonly preparedTransaction: string;
  /** Base64: the hash to sign. */
  readonly preparedTransactionHash: string;
  /** To be passed to `execute`. */
  readonly hashingSchemeVersion: string;
  readonly hashingDetails?: Maybe<string>;
  readonly costEstimation?: Maybe<{
    readonly estimationTimestamp?: string;
    readonly confirmationRequestTrafficCostEstimation?: number;
    readonly confirmationResponseTrafficCostEstimation?: number;
    readonly totalTrafficCostEstimation?: number;
  }>;
}

export interface ExecuteRequest {
  readonly preparedTransaction: string;
  readonly partySignatures: { readonly signatures: readonly PartySignature[] };
  readonly submissionId: string;
  readonly hashingSchemeVersion: string;
  /** Default: the longest period that the participant allows. */
  readonly deduplicationPeriod?: DeduplicationPeriod;
  readonly userId?: string;
  readonly minLedgerTime?: MinLedgerTime;
}

export interface PackageReference {
  readonly packageId: string;
  readonly packageName?: string;
  readonly packageVersion?: string;
}

export interface PreferredPackagesRequest {
  readonly packageVettingRequirements: readonly { readonly parties: readonly string[]; readonly packageName: string }[];
  readonly synchronizerId?: string;
  /** ISO-8601; default now. */
  readonly vettingValidAt?: string;
}

export interface InteractiveCalls {
  /** `POST /v2/interactive-submission/prepare`. Right: CanReadAs for `actAs` and `readAs`. All releases. */
  prepare(request: PrepareRequest): Promise<PrepareResponse>;
  /**
   * `POST /v2/interactive-submission/execute`: resolves when accepted. Right: CanExecuteAs or CanActAs. All releases.
   */
  execute(request: ExecuteRequest): Promise<void>;
  /** `POST /v2/interactive-submission/executeAndWait`: resolves when the transaction is on the ledger. */
  executeAndWait(request: ExecuteRequest): Promise<SubmitResponse>;
  /** `POST /v2/interactive-submission/executeAndWaitForTransaction`; also needs the right to read it. */
  executeAndWaitForTransaction(request: ExecuteRequest, transactionFormat?: TransactionFormat): Promise<Transaction>;
  /** `POST /v2/interactive-submission/preferred-packages`: versions that all the parties' participants have vetted. */
  preferredPackages(
    request: PreferredPackagesRequest,
  ): Promise<{ readonly packageReferences: readonly PackageReference[]; readonly synchronizerId: string }>;
}

const base = '/v2/interactive-submission';

// A participant's decoder requires both fields, although the published description calls them optional.
const preparation = (request: PrepareRequest): PrepareRequest => ({
  ...request,
  packageIdSelectionPreference: request.packageIdSelectionPreference ?? [],
});
const execution = (request: ExecuteRequest): object => ({
  ...request,
  deduplicationPeriod: request.deduplicationPeriod ?? { Empty: {} },
});

async function prepare(transport: Transport, request: PrepareRequest): Promise<PrepareResponse> {
  const path = `${base}/prepare`;
  const response = await transport.request('POST', path, preparation(request));
  for (const name of ['preparedTransaction', 'preparedTransactionHash', 'hashingSchemeVersion']) {
    responseText(response, name, path);
  }
  return response as PrepareResponse;
}

export function interactiveCalls(transport: Transport): InteractiveCalls {
  return {
    prepare: (request) => prepare(transport, request),
    async execute(request) {
      await transport.request('POST', `${base}/execute`, execution(request));
    },
    async executeAndWait(request) {
      const path = `${base}/executeAndWait`;
      return submitResponseOf(await transport.request('POST', path, execution(request)), path);
    },
    async executeAndWaitForTransaction(request, transactionFormat) {
      const path = `${base}/executeAndWaitForTransaction`;
      const body = { ...execution(request), transactionFormat };
      return transactionIn(await transport.request('POST', path, body), path);
    },
    async preferredPackages(request) {
      const path = `${base}/preferred-packages`;
      const response = await transport.request('POST', path, request);
      const packageReferences = responseList(response, 'packageReferences', path) as readonly PackageReference[];
      return { packageReferences, synchronizerId: responseText(response, 'synchronizerId', path) };
    },
  };
}
