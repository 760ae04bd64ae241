/**
 * The module that other programs import as `ledger-indexer`: a client of the complete JSON Ledger API v2, and updates
 * as an endless sequence. It follows semantic versioning. Its exports are in types/ledger-indexer.d.ts, which a test
 * generates again and compares.
 */
import { createLedgerClient as createClient } from '../ledger/api/client.ts';
import type { CommandCalls } from '../ledger/api/commands.ts';
import type { CompletionCalls } from '../ledger/api/completions.ts';
import type { EventCalls } from '../ledger/api/events.ts';
import type { InteractiveCalls } from '../ledger/api/interactive.ts';
import type { NodeCalls } from '../ledger/api/node.ts';
import type { PackageCalls } from '../ledger/api/packages.ts';
import type { PartyCalls } from '../ledger/api/parties.ts';
import type { StateCalls } from '../ledger/api/state.ts';
import type { UpdateCalls } from '../ledger/api/updates.ts';
import type { UserCalls } from '../ledger/api/users.ts';
import { type ConnectionOptions, transportOptions } from './connection.ts';

export type { ConnectionOptions };
export { isLedgerError, type LedgerError } from './ledger-error.ts';
export { followUpdates, type FollowedUpdate, type FollowOptions } from './follow-updates.ts';

// Parameters and results of calls, and the types of each area's calls.
export type { PartySignature, Signature, SigningPublicKey } from '../ledger/access/signing.ts';
export type { ListOptions, Maybe } from '../ledger/api/answer.ts';
export type {
  AssignCommand,
  Command,
  CommandContext,
  Commands,
  CreateAndExerciseCommand,
  CreateCommand,
  DeduplicationPeriod,
  DisclosedContract,
  Duration,
  ExerciseByKeyCommand,
  ExerciseCommand,
  PrefetchContractKey,
  ReassignmentCommands,
  SubmitResponse,
  UnassignCommand,
} from '../ledger/api/commands.ts';
export type {
  Completion,
  CompletionResponse,
  CompletionStreamRequest,
  CompletionsByHash,
  GetCompletionsRequest,
  SynchronizerTime,
} from '../ledger/api/completions.ts';
export type { ContractEvents } from '../ledger/api/events.ts';
export type {
  EventFormat,
  Filters,
  InterfaceFilter,
  TemplateFilter,
  TransactionFilter,
  TransactionFormat,
  UpdateFormat,
  WildcardFilter,
} from '../ledger/api/format.ts';
export type {
  ExecuteRequest,
  MinLedgerTime,
  PackageReference,
  PreferredPackagesRequest,
  PrepareResponse,
  PrepareRequest,
} from '../ledger/api/interactive.ts';
export type { Features, VersionResponse } from '../ledger/api/node.ts';
export type {
  ListVettedPackages,
  PackageContent,
  UpdateVettedPackages,
  UploadOptions,
  VettedPackage,
  VettedPackages,
} from '../ledger/api/packages.ts';
export type {
  AllocateExternalPartyRequest,
  AllocatePartyRequest,
  GeneratedTopology,
  GenerateTopologyRequest,
  ListPartiesQuery,
  ObjectMeta,
  PartiesPage,
  PartyDetails,
} from '../ledger/api/parties.ts';
export type {
  ActiveContract,
  ActiveContractsPage,
  ActiveContractsPageRequest,
  ConnectedSynchronizer,
  ConnectedSynchronizersQuery,
  GetActiveContractsRequest,
} from '../ledger/api/state.ts';
export type {
  ArchivedEvent,
  CreatedEvent,
  Event,
  ExercisedEvent,
  InterfaceView,
  Status,
  TraceContext,
  Transaction,
  Update,
  UpdateResponse,
  UpdateValue,
} from '../ledger/api/update-types.ts';
export type { GetUpdatesPageRequest, GetUpdatesRequest, UpdatesPage } from '../ledger/api/updates.ts';
export type { PageQuery, Right, RightKind, User, UsersPage } from '../ledger/api/users.ts';
export type {
  CommandCalls,
  CompletionCalls,
  EventCalls,
  InteractiveCalls,
  NodeCalls,
  PackageCalls,
  PartyCalls,
  StateCalls,
  UpdateCalls,
  UserCalls,
};

/** The calls of the JSON Ledger API, by area. */
export interface LedgerClient {
  readonly node: NodeCalls;
  readonly packages: PackageCalls;
  readonly commands: CommandCalls;
  readonly completions: CompletionCalls;
  readonly state: StateCalls;
  readonly updates: UpdateCalls;
  readonly events: EventCalls;
  readonly parties: PartyCalls;
  readonly users: UserCalls;
  readonly interactive: InteractiveCalls;
}

/**
 * Creates a client for one participant. It holds no connection. Every call that fails rejects with an Error that has a
 * stable `code`, a `retry` class and a `remedy`.
 */
export function createLedgerClient(options: ConnectionOptions): LedgerClient {
  const { transport: _, ...calls } = createClient(transportOptions(options));
  return calls;
}
