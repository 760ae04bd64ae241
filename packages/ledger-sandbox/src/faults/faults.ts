/**
 * The scripted faults. The object is read before every frame and every response, so a test or a demo can enable and
 * disable faults while streams are running. A fault with `times` counts down and removes itself. Faults
 * marked "once" remove themselves when they occur. All others last as long as they are set.
 */
import type { JsonObject } from '../wire/json.ts';
import type { FailureName, Refusal, UnformattedFailureName } from './named-failures.ts';

/** The requests or streams that a fault applies to, and its number of occurrences. */
export interface EndpointScope {
  /** Path of the endpoint without the sandbox's prefix, e.g. `/v2/updates`; absent for every endpoint. */
  readonly path?: string;
  /** Number of occurrences before the fault removes itself; absent to occur as long as it is set. */
  readonly times?: number;
}

/** The frame of a stream at which a fault occurs. */
export interface Moment extends EndpointScope {
  /** Number of frames that the connection must have sent before the fault occurs. Default 0. */
  readonly afterFrames?: number;
  /** The fault occurs only at the frame with this offset. */
  readonly atOffset?: number;
}

export interface Faults {
  // Ends of a stream.

  /** Drop every TCP connection, without a close frame, after a random number of frames in [min, max]. */
  cutEveryFrames?: { readonly min: number; readonly max: number } | undefined;
  /** Drop the TCP connection between two frames, without a close frame (the client sees 1006). */
  cut?: Moment | undefined;
  /** Write only the first `bytes` bytes of a frame (default: a random part), then end the connection with FIN. */
  cutMidFrame?: (Moment & { readonly bytes?: number }) | undefined;
  /** Write only the first `bytes` bytes of a frame (default: a random part), then end the connection with RST. */
  reset?: (Moment & { readonly bytes?: number }) | undefined;
  /** Close with this code and an empty reason. */
  close?: (Moment & { readonly code: number }) | undefined;
  /** Once: close with 1011 after this many frames of a connection. */
  closeWith1011Once?: { readonly afterFrames: number } | undefined;
  /** Send the participant's error frame of this name, then close with 1000. */
  streamFailure?: (Moment & { readonly failure: FailureName }) | undefined;
  /**
   * Once: send this body as an error frame after this many frames of a connection (default 0), then close with 1000.
   */
  errorFrameOnce?: { readonly body: JsonObject; readonly afterFrames?: number } | undefined;

  // Streams that stop without ending.

  /** Send no more frames after this many frames of a connection; pings still get pongs. */
  stall?: { readonly afterFrames: number; readonly path?: string } | undefined;
  /** Send no pongs; frames continue. With `stall`, the peer is dead although TCP is up. */
  ignorePings?: { readonly path?: string } | undefined;
  /**
   * After this many frames neither read, write nor close anything, like a connection whose other end has disappeared.
   */
  halfOpen?: { readonly afterFrames?: number; readonly path?: string } | undefined;
  /** Do not respond to the client's close frame, and keep the connection up. */
  ignoreClose?: { readonly path?: string } | undefined;
  /** Wait before every frame, milliseconds. */
  slowFrames?: { readonly delayMs: number; readonly path?: string } | undefined;

  // Content of a stream.

  /** Send every OffsetCheckpoint twice. */
  duplicateCheckpoints?: boolean | undefined;
  /** Send an update twice in a row. */
  duplicateUpdates?: Moment | undefined;
  /** Send an update after its successor. */
  swapUpdates?: Moment | undefined;
  /** Omit an update permanently. */
  loseUpdates?: Moment | undefined;
  /** Send an update with its offset, but as an unknown kind. */
  unknownKind?: Moment | undefined;
  /** Omit these keys from every object of the frame, except the values of contracts and choices. */
  dropKeys?: (Moment & { readonly keys: readonly string[] }) | undefined;
  /** Add these keys to every object of the frame, except the values of contracts and choices. */
  addKeys?: (Moment & { readonly keys: JsonObject }) | undefined;
  /** Print the parties of every event in the opposite order, as a participant may after a restart. */
  reverseParties?: Moment | undefined;
  /**
   * Compute views of interfaces with this package, as a participant does after a newer version of the first package was
   * vetted.
   */
  newerViews?: (Moment & { readonly packageId: string }) | undefined;
  /** Prune the ledger up to `to`, or, after one more offset has passed, up to its end. Then send the frame. */
  prune?: (Moment & { readonly to?: number }) | undefined;

  // Encoding of a frame.

  /** Send half of the frame's text as a complete frame. */
  invalidJson?: Moment | undefined;
  /** Send a text frame whose bytes are not UTF-8. */
  invalidUtf8?: Moment | undefined;
  /** Send the frame as binary. */
  binaryFrames?: Moment | undefined;
  /** Send the frame in two fragments, split inside a multi-byte character if there is one. Valid, but rare. */
  splitFrames?: Moment | undefined;
  /** Extend the frame to this many bytes with blanks after the object; the content is unchanged. */
  oversizedFrames?: (Moment & { readonly bytes: number }) | undefined;
  /**
   * Accept permessage-deflate at the handshake from clients that offer it. With `oversizedFrames`, the frame is a
   * decompression bomb.
   */
  compress?: boolean | undefined;

  // Requests.

  /** Accept sockets and requests and never respond. */
  neverAnswer?: boolean | { readonly path?: string } | undefined;
  /** Respond to requests with this refusal instead: by name, or in full. */
  answer?: (EndpointScope & { readonly as: FailureName | UnformattedFailureName | Refusal }) | undefined;
  /**
   * Refuse active contracts at an offset other than the ledger end, if reassignments are in flight at it, with the code
   * for pruned data. A participant may do so.
   */
  refuseInFlight?: Pick<EndpointScope, 'times'> | undefined;
  /** Wait before every response, milliseconds. */
  slowAnswers?: (EndpointScope & { readonly delayMs: number }) | undefined;
  /** Disconnect in the middle of the body of a response with status 200. */
  cutAnswers?: EndpointScope | undefined;
  /** Refuse the handshake of a stream with this real HTTP status and body. */
  refuseUpgrade?: (EndpointScope & { readonly as: FailureName | UnformattedFailureName | Refusal }) | undefined;
  /** Do not respond to the handshake of a stream. */
  hangUpgrade?: EndpointScope | undefined;
  /** Reset every new TCP connection before anything is read. */
  refuseConnections?: boolean | undefined;
}

export type FaultName = keyof Faults;

/** Whether a fault with this path applies to that endpoint. */
export function matchesPath(fault: { readonly path?: string }, path: string): boolean {
  return fault.path === undefined || fault.path === path;
}

/** Counts one occurrence of a fault. The last of its `times` removes it. */
export function consumeFault(faults: Faults, name: FaultName): void {
  const faultsByName = faults as Record<string, EndpointScope | undefined>;
  const { times } = faultsByName[name] ?? {};
  if (times === undefined) return;
  faultsByName[name] = times > 1 ? { ...faultsByName[name], times: times - 1 } : undefined;
}
